// The list of queues, and the one that is open: counts, settings, what is done to it as a whole.

import { attempt, call, queuePath } from "./api.js";
import { byId, make, milliseconds, number, setText, showEach } from "./dom.js";
import { EventList } from "./events.js";
import { JobList } from "./jobs.js";
import { Taken } from "./taken.js";

const refresh_after_ms = 250;

class OpenQueue {
  constructor(name) {
    this.name = name;
    this.path = queuePath(name);
    this.closed = false;
    this.timer = null;
    this.jobs = new JobList(this);
    this.taken = new Taken(this);
    this.events = new EventList(this);
    this.refresh();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.events.close();
    this.taken.close();
  }

  /// Soon, once for whatever happens until then.
  changed() {
    if (this.timer === null && !this.closed)
      this.timer = setTimeout(() => this.refresh(), refresh_after_ms);
  }

  async refresh() {
    clearTimeout(this.timer);
    this.timer = null;
    await attempt(byId("queue-problem"), async () => {
      const [state] = await Promise.all([call("GET", this.path), this.jobs.load()]);
      if (!this.closed) this.show(state);
    });
  }

  show(state) {
    this.state = state;
    this.shown_at = performance.now();
    const c = state.counts;
    const ended = c.completed + c.failures; // deliveries
    const each = (sum, count) => (count > 0 ? milliseconds(sum / count) : "–");
    const rows = [
      ["Queued", number(c.queued)], ["In progress", number(c.in_progress)],
      ["Delayed", number(c.delayed)], ["Dead", number(c.dead)],
      ["Oldest", "–"], ["Added", number(c.added)], ["Completed", number(c.completed)],
      ["Duplicates refused", number(c.duplicates)], ["Failures", number(c.failures)],
      ["Leases expired", number(c.expired)], ["Wait, on average", each(c.queued_ms, ended + c.in_progress)],
      ["Work, on average", each(c.in_progress_ms, ended)],
    ];
    showEach(byId("counts"), rows, (row) => row[0], makeCount);
    this.age();
    setText(byId("pause"), state.paused ? "Resume" : "Pause");
    byId("queue").dataset.paused = state.paused;
    setText(byId("queue-name"), state.paused ? `${this.name} (paused)` : this.name);
  }

  /// Moves on what depends on the time only.
  age() {
    const oldest = byId("counts").shown?.get("Oldest");
    if (!this.state || !oldest) return;
    const age = this.state.oldest_age_ms;
    const text = age === null ? "–" : milliseconds(age + performance.now() - this.shown_at);
    oldest.update(["Oldest", text]);
    this.taken.age();
  }
}

function makeCount(row) {
  const value = make("dd");
  const element = make("div", {}, make("dt", {}, row[0]), value);
  return { element, update: ([, text]) => setText(value, text) };
}

let open = null;

export const openQueue = () => open;

export function selectQueue(name, focus) {
  if (open?.name !== name) {
    open?.close();
    byId("queue").hidden = false;
    setText(byId("queue-name"), name);
    for (const id of ["queue-problem", "add-done", "add-problem", "set-done", "set-problem"])
      setText(byId(id), "");
    open = new OpenQueue(name);
    history.replaceState(null, "", `#queue=${encodeURIComponent(name)}`);
    for (const button of byId("queue-list").querySelectorAll("button"))
      button.setAttribute("aria-current", String(button.dataset.queue === name));
  }
  if (focus) byId("add-payload").focus();
}

/// The queue that the address names; empty if none.
export function namedQueue() {
  const name = new URLSearchParams(location.hash.slice(1)).get("queue") ?? "";
  return /^[A-Za-z0-9._-]{1,128}$/.test(name) ? name : "";
}

function makeQueue(queue) {
  const name = make("span", { class: "name" }, queue.queue);
  const note = make("span", { class: "muted" });
  const button = make("button", { type: "button", "data-queue": queue.queue,
    "aria-current": String(open?.name === queue.queue),
    onclick: () => selectQueue(queue.queue, false) }, name, note);
  return {
    element: make("li", {}, button),
    update(q) {
      const parts = [`${number(q.queued)} queued`];
      if (q.in_progress) parts.push(`${number(q.in_progress)} in progress`);
      if (q.delayed) parts.push(`${number(q.delayed)} delayed`);
      if (q.dead) parts.push(`${number(q.dead)} dead`);
      if (q.paused) parts.push("paused");
      setText(note, parts.join(" · "));
    },
  };
}

/// The queues as the live feed tells of them.
export function showQueues(queues, total) {
  showEach(byId("queue-list"), queues, (q) => q.queue, makeQueue);
  const none = byId("queue-none");
  none.hidden = total > 0 && total <= queues.length;
  if (total > queues.length)
    setText(none, `${number(total - queues.length)} more are not listed: open one by its name.`);
  open?.age();
}

/// Instead of the feed, where that is refused.
export async function loadQueues() {
  const all = (await call("GET", "v1/queues")).queues;
  const queues = all.slice(0, 200).map((q) => ({ ...q.counts, queue: q.queue, paused: q.paused }));
  showQueues(queues, all.length);
}

/// After the server was gone: everything as it is now.
export function refreshQueue() {
  open?.refresh();
  open?.events.retry();
}

const seconds = (id) => (byId(id).value === "" ? null : Math.round(1000 * byId(id).valueAsNumber));
const whole = (id) => (byId(id).value === "" ? null : byId(id).valueAsNumber);

async function addJob() {
  const queue = open;
  const text = byId("add-payload").value;
  let payload = JSON.stringify(text);
  if (byId("add-as").value === "json") {
    try {
      JSON.parse(text);
    } catch (error) {
      setText(byId("add-done"), "");
      setText(byId("add-problem"), `The payload is not JSON: ${error.message}`);
      return;
    }
    payload = text; // as it is: numbers keep all their digits
  }
  const more = { delay_ms: seconds("add-delay") ?? 0, priority: whole("add-priority") ?? 0 };
  if (byId("add-key").value !== "") more.key = byId("add-key").value;
  const body = `{"payload":${payload},${JSON.stringify(more).slice(1)}`;
  setText(byId("add-done"), "");
  await attempt(byId("add-problem"), async () => {
    const job = await call("POST", `${queue.path}/jobs`, body);
    setText(byId("add-done"), `Added as job ${job.id}: ${job.state}.`);
    queue.changed();
  });
}

async function setSettings() {
  const queue = open;
  setText(byId("set-done"), "");
  await attempt(byId("set-problem"), async () => {
    const before = await call("GET", queue.path);
    await call("PUT", queue.path, {
      ...before.settings, max_attempts: whole("set-attempts"),
      max_jobs: whole("set-jobs"), lease_ms: seconds("set-lease"),
    });
    setText(byId("set-done"), "Set.");
    queue.changed();
  });
}

async function fillSettings() {
  const queue = open;
  await attempt(byId("set-problem"), async () => {
    const { settings } = await call("GET", queue.path);
    byId("set-attempts").value = settings.max_attempts ?? "";
    byId("set-jobs").value = settings.max_jobs ?? "";
    byId("set-lease").value = settings.lease_ms === null ? "" : settings.lease_ms / 1000;
  });
}

async function onQueue(what) {
  const queue = open;
  await attempt(byId("queue-problem"), async () => {
    await call("POST", `${queue.path}/${what}`);
    await queue.refresh();
  });
}

export function listenToForms() {
  const onSubmit = (id, action) => byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    action();
  });
  onSubmit("open-form", () => selectQueue(byId("open-name").value, true));
  onSubmit("add-form", addJob);
  onSubmit("settings-form", setSettings);
  onSubmit("take-form", () => open.taken.take());
  byId("settings-form").parentElement.addEventListener("toggle", (event) => {
    if (event.target.open) fillSettings();
  });
  byId("add-payload").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    byId("add-form").requestSubmit();
  });
  byId("pause").addEventListener("click", () => onQueue(open.state?.paused ? "resume" : "pause"));
  byId("purge").addEventListener("click", () => {
    if (confirm(`Remove every job of "${open.name}" that is not in progress?`)) onQueue("purge");
  });
  byId("ack-all").addEventListener("click", () => open.taken.acknowledgeAll());
  byId("states").addEventListener("change", () => open.jobs.first());
  byId("jobs-first").addEventListener("click", () => open.jobs.first());
  byId("jobs-next").addEventListener("click", () => open.jobs.next());
}
