#!/usr/bin/env python3
"""What a browser lets pages of others do to the server, and how the console asks for a token: in a
headless Chromium. Skipped (exit code 77) where there is none.

usage: console_guard_test.py <rota-http> [options of rota-http...]
"""

import contextlib
import http.server
import sys
import tempfile
import threading
from pathlib import Path

import browser
from programs import check, equal, run_tests
from rota_http import RotaHttp

EVIL = "evil.test"  # the browser takes it for this machine
# What a page can send anywhere without asking: forms, and requests of the same shape.
ATTACK = """
const [to] = arguments;
const submit = (path, field, value) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.name = `f${document.querySelectorAll("iframe").length}`;
  document.body.append(frame);
  const form = document.createElement("form");
  Object.assign(form, {method: "POST", enctype: "text/plain", action: to + path,
                       target: frame.name});
  const input = document.createElement("input");
  Object.assign(input, {name: field, value});
  form.append(input);
  document.body.append(form);
  frame.addEventListener("load", () => done("sent"));
  form.submit();
});
const send = (path, body, mode) => fetch(to + path, {method: "POST", mode, body})
  .then((answer) => answer.type, (error) => "refused");
return Promise.all([
  submit("v1/queues/q/jobs", '{"payload":"form","key":"', '"}'), // what it sends is JSON
  submit("v1/queues/q/purge", "a", "b"),
  send("v1/queues/q/jobs", '{"payload":"fetch"}', "no-cors"),
  send("v1/queues/q/take", "{}", "no-cors"),
  send("v1/queues/q/pause", "", "no-cors"),
  send("v1/queues/q/purge", "", "no-cors"),
  fetch(to + "v1/queues").then((answer) => "read", (error) => "refused"),
]);
"""
STATUSES = """
const ask = (method, path) => fetch(path, {method}).then((answer) => answer.status);
return Promise.all([ask("GET", "/"), ask("GET", "/console/main.js"), ask("GET", "/v1/queues"),
                    ask("GET", "/debug/tasks"), ask("POST", "/v1/queues/q/purge")]);
"""


# Whether a script that markup has brought into the page would come from these places.
LOADS = """
const load = (src, type) => new Promise((done) => {
  const script = document.createElement("script");
  Object.assign(script, {src, type});
  script.addEventListener("load", () => done("loaded"));
  script.addEventListener("error", () => done("refused"));
  document.body.append(script);
});
const [...places] = arguments;
return Promise.all(places.flatMap((src) => [load(src, ""), load(src, "module")]))
  .then((results) => [results, window.hit ?? null]);
"""


class Page(http.server.BaseHTTPRequestHandler):
    """An empty one."""

    def do_GET(self):  # pylint: disable=invalid-name
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>another</title><body></body>")

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@contextlib.contextmanager
def another_server():
    """The port of a server that has nothing to do with ours."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        yield server.server_port
        server.shutdown()
        serving.join()


def test_pages_of_others_change_and_read_nothing(chromium, program, options):
    with RotaHttp(program, *options, "--access-log") as server, another_server() as port:
        server.post_json("/v1/queues/q/jobs", {"payload": "own"})
        # Of another site; and of the same one, on another port.
        for host in (EVIL, "127.0.0.1"):
            chromium.open(f"http://{host}:{port}/")
            results = chromium.run(ATTACK, f"http://127.0.0.1:{server.port}/")
            equal(results, ["sent", "sent"] + ["opaque"] * 4 + ["refused"], host)
            queue = server.get("/v1/queues/q").json()
            equal((queue["counts"]["added"], queue["counts"]["queued"], queue["paused"]),
                  (1, 1, False), host)
        equal(len(server.wait_for(r'"POST /v1/queues/q/\w+" 403 ', 12)), 12)


def test_a_rebound_name_reads_nothing(chromium, program, options):
    with RotaHttp(program, *options) as server:
        chromium.open(f"http://{EVIL}:{server.port}/")
        chromium.wait_text("body", "--allowed-host")
        equal(chromium.run(STATUSES), [421] * 5)
    with RotaHttp(program, *options, "--allowed-host", EVIL) as server:
        chromium.open(f"http://{EVIL}:{server.port}/#queue=q")
        chromium.wait_text("#state-text", "^live$")
        equal(chromium.run(STATUSES), [200] * 5)


def test_copies_are_exact_without_tls(chromium, program, options):
    with RotaHttp(program, *options, "--allowed-host", EVIL) as server:
        for host in ("127.0.0.1", EVIL):
            chromium.open(f"http://127.0.0.1:{server.port}/")
            chromium.cdp("Browser.grantPermissions",
                         permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
            for i, payload in enumerate(("a\r\nb", "x\0y\rz\n", "", " <b>&amp;")):
                name = f"{host}-{i}"
                server.post_json(f"/v1/queues/{name}/jobs", {"payload": payload})
                chromium.open("about:blank")
                chromium.open(f"http://{host}:{server.port}/#queue={name}")
                chromium.wait_text("#job-rows", r"^1\s")
                equal(chromium.run("return isSecureContext"), host != EVIL)
                chromium.click("#job-rows button")
                chromium.wait_text("#job-rows button", "^Copied$")
                focused = chromium.run("return document.activeElement.textContent")
                chromium.open(f"http://127.0.0.1:{server.port}/")
                equal(chromium.run("return navigator.clipboard.readText()"), payload, host)
                equal(focused, "Copied", "where the focus is")


def test_no_script_but_the_consoles_own_runs_there(chromium, program, options):
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder, another_server() as port:
        (Path(folder) / "own.js").write_text("window.hit = 'a file';")
        with RotaHttp(program, *options, "--files", folder) as server:
            chromium.open(f"http://127.0.0.1:{server.port}/")
            chromium.wait_text("#state-text", "^live$")
            places = ["/hello/1;window.hit='hello';function%20Hello(){}%2F%2F", "/files/own.js",
                      f"http://127.0.0.1:{port}/x.js", "data:,window.hit=2"]
            results, hit = chromium.run(LOADS, *places)
            equal((results, hit), (["refused"] * 2 * len(places), None))
            chromium.log()  # each was told there


def enter(chromium, token):
    chromium.wait_text("#token-form", "asks for a token")
    chromium.click("#token")
    chromium.press(token, "Enter")


def test_the_console_asks_for_a_token(chromium, program, options):
    with RotaHttp(program, *options) as folder_of:
        tokens = Path(folder_of.folder.name) / "tokens"
        tokens.write_text("first\n")
        with RotaHttp(program, *options, "--token-file", tokens) as server:
            right = {"Authorization": "Bearer first"}
            chromium.log()  # of other tests
            server.request("POST", "/v1/queues/q/jobs", b'{"payload":"seen"}', right)
            chromium.open(f"http://127.0.0.1:{server.port}/#queue=q")
            chromium.wait_text("#state-text", "^needs a token$")
            equal(chromium.focused(), "token")
            for beyond in ("t\u00f6ken\u20ac", "two words"):  # no field could hold it
                enter(chromium, beyond)
                chromium.wait_text("#token-problem", "does not know this token")
                equal(chromium.run("return [sessionStorage.length, document.getElementById('token')"
                                   ".value]"), [0, ""], beyond)
                chromium.run("document.getElementById('token-problem').textContent = ''")
            enter(chromium, "wrong")
            chromium.wait_text("#token-problem", "does not know this token")
            enter(chromium, "first")
            chromium.wait_text("#state-text", "^live$")
            equal(chromium.text("#token-form"), "")
            chromium.wait_text("#job-rows", "seen")
            chromium.wait_text("#events-state", "^live$")
            chromium.run("location.reload()")
            chromium.wait_text("#state-text", "^live$")
            equal(chromium.text("#token-form"), "")
            equal(chromium.run("return [sessionStorage.length, localStorage.length,"
                               "document.cookie]"), [1, 0, ""])
            # It is taken out: the page asks, and goes on with what was open and typed.
            chromium.run("document.getElementById('add-payload').value = 'typed'")
            tokens.write_text("second\n")
            chromium.click("#add-form button")
            enter(chromium, "second")
            chromium.wait_text("#events-state", "^live$")
            chromium.click("#add-form button")
            chromium.wait_text("#add-done", "^Added as job 2")
            chromium.click("#token-forget")
            chromium.wait_text("#state-text", "^needs a token$")
            equal(chromium.run("return sessionStorage.length"), 0)
            wrong = [e for e in chromium.log() if e["source"] != "network"]
            equal(wrong, [], "what the browser complains of")


def test_another_tab_has_to_ask_again(chromium, program, options):
    with RotaHttp(program, *options) as folder_of:
        tokens = Path(folder_of.folder.name) / "tokens"
        tokens.write_text("first\n")
        with RotaHttp(program, *options, "--token-file", tokens) as server:
            chromium.open(f"http://127.0.0.1:{server.port}/")
            enter(chromium, "first")
            chromium.wait_text("#state-text", "^live$")
            first = chromium.call("GET", "/window")
            tab = chromium.call("POST", "/window/new", {"type": "tab"})["handle"]
            chromium.call("POST", "/window", {"handle": tab})
            chromium.open(f"http://127.0.0.1:{server.port}/")
            chromium.wait_text("#token-form", "asks for a token")
            check("needs a token" in chromium.text("#state-text"), "it is not let in")
            chromium.call("DELETE", "/window")
            chromium.call("POST", "/window", {"handle": first})


def main():
    program, *options = sys.argv[1:]
    options += ["--drain-timeout", "1s"]
    with browser.start_or_skip(f"--host-resolver-rules=MAP {EVIL} 127.0.0.1") as chromium:
        run_tests(globals(), chromium, program, options)


if __name__ == "__main__":
    main()
