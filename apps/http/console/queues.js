// The queue that is open: counts, settings, what is done to it as a whole.

import { call, explain, forAll, queuePath, Refused, serverTime } from "./api.js";
import { byId, clock, jobs, make, milliseconds, number, perSecond, setText, short, showEach }
  from "./dom.js";
import { EventList } from "./events.js";
import { JobList, settleDead } from "./jobs.js";
import { showQueueList } from "./queue_list.js";
import { drawSpark } from "./spark.js";
import { Taken } from "./taken.js";
import { roomFor, trendOf } from "./trends.js";

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
    this.clear();
    this.refresh();
  }

  /// What is left of another queue.
  clear() {
    showEach(byId("counts"), [], () => null, null);
    byId("pause").disabled = byId("purge").disabled = true;
    setText(byId("pause"), "Pause");
    byId("queue").dataset.paused = false;
    this.showAge(null);
    this.showTrends();
  }

  /// Says what became of something, unless another queue is open by now.
  say(id, text) {
    if (!this.closed) setText(byId(id), text);
  }

  /// Runs what a form or a button asks for, and says beside it what went wrong, if anything.
  async attempt(id, action) {
    this.say(id, "");
    try {
      await action();
    } catch (error) {
      if (error.name !== "AbortError") this.say(id, explain(error));
    }
  }

  /// Whether what is shown is what the server says now, and if it is not, why.
  showAge(error) {
    if (this.closed) return;
    byId("queue").dataset.stale = error !== null;
    const asItWas = this.state ? `As it was at ${clock(this.state_at)}`
      : "Nothing is known of this queue yet";
    setText(byId("queue-stale"), error === null ? "" : error instanceof Refused
      ? `${asItWas}. ${explain(error)}` : `${asItWas}: the server does not answer.`);
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
    if (this.closed) return;
    try {
      const [state] = await Promise.all([call("GET", this.path), this.jobs.load()]);
      this.show(state);
    } catch (error) {
      this.showAge(error);
    }
  }

  show(state) {
    if (this.closed) return;
    this.state = state;
    this.state_at = serverTime();
    this.shown_at = performance.now();
    this.showAge(null);
    byId("pause").disabled = byId("purge").disabled = false;
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

  showTrends() {
    const trend = trendOf(this.name);
    const show = (id, what, format) => {
      const values = trend?.values(what) ?? [];
      const most = drawSpark(byId(`trend-${id}`), values, roomFor(values));
      const now = values.at(-1) ?? null;
      setText(byId(`trend-${id}-note`), now === null ? "–"
        : `${format(now)}, at most ${format(values.some((v) => v > 0) ? most : 0)}`);
    };
    show("queued", "queued", short);
    show("in-progress", "in_progress", short);
    show("completed", "completed_per_s", perSecond);
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
    for (const id of ["queue-problem", "add-done", "add-problem", "set-done", "set-problem", "dead-done",
      "queue-done"])
      setText(byId(id), "");
    open = new OpenQueue(name);
    history.replaceState(null, "", `#queue=${encodeURIComponent(name)}`);
    for (const button of byId("queue-list").querySelectorAll("button"))
      button.setAttribute("aria-current", String(button.dataset.queue === name));
    if (byId("settings-form").parentElement.open) fillSettings();
  }
  if (focus) byId("add-payload").focus();
}

/// The queue that the address names; empty if none.
export function namedQueue() {
  const name = new URLSearchParams(location.hash.slice(1)).get("queue") ?? "";
  return /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/.test(name) ? name : "";
}

/// The queues as the live feed tells of them, at `now_ms` by the server's clock.
export function showQueues(queues, total, now_ms) {
  showQueueList(queues, total, now_ms, (name) => selectQueue(name, false),
    (name) => open?.name === name);
  open?.age();
  open?.showTrends();
}

/// Instead of the feed, where that is refused.
export async function loadQueues() {
  const { queues: all, next_cursor: next } = await call("GET", "v1/queues");
  const queues = all.slice(0, 200).map((q) => ({ ...q.counts, queue: q.queue, paused: q.paused,
    oldest_age_ms: q.oldest_age_ms }));
  showQueues(queues, next === undefined ? all.length : Infinity, serverTime());
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
      queue.say("add-done", "");
      queue.say("add-problem", `The payload is not JSON: ${error.message}`);
      return;
    }
    payload = text; // as it is: numbers keep all their digits
  }
  const more = { delay_ms: seconds("add-delay") ?? 0, priority: whole("add-priority") ?? 0 };
  if (byId("add-key").value !== "") more.key = byId("add-key").value;
  const body = `{"payload":${payload},${JSON.stringify(more).slice(1)}`;
  queue.say("add-done", "");
  await queue.attempt("add-problem", async () => {
    const job = await call("POST", `${queue.path}/jobs`, body);
    queue.say("add-done", `Added as job ${job.id}: ${job.state}.`);
    queue.changed();
  });
}

async function setSettings() {
  const queue = open;
  const changes = { max_attempts: whole("set-attempts"), max_jobs: whole("set-jobs"),
    lease_ms: seconds("set-lease") };
  queue.say("set-done", "");
  await queue.attempt("set-problem", async () => {
    const before = await call("GET", queue.path);
    await call("PUT", queue.path, { ...before.settings, ...changes });
    queue.say("set-done", "Set.");
    queue.changed();
  });
}

/// There is nothing to set until they are those of this queue.
async function fillSettings() {
  const queue = open;
  const fields = byId("settings-fields");
  fields.disabled = true;
  await queue.attempt("set-problem", async () => {
    const { settings } = await call("GET", queue.path);
    if (queue.closed) return;
    byId("set-attempts").value = settings.max_attempts ?? "";
    byId("set-jobs").value = settings.max_jobs ?? "";
    byId("set-lease").value = settings.lease_ms === null ? "" : settings.lease_ms / 1000;
    fields.disabled = false;
  });
}

async function onQueue(what) {
  const queue = open;
  queue.say("queue-done", "");
  await queue.attempt("queue-problem", async () => {
    await call("POST", `${queue.path}/${what}`);
    await queue.refresh();
  });
}

async function purge() {
  const queue = open;
  queue.say("queue-done", "");
  await queue.attempt("queue-problem", async () => {
    const { counts } = await call("GET", queue.path);
    const parts = [["queued", counts.queued], ["delayed", counts.delayed], ["dead", counts.dead]]
      .filter(([, count]) => count > 0);
    const all = parts.reduce((sum, [, count]) => sum + count, 0);
    const each = parts.map(([state, count]) => `${number(count)} ${state}`).join(", ");
    const stay = counts.in_progress ? ` The ${number(counts.in_progress)} in progress stay.` : "";
    if (all === 0) {
      queue.say("queue-done", `There is nothing to remove.${stay}`);
      return;
    }
    if (queue.closed || !confirm(`Remove ${jobs(all)} of "${queue.name}" (${each})?${stay}`)) return;
    const { purged } = await call("POST", `${queue.path}/purge`, undefined, forAll());
    queue.say("queue-done", `Removed ${jobs(purged)}.`);
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
    else byId("settings-fields").disabled = true; // until they are looked at again
  });
  byId("add-payload").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    byId("add-form").requestSubmit();
  });
  byId("pause").addEventListener("click", () => onQueue(open.state?.paused ? "resume" : "pause"));
  byId("purge").addEventListener("click", purge);
  byId("dead-retry").addEventListener("click", () => settleDead(open, "retry"));
  byId("dead-delete").addEventListener("click", () => settleDead(open, "delete"));
  byId("ack-all").addEventListener("click", () => open.taken.acknowledgeAll());
  byId("states").addEventListener("change", () => open.jobs.first());
  byId("jobs-first").addEventListener("click", () => open.jobs.first());
  byId("jobs-next").addEventListener("click", () => open.jobs.next());
}
