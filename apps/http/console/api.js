// Requests to the server, and streams of events from it. All paths are relative to the page, so it
// works wherever it is mounted.

import { parseAnswer } from "./raw.js";
import { askForToken, authorization } from "./token.js";

/// What the server refuses, in its own words (problem+json).
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `status ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

let skew_ms = 0; // the server's clock minus ours, to the second

export const serverTime = () => Date.now() + skew_ms;

async function problemOf(answer) {
  const text = await answer.text().catch(() => "");
  try {
    const problem = JSON.parse(text);
    if (problem && typeof problem === "object") return problem;
  } catch {
    // not from the queues: a proxy, or the server's own word
  }
  const title = `${answer.status} ${answer.statusText}`.trim();
  return { title, detail: text.trim().slice(0, 300) || undefined };
}

/// The answer to a request, which tells who asks. Throws Refused, or another error when there is no
/// answer.
async function ask(path, options) {
  const who = authorization();
  const headers = { ...options.headers, ...who };
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (answer.ok) return answer;
  if (answer.status === 401) askForToken(who.Authorization);
  throw new Refused(answer.status, await problemOf(answer));
}

const answer_within_ms = 30000;
const answer_for_all_within_ms = 3600000;

/// How long to wait for what is done to all jobs of a queue, of which there may be millions.
export const forAll = () => AbortSignal.timeout(answer_for_all_within_ms);

/// The JSON of the answer. `body` is an object, or JSON that is written already. Throws Refused, or
/// another error when there is no answer.
export async function call(method, path, body, signal = AbortSignal.timeout(answer_within_ms)) {
  const options = { method, signal, headers: {} };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  const answer = await ask(path, options);
  const date = Date.parse(answer.headers.get("Date"));
  if (!Number.isNaN(date)) skew_ms = Math.abs(date - Date.now()) < 2000 ? 0 : date - Date.now();
  return answer.status === 204 ? null : parseAnswer(await answer.text());
}

export const queuePath = (name) => `v1/queues/${encodeURIComponent(name)}`;

/// What went wrong, for people.
export function explain(error) {
  if (!(error instanceof Refused)) return "The server does not answer.";
  const { code, existing_id: id, state } = error.problem;
  if (code === "duplicate" && id) return `Refused: ${error.message} (job ${id}, ${state}).`;
  return `Refused: ${error.message} (${error.status}${code ? `, ${code}` : ""}).`;
}

/// Takes a stream of server-sent events apart, however it is cut.
export class EventParser {
  constructor(deliver) {
    this.deliver = deliver;
    this.rest = "";
    this.clear();
  }

  clear() {
    this.event = { type: "message", data: "", id: undefined };
  }

  push(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  line(line) {
    if (line === "") {
      if (this.event.data !== "") this.deliver(this.event);
      this.clear();
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event.type = value;
    else if (field === "id") this.event.id = value;
    else if (field === "data") this.event.data += (this.event.data ? "\n" : "") + value;
  }
}

const first_pause_ms = 500;
const last_pause_ms = 8000;

/// Follows a stream for as long as it is wanted: when it ends or breaks it is asked for again, from
/// behind the last event that came, after a pause that grows, or, where a token is needed, by
/// retry(). It is given up when nothing has come for `silence_ms`. `on` has event(e), open(), and lost(error); the first request is for what
/// comes behind the event `last_id`, if that is given. Returns {stop, retry}.
export function follow(path, silence_ms, on, last_id = undefined) {
  let stopped = false;
  let tries = 0;
  let abort = null;
  let wake = () => {};

  async function once() {
    abort = new AbortController();
    const current = abort;
    let guard = setTimeout(() => current.abort(), silence_ms);
    try {
      const headers = { Accept: "text/event-stream" };
      if (last_id !== undefined) headers["Last-Event-ID"] = last_id;
      const answer = await ask(path, { headers, signal: current.signal });
      tries = 0;
      on.open();
      const parser = new EventParser((event) => {
        if (event.id !== undefined) last_id = event.id;
        on.event(event);
      });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done || stopped) return;
        clearTimeout(guard);
        guard = setTimeout(() => current.abort(), silence_ms);
        parser.push(value);
      }
    } finally {
      clearTimeout(guard);
    }
  }

  async function run() {
    while (!stopped) {
      let error = null;
      await once().catch((e) => { error = e; });
      abort?.abort();
      if (stopped) return;
      const spread = 0.75 + Math.random() / 2; // not all who look at once
      const pause_ms = Math.min(first_pause_ms * 2 ** tries, last_pause_ms) * spread;
      tries += 1;
      on.lost(error);
      await new Promise((resolve) => {
        const timer = error?.status === 401 ? null : setTimeout(resolve, pause_ms);
        wake = () => { clearTimeout(timer); resolve(); };
      });
    }
  }

  run();
  return {
    stop() { stopped = true; abort?.abort(); wake(); },
    retry() { wake(); },
  };
}
