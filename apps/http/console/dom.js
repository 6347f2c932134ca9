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
  if (value < 999950) return `${(value / 1e3).toFixed(1)}k`; // not "1000.0k"
  return `${(value / 1e6).toFixed(1)}M`;
}

export function microseconds(us) {
  if (us === null || us === undefined) return "–";
  if (us < 1000) return `${us} µs`;
  if (us < 99950) return `${(us / 1000).toFixed(1)} ms`;
  return milliseconds(us / 1000);
}

export function milliseconds(ms) {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 119.5) return `${s < 9.95 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 7170) return `${Math.round(s / 60)} min`;
  if (s < 171000) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

export function bytes(count) {
  if (count < 999.5) return `${Math.round(count)} B`;
  if (count < 999950) return `${(count / 1e3).toFixed(1)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

/// The time of day, of a text as the server writes it; with the day, if that is another than today.
export function clock(text) {
  const at = new Date(text);
  const time = at.toLocaleTimeString("en-GB");
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.toLocaleDateString("en-GB", { dateStyle: "medium" })} ${time}`;
}

/// "0", "0.25", "3.1", "120", each per second
export function perSecond(rate) {
  if (rate === 0) return "0/s";
  return `${rate < 1 ? rate.toFixed(2) : rate < 10 ? rate.toFixed(1) : short(Math.round(rate))}/s`;
}

export const jobs = (count) => (count === 1 ? "1 job" : `${number(count)} jobs`);

const longest = 2000;
/// What of a text is shown. What the page itself says is muted, so that no text can pass for it.
const shown = (text, max) => make("span", {}, text.slice(0, max),
  text.length > max ? make("span", { class: "muted" }, "…") : "");

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

/// Whether the key of a job tells no more than its payload. Of a large one it is not known.
function isKeyPayload({ key, payload, raw }) {
  if (typeof payload === "string") return key === payload;
  return raw.length <= 2 * key_bytes_max && canonical(raw) === key;
}

/// A cell that shows the key of a job; not all of one that was made of a large payload.
export function keyCell(job) {
  if (isKeyPayload(job))
    return make("td", { "data-label": "Key" }, make("span", { class: "muted" }, "= payload"));
  return make("td", { "data-label": "Key", class: "data" }, shown(job.key, key_bytes_max));
}

/// Puts a text where the browser pastes from. Without TLS there is only the older way, by what is
/// selected: the field for that would change the ends of lines.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // not there, or not allowed
  }
  const put = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  const focused = document.activeElement;
  const area = make("textarea", { class: "unseen" });
  area.value = "x";
  document.body.append(area);
  area.select();
  area.addEventListener("copy", put);
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
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
  const note = looksLikeValue(job) ? make("span", { class: "muted" }, "text") : "";
  return make("td", { "data-label": "Payload", class: "data" },
    make("div", { class: "payload" }, shown(payloadText(job), longest), note));
}
