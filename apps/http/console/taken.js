// Taking jobs of the open queue, and what becomes of those that were taken here.

import { call, serverTime } from "./api.js";
import { byId, copyButton, jobs as plural, keyCell, make, milliseconds, payloadCell, setText,
  showEach } from "./dom.js";

const held = new Map(); // by queue: what is held by this page, by lease

export class Taken {
  constructor(queue) {
    this.queue = queue;
    if (!held.has(queue.name)) held.set(queue.name, new Map());
    this.jobs = held.get(queue.name);
    this.waiting = null;
    setText(byId("take-submit"), "Take");
    setText(byId("take-done"), "");
    setText(byId("take-problem"), "");
    this.show();
  }

  /// What was taken is there when the queue is opened again; left alone, it goes back when its
  /// leases end.
  close() {
    this.waiting?.abort();
  }

  say(text) {
    this.queue.say("take-done", text);
  }

  attempt(action) {
    return this.queue.attempt("take-problem", action);
  }

  /// Takes; called again while it waits, it waits no longer.
  async take() {
    if (this.waiting) {
      this.waiting.abort();
      return;
    }
    const wait_ms = Math.round(1000 * (byId("take-wait").valueAsNumber || 0));
    const body = { max: byId("take-max").valueAsNumber, wait_ms };
    if (byId("take-lease").value !== "")
      body.lease_ms = Math.round(1000 * byId("take-lease").valueAsNumber);
    this.waiting = new AbortController();
    this.say(wait_ms > 0 ? "Waiting…" : "");
    if (wait_ms > 0) setText(byId("take-submit"), "Wait no longer");
    try {
      await this.attempt(async () => {
        const path = `${this.queue.path}/take`;
        const { jobs } = await call("POST", path, body, this.waiting.signal);
        this.say(jobs.length ? `Took ${plural(jobs.length)}.` : "There was none to take.");
        for (const job of jobs) this.jobs.set(job.lease_id, job);
      });
    } finally {
      if (this.waiting.signal.aborted) this.say("Waits no longer.");
      else if (byId("take-problem").textContent !== "") this.say("");
      this.waiting = null;
      this.queue.say("take-submit", "Take");
      this.show();
    }
  }

  show() {
    if (this.queue.closed) return;
    byId("taken").hidden = this.jobs.size === 0;
    showEach(byId("taken-rows"), [...this.jobs.values()], (job) => job.lease_id,
      (job) => this.makeRow(job));
  }

  age() {
    if (this.jobs.size > 0) this.show();
  }

  makeRow(job) {
    const labels = ["Job", "Key", "Payload", "Attempt", "Lease"];
    const cells = labels.map((label) => make("td", { "data-label": label }));
    cells[1] = keyCell(job);
    cells[2] = payloadCell(job);
    const lease = job.lease_id;
    const button = (label, action, kind) => make("button", { type: "button", class: kind,
      "aria-label": `${label} job ${job.id}`, onclick: action }, label);
    const buttons = make("td", { class: "actions" },
      button("Acknowledge", () => this.settle([lease], []), "main"),
      button("Retry", () => this.giveBack(lease)),
      button("Extend", () => this.extend(lease)), copyButton(job));
    return {
      element: make("tr", {}, ...cells, buttons),
      update(now) {
        const left = Date.parse(now.lease_expires_at) - serverTime();
        const texts = [now.id, null, null, now.attempt,
          left > 0 ? `${milliseconds(left)} left` : "ended"];
        texts.forEach((text, i) => text === null || setText(cells[i], text));
      },
    };
  }

  giveBack(lease_id) {
    const error = byId("retry-error").value;
    this.settle([], [error === "" ? { lease_id } : { lease_id, error }]);
  }

  acknowledgeAll() {
    this.settle([...this.jobs.keys()], []);
  }

  settle(acks, retries) {
    this.say("");
    return this.attempt(async () => {
      const body = { acks: acks.map((lease_id) => ({ lease_id })), retries };
      const done = await call("POST", `${this.queue.path}/ack`, body);
      for (const lease of acks) this.jobs.delete(lease);
      for (const { lease_id } of retries) this.jobs.delete(lease_id);
      const parts = [];
      if (done.acked) parts.push(`Acknowledged ${plural(done.acked)}.`);
      if (done.retried) parts.push(`Gave back ${plural(done.retried)}.`);
      if (done.lost.length)
        parts.push(`${plural(done.lost.length)} had a lease that had ended: not ours any more.`);
      this.say(parts.join(" "));
      this.show();
      this.queue.changed();
    });
  }

  extend(lease_id) {
    this.say("");
    return this.attempt(async () => {
      const body = { leases: [{ lease_id }] };
      if (byId("take-lease").value !== "")
        body.lease_ms = Math.round(1000 * byId("take-lease").valueAsNumber);
      const done = await call("POST", `${this.queue.path}/extend`, body);
      for (const { lease_id: id, lease_expires_at } of done.extended)
        this.jobs.set(id, { ...this.jobs.get(id), lease_expires_at });
      for (const id of done.lost) this.jobs.delete(id);
      this.say(done.lost.length ? "The lease had ended: the job is not ours any more."
        : "The lease is extended.");
      this.show();
    });
  }
}
