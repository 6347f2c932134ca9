// What the live feed tells: figures with their recent past, workers, blocked routines.

import { serverTime } from "./api.js";
import { byId, bytes, make, microseconds, milliseconds, number, setText, short, showEach }
  from "./dom.js";
import { drawSpark } from "./spark.js";

const kept = 60; // looks, one a second

class Recent {
  constructor(id) {
    this.svg = byId(id);
    this.values = [];
  }

  /// null: not known. Returns the largest of those that are shown.
  add(value) {
    this.values.push(value);
    if (this.values.length > kept) this.values.shift();
    return drawSpark(this.svg, this.values, kept);
  }
}

const requests_recent = new Recent("requests-spark");
const p99_recent = new Recent("p99-spark");

function showRates(look) {
  const rates = look.rates;
  if (!rates) return; // the first look: nothing to compare with
  setText(byId("requests-per-s"), short(rates.requests_per_s));
  const most = requests_recent.add(rates.requests_per_s);
  const traffic = `${bytes(rates.received_bytes_per_s)}/s in, ${bytes(rates.sent_bytes_per_s)}/s out`;
  setText(byId("requests-note"), `at most ${short(most)} in a minute · ${traffic}`);
  setText(byId("p99"), microseconds(rates.p99_us));
  const worst = p99_recent.add(rates.p99_us);
  const others = `p50 ${microseconds(rates.p50_us)} · p90 ${microseconds(rates.p90_us)}`;
  setText(byId("p99-note"), rates.p99_us === null ? "no request has ended in the last second"
    : `${others} · at most ${microseconds(worst)} in a minute`);
}

const counted = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

function makeWorker() {
  const name = make("span", { class: "name" });
  const state = make("span", { class: "chip" });
  const least = make("span", { class: "chip least", hidden: "" }, "least loaded");
  const bar = (kind) => make("span", { class: `fill ${kind}` });
  const load = bar("load");
  const held = bar("held");
  const load_text = make("span", { class: "value" });
  const held_text = make("span", { class: "value" });
  const note = make("span", { class: "muted" });
  const line = (fill, text) => make("div", { class: "meter" },
    make("span", { class: "track", "aria-hidden": "true" }, fill), text);
  const element = make("li", {}, make("div", { class: "title" }, name, state, least, note),
    line(load, load_text), line(held, held_text));
  return {
    element,
    update({ worker, scale, is_least }) {
      setText(name, `Worker ${worker.index}`);
      setText(state, worker.draining ? "ends" : worker.state);
      state.dataset.state = worker.state;
      least.hidden = !is_least;
      load.style.width = `${(100 * worker.runnable) / scale.load}%`;
      held.style.width = `${(100 * worker.connections) / scale.held}%`;
      setText(load_text, `${number(worker.runnable)} to run`);
      setText(held_text, counted(worker.connections, "connection"));
      setText(note, counted(worker.routines, "routine"));
    },
  };
}

function showWorkers(workers) {
  const most = (field, least) => Math.max(least, ...workers.map((w) => w[field]));
  const scale = { load: most("runnable", 4), held: most("connections", 4) };
  const rank = (w) => w.runnable + w.connections;
  const open = workers.filter((w) => !w.draining);
  const lowest = Math.min(...open.map(rank));
  const all_alike = open.every((w) => rank(w) === lowest);
  const items = workers.map((worker) => ({
    worker, scale, is_least: !worker.draining && !all_alike && rank(worker) === lowest,
  }));
  showEach(byId("workers"), items, (item) => item.worker.index, makeWorker);
}

function makeWait() {
  const cells = ["Name", "Waits for", "Where", "Routines", "Longest"].map((label, i) =>
    make("td", { "data-label": label, class: i > 2 ? "number" : "" }));
  return {
    element: make("tr", {}, ...cells),
    update(wait) {
      const place = wait.where.replace(/^.*\.\.\//, "");
      const texts = [wait.name, wait.what, place, number(wait.count),
        milliseconds(wait.longest_ms)];
      texts.forEach((text, i) => setText(cells[i], text));
      cells[2].title = wait.function;
    },
  };
}

function showWaits(look) {
  const key = (w) => [w.name, w.what, w.where].join("\n");
  showEach(byId("waits"), look.waits, key, makeWait);
  const more = look.waits_total - look.waits.length;
  setText(byId("waits-note"), "What they wait for, where, and how long the first of them has."
    + (more > 0 ? ` ${number(more)} further places are not shown.` : ""));
}

export function showLook(look) {
  showRates(look);
  setText(byId("connections"), short(look.connections));
  const opened = look.rates ? `, ${short(look.rates.connections_per_s)} new per second` : "";
  setText(byId("connections-note"), `${counted(look.in_flight, "request")} in flight${opened}`);
  setText(byId("routines"), short(look.routines));
  setText(byId("routines-note"), `${number(look.blocked)} of them blocked`);
  setText(byId("uptime"), `up ${milliseconds(Math.max(0, serverTime() - look.started_at_ms))}, `
    + `${number(look.requests)} requests so far`);
  showWorkers(look.workers);
  showWaits(look);
}
