// The jobs of the open queue that are in one state, page by page.

import { call, forAll } from "./api.js";
import { byId, clock, copyButton, jobs, keyCell, make, milliseconds, number, payloadCell, setText,
  showEach } from "./dom.js";

const page_size = 10;

/// What a row shows for good: a queue that is made anew uses ids again.
const keyOf = (job) => `${job.id} ${job.state} ${job.added_at} ${job.key} ${job.raw}`;

export class JobList {
  constructor(queue) {
    this.queue = queue;
    this.cursor = null;
    this.following = null;
    showEach(byId("job-rows"), [], () => null, null);
    setText(byId("jobs-none"), "");
    byId("jobs").hidden = byId("dead-all").hidden = true;
  }

  get state() {
    return byId("states").querySelector(":checked").value;
  }

  first() {
    this.cursor = null;
    return this.queue.refresh();
  }

  next() {
    this.cursor = this.following;
    return this.queue.refresh();
  }

  async load() {
    const state = this.state;
    const cursor = this.cursor;
    const query = new URLSearchParams({ state, limit: page_size });
    if (cursor !== null) query.set("cursor", cursor);
    const page = await call("GET", `${this.queue.path}/jobs?${query}`);
    // Answers may overtake each other: only what is still asked for counts.
    if (this.queue.closed || state !== this.state || cursor !== this.cursor) return;
    this.following = page.cursor ?? null;
    showEach(byId("job-rows"), page.jobs, keyOf, (job) => makeRow(this.queue, job));
    byId("jobs").hidden = page.jobs.length === 0;
    byId("dead-all").hidden = state !== "dead" || page.jobs.length === 0;
    byId("jobs-first").disabled = cursor === null;
    byId("jobs-next").disabled = this.following === null;
    const rest = cursor === null ? "" : " on this page";
    setText(byId("jobs-none"), page.jobs.length ? "" : `No job is ${state.replace("_", " ")}${rest}.`);
  }
}

/// All the dead: tried again, or removed.
export async function settleDead(queue, what) {
  queue.say("dead-done", "");
  await queue.attempt("queue-problem", async () => {
    const { counts } = await call("GET", queue.path);
    const asked = what === "retry" ? `Queue all ${jobs(counts.dead)} of "${queue.name}" again that are dead?`
      : `Remove all ${jobs(counts.dead)} of "${queue.name}" that are dead? They cannot be had back.`;
    if (queue.closed || !confirm(asked)) return;
    const done = await call("POST", `${queue.path}/dead/${what}`, {}, forAll());
    const texts = what === "retry" ? [`Queued ${jobs(done.retried)} again.`]
      : [`Removed ${jobs(done.deleted)}.`];
    if (done.duplicates) texts.push(`${jobs(done.duplicates)} stay: their keys are there again.`);
    queue.say("dead-done", texts.join(" "));
    await queue.refresh();
  });
}

const causes = { failed: "failed", lease_ended: "lease ended", abandoned: "taker was gone" };

function notes(job) {
  const parts = [`added ${clock(job.added_at)}`];
  if (job.state === "in_progress") parts.push(`lease until ${clock(job.lease_expires_at)}`);
  if (job.state === "delayed") parts.push(`due ${clock(job.due_at)}`);
  if (job.queued_ms > 0) parts.push(`waited ${milliseconds(job.queued_ms)}`);
  if (job.duplicates > 0) parts.push(`${number(job.duplicates)} duplicates refused`);
  if (job.failed_at) parts.push(`${causes[job.cause] ?? "failed"} ${clock(job.failed_at)}`);
  if (job.error) parts.push(`error: ${job.error}`);
  return parts.join(", ");
}

function makeRow(queue, job) {
  const labels = ["Job", "Key", "Payload", "Priority", "Attempts", "Notes"];
  const cells = labels.map((label) => make("td", { "data-label": label }));
  cells[1] = keyCell(job);
  cells[2] = payloadCell(job);
  const buttons = make("td", { class: "actions" });
  const act = (action) => queue.attempt("queue-problem", async () => {
    await action();
    await queue.refresh();
  });
  if (job.state === "dead") {
    buttons.append(make("button", { type: "button", "aria-label": `Retry job ${job.id}`,
      onclick: () => act(() => call("POST", `${queue.path}/dead/${job.id}/retry`)) }, "Retry"));
  }
  buttons.append(copyButton(job), make("button", { type: "button", class: "danger",
    "aria-label": `Delete job ${job.id}`,
    onclick: () => confirm(`Delete job ${job.id}?`)
      && act(() => call("DELETE", `${queue.path}/jobs/${job.id}`)) }, "Delete"));
  return {
    element: make("tr", {}, ...cells, buttons),
    update(now) {
      const texts = [now.id, null, null, now.priority, now.attempts, notes(now)];
      texts.forEach((text, i) => text === null || setText(cells[i], text));
    },
  };
}
