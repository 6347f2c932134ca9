// What happens to the open queue, as it happens.

import { explain, follow } from "./api.js";
import { byId, clock, make, setText } from "./dom.js";

const shown_max = 100;
const draw_after_ms = 100;
const silence_ms = 45000; // the server gives a sign of life every 15 s

export class EventList {
  constructor(queue) {
    this.queue = queue;
    this.list = byId("events");
    this.list.replaceChildren();
    this.fresh = [];
    this.timer = null;
    setText(byId("events-state"), "");
    this.last_id = undefined;
    this.stream = null;
    this.resume();
  }

  resume() {
    this.stream ??= follow(`${this.queue.path}/events`, silence_ms, {
      open: () => {
        setText(byId("events-state"), "live");
        this.queue.changed();
      },
      event: (event) => this.add(event),
      lost: (error) => setText(byId("events-state"), error ? explain(error) : "trying again"),
    }, this.last_id);
  }

  /// Until resume(), which goes on behind what has come.
  pause() {
    this.stream?.stop();
    this.stream = null;
  }

  close() {
    clearTimeout(this.timer);
    this.pause();
  }

  retry() {
    this.stream?.retry();
  }

  add(event) {
    this.last_id = event.id ?? this.last_id;
    this.fresh.push(event);
    if (this.fresh.length > shown_max) this.fresh.shift();
    this.timer ??= setTimeout(() => this.draw(), draw_after_ms);
    this.queue.changed();
  }

  /// Newest first.
  draw() {
    this.timer = null;
    for (const event of this.fresh.splice(0)) this.list.prepend(makeEvent(event));
    while (this.list.childElementCount > shown_max) this.list.lastElementChild.remove();
  }
}

function makeEvent(event) {
  const data = JSON.parse(event.data);
  if (event.type === "reset") return make("li", { class: "reset" }, data.reason);
  const attempt = data.attempt > 0 ? `attempt ${data.attempt}` : "";
  return make("li", {}, make("time", { datetime: data.at }, clock(data.at)),
    make("span", { class: "chip", "data-event": data.type }, data.type),
    make("span", {}, data.id ? `job ${data.id}` : "queue"),
    make("span", { class: "muted" }, attempt));
}
