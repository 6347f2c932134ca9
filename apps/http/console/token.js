// The token that the server may ask for. It is kept for this tab only, and until that is closed.

import { byId, setText } from "./dom.js";

const place = `rota-token ${location.pathname}`; // several may be at one host, each at its path

/// What tokens are made of; with anything else no request could be sent at all.
const possible = (value) => /^[!-~]+$/.test(value);

let token = sessionStorage.getItem(place);
let renewed = () => {};
const unknown = "The server does not know this token.";

/// What a request says of who asks.
export const authorization = () => (token === null ? {} : { Authorization: `Bearer ${token}` });

function show() {
  byId("token-forget").hidden = token === null;
}

function set(value) {
  token = value;
  if (token === null) sessionStorage.removeItem(place);
  else sessionStorage.setItem(place, token);
  show();
}

/// The server has refused a request that said `sent`: asks for a token, unless there is another by
/// now.
export function askForToken(sent) {
  if (sent !== authorization().Authorization) return;
  const form = byId("token-form");
  setText(byId("token-problem"), token === null ? "" : unknown);
  set(null);
  if (!form.hidden) return;
  form.hidden = false;
  byId("token").focus();
}

/// Calls `again` whenever there is a token that has not been tried.
export function listenForToken(again) {
  renewed = again;
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = byId("token").value.trim();
    byId("token").value = "";
    if (!possible(given)) {
      setText(byId("token-problem"), unknown);
      return;
    }
    set(given);
    byId("token-form").hidden = true;
    renewed();
  });
  byId("token-forget").addEventListener("click", () => {
    set(null);
    location.reload();
  });
  show();
}
