// The console: follows the live feed for as long as somebody looks, and says when it cannot.

import { explain, follow, Refused } from "./api.js";
import { byId, setText } from "./dom.js";
import { showLook } from "./figures.js";
import { listenToForms, loadQueues, namedQueue, openQueue, refreshQueue, selectQueue,
  showQueues } from "./queues.js";
import { listenForToken } from "./token.js";

const silence_ms = 20000; // something comes every second

let feed = null;
let started_at_ms = null;
let was_lost = false;

function showState(state, text) {
  byId("state").dataset.state = state;
  setText(byId("state-text"), text);
}

function showConnected() {
  showState("live", "live");
  if (!was_lost) return;
  was_lost = false;
  byId("banner").hidden = true;
  setText(byId("announce"), "Connected again.");
  refreshQueue();
}

/// The server is gone, or does not want to tell.
function showLost(error) {
  if (error?.status === 401) {
    showState("refused", "needs a token");
    byId("banner").hidden = true;
    was_lost = true;
    return;
  }
  const refused = error instanceof Refused;
  const text = refused
    ? `The live feed is refused. ${explain(error)} Figures and workers stand still; the queues ` +
      "can be used if they answer. Trying again."
    : "No connection to the server: what is shown is old. Trying again.";
  showState(refused ? "refused" : "lost", refused ? "feed refused" : "no connection");
  setText(byId("banner-text"), text);
  byId("banner").hidden = false;
  if (!was_lost) setText(byId("announce"), "");
  was_lost = true;
  if (!refused) openQueue()?.showAge(error);
  if (refused) loadQueues().catch(() => {}); // the banner says it already
}

function show(look) {
  const again = was_lost;
  showConnected();
  if (again && started_at_ms !== null && started_at_ms !== look.started_at_ms)
    setText(byId("announce"), "Connected again. The server was started anew.");
  started_at_ms = look.started_at_ms;
  showLook(look);
  showQueues(look.queues, look.queues_total, look.now_ms);
}

/// What has brought this page.
function showProtocol() {
  const by = performance.getEntriesByType("navigation")[0]?.nextHopProtocol;
  const names = { "http/1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", h2: "HTTP/2", h3: "HTTP/3" };
  const how = location.protocol === "https:" ? "over TLS" : "in clear";
  if (by) setText(byId("protocol"), `This page came by ${names[by] ?? by} ${how}.`);
}

function start() {
  feed ??= follow("debug/live", silence_ms, {
    open: () => {},
    event: (event) => {
      if (event.type === "drain") showState("lost", "server is shutting down");
      else show(JSON.parse(event.data));
    },
    lost: showLost,
  });
  openQueue()?.events.resume();
}

/// Nobody looks: the server need not look either, and a browser has few connections for one host.
function pause() {
  feed?.stop();
  feed = null;
  openQueue()?.events.pause();
  showState("connecting", "paused");
}

byId("banner-retry").addEventListener("click", () => {
  feed?.retry();
  openQueue()?.events.retry();
});
listenForToken(() => {
  feed?.retry();
  refreshQueue();
});
document.addEventListener("visibilitychange", () => (document.hidden ? pause() : start()));
window.addEventListener("hashchange", () => {
  const name = namedQueue();
  if (name) selectQueue(name, false);
});
listenToForms();
showProtocol();
if (namedQueue()) selectQueue(namedQueue(), false);
if (!document.hidden) start();
