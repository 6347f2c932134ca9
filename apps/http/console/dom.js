// Elements and texts. Data goes into the page as text only: never as markup.

import { canonical } from "./raw.js";

export const byId = (id) => document.getElementById(id);

/// An element with attributes and children; what is no element among these is text.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/// Only if it changes: what somebody has selected stays selected.
export function setText(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/// Makes the children of `parent` one for each item, in their order. Those that are there already
/// (by `keyOf`) are updated in their place, so that the focus stays where it is. `create` returns
/// {element, update}.
export function showEach(parent, items, keyOf, create) {
  const known = parent.shown ?? (parent.shown = new Map());
  const wanted = new Set(items.map(keyOf));
  for (const [key, part] of known) {
    if (wanted.has(key)) continue;
    moveFocus(parent, part.element);
    part.element.remove();
    known.delete(key);
  }
  let at = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let part = known.get(key);
    if (!part) {
      part = create(item);
      known.set(key, part);
    }
    part.update(item);
    if (part.element === at) at = at.nextElementSibling;
    else parent.insertBefore(part.element, at);
  }
}

/// What had the focus goes: it is the turn of the next, or the one before.
function moveFocus(parent, element) {
  if (!element.contains(document.activeElement)) return;
  const near = element.nextElementSibling ?? element.previousElementSibling;
  const around = near?.querySelector("button") ? near : parent.closest("section");
  around?.querySelector("button")?.focus();
}

const numbers = new Intl.NumberFormat("en");
export const number = (value) => numbers.format(value);

/// "1,204", "12.3k", "4.1M"
export function short(value) {
  if (value < 10000) return number(value);
  if (value < 1e6) return `${(value / 1e3).toFixed(1)}k`;
  return `${(value / 1e6).toFixed(1)}M`;
}

export function microseconds(us) {
  if (us === null || us === undefined) return "–";
  if (us < 1000) return `${us} µs`;
  if (us < 100000) return `${(us / 1000).toFixed(1)} ms`;
  return milliseconds(us / 1000);
}

export function milliseconds(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 120) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

export function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(1)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

/// The time of day, of a text as the server writes it.
export const clock = (text) => new Date(text).toLocaleTimeString("en-GB");

/// "0", "0.25", "3.1", "120", each per second
export function perSecond(rate) {
  if (rate === 0) return "0/s";
  return `${rate < 1 ? rate.toFixed(2) : rate < 10 ? rate.toFixed(1) : short(Math.round(rate))}/s`;
}

export const jobs = (count) => (count === 1 ? "1 job" : `${number(count)} jobs`);

const longest = 2000;
const cut = (text, max) => (text.length > max ? `${text.slice(0, max)}…` : text);

/// A payload as it is: a text itself, any other value as the server wrote it.
export const payloadText = ({ payload, raw }) => (typeof payload === "string" ? payload : raw);

/// Whether a payload is a text that would look like another value.
function looksLikeValue({ payload }) {
  if (typeof payload !== "string") return false;
  try {
    JSON.parse(payload);
    return true;
  } catch {
    return false;
  }
}

const key_bytes_max = 512;

/// The key of a job, if that tells more than the payload does; not all of one that was made of a
/// large payload.
export function keyText({ key, payload, raw }) {
  if (typeof payload === "string") return key === payload ? "= payload" : cut(key, key_bytes_max);
  return raw.length <= 2 * key_bytes_max && canonical(raw) === key ? "= payload"
    : cut(key, key_bytes_max);
}

/// Puts a text where the browser pastes from. Without TLS there is only the older way.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // not there, or not allowed
  }
  const area = make("textarea", { class: "unseen" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not allow it");
}

export function copyButton(job) {
  const button = make("button", { type: "button",
    "aria-label": `Copy the payload of job ${job.id}`,
    onclick: () => copy(payloadText(job)).then(() => setText(button, "Copied"),
      () => setText(button, "Not copied")) }, "Copy");
  return button;
}

/// A cell that shows the payload of a job.
export function payloadCell(job) {
  const text = payloadText(job);
  const shown = cut(text, longest);
  const note = looksLikeValue(job) ? make("span", { class: "muted" }, "text") : "";
  return make("td", { "data-label": "Payload", class: "data" },
    make("div", { class: "payload" }, make("span", {}, shown), note));
}
