// The list of queues: those in trouble first.

import { byId, make, milliseconds, number, perSecond, setText, short, showEach } from "./dom.js";
import { drawSpark, makeSpark } from "./spark.js";
import { addTrends, roomFor, trendOf } from "./trends.js";

const waits_long_ms = 60000;

/// What is the matter with a queue, the worst first, in a few words each.
function troubles(q) {
  const found = [];
  const trend = trendOf(q.queue);
  if (q.oldest_age_ms > waits_long_ms && !q.paused && trend?.perSecond("completed") === 0)
    found.push("nothing is done");
  const failing = trend?.perSecond("failures") ?? 0;
  if (failing > 0) found.push(`${perSecond(failing)} failing`);
  if (q.dead) found.push(`${short(q.dead)} dead`);
  if (q.paused) found.push("paused");
  return found;
}

/// The order: what nobody works on, what has failed for good, what waits long, what is at work, the
/// rest. The steps are coarse, so that rows do not dance.
function rank(q) {
  const found = troubles(q);
  const age = q.oldest_age_ms ?? 0;
  let level = 4;
  if (found.includes("nothing is done") || (q.paused && q.queued > 0)) level = 0;
  else if (q.dead || found.some((text) => text.endsWith("failing"))) level = 1;
  else if (age > waits_long_ms) level = 2;
  else if (q.queued || q.in_progress || q.delayed) level = 3;
  return [level, -Math.floor(Math.log2(1 + age / 10000))];
}

function inOrder(queues) {
  const ranked = queues.map((q) => ({ q, rank: rank(q) }));
  ranked.sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1]
    || (a.q.queue < b.q.queue ? -1 : 1));
  return ranked.map(({ q }) => q);
}

/// In the order that is shown, with what is new behind it: nothing moves away from under a pointer.
function asShown(queues, list) {
  const place = new Map([...list.children].map((li, i) => [li.firstChild.dataset.queue, i]));
  const at = (q) => place.get(q.queue) ?? place.size;
  return queues.toSorted((a, b) => at(a) - at(b));
}

function makeQueue(queue, select, isOpen) {
  const name = make("span", { class: "name" }, queue.queue);
  const chips = make("span", { class: "chips" });
  const counts = make("span", { class: "muted" });
  const pace = make("span", { class: "muted" });
  const spark = makeSpark();
  const button = make("button", { type: "button", "data-queue": queue.queue,
    "aria-current": String(isOpen(queue.queue)), onclick: () => select(queue.queue) },
  make("span", { class: "title" }, name, chips), counts, pace, spark);
  return {
    element: make("li", {}, button),
    update(q) {
      showEach(chips, troubles(q), (text) => text.replace(/[\d.,kM]+/, ""), (text) => {
        const element = make("span", { class: text === "paused" ? "chip" : "chip trouble" });
        return { element, update: (now) => setText(element, now) };
      });
      const parts = [`${number(q.queued)} queued`];
      if (q.in_progress) parts.push(`${number(q.in_progress)} in progress`);
      if (q.delayed) parts.push(`${number(q.delayed)} delayed`);
      setText(counts, parts.join(" · "));
      const trend = trendOf(q.queue);
      const done = trend?.perSecond("completed") ?? null;
      const age = q.oldest_age_ms;
      setText(pace, [age === null || age === undefined ? "none waits" : `oldest ${milliseconds(age)}`,
        done === null ? "" : `${perSecond(done)} done`].filter(Boolean).join(" · "));
      const past = trend?.values("queued") ?? [];
      drawSpark(spark, past, roomFor(past));
    },
  };
}

/// Shows queues, of which there are `total`, Infinity if it is not known; `now_ms` by the server's clock.
export function showQueueList(queues, total, now_ms, select, isOpen) {
  addTrends(queues, now_ms);
  const list = byId("queue-list");
  const held = list.matches(":hover") || list.contains(document.activeElement);
  const items = held ? asShown(queues, list) : inOrder(queues);
  showEach(list, items, (q) => q.queue, (q) => makeQueue(q, select, isOpen));
  const none = byId("queue-none");
  none.hidden = total > 0 && total <= queues.length;
  if (total > queues.length) {
    const more = total === Infinity ? "More" : `${number(total - queues.length)} more`;
    setText(none, `${more} are not listed: open one by its name.`);
  }
}
