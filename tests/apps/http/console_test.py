#!/usr/bin/env python3
"""The console as people use it: in a headless Chromium. Skipped (exit code 77) where there is none.

usage: console_test.py <rota-http> [options of rota-http...]
"""

import json
import random
import signal
import socket
import sys
import threading

import browser
from programs import check, equal, run_tests
from rota_http import RotaHttp

MARKUP = "<img src=x onerror=\"window.hit = 1\"><script>window.hit = 1</script>&amp;'\""
# What the page asks for is refused, as a proxy before the server would.
REFUSE_FEED = """
const ask = window.fetch;
window.fetch = (path, options) => String(path).includes("debug/live")
  ? Promise.resolve(new Response("not for you", {status: 403})) : ask(path, options);
"""
UNLABELLED = """
return [...document.querySelectorAll("input, select, textarea, button, a")]
  .filter((e) => !(e.labels?.length || e.innerText.trim() || e.textContent.trim() ||
                   e.getAttribute("aria-label")))
  .map((e) => e.outerHTML);
"""


def free_port():
    """One that no client gets by chance while the server is away: outside the range for that."""
    for _ in range(100):
        port = random.randrange(20000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise AssertionError("no port is free")


def open_console(chromium, server, queue):
    # A page of its own first: another fragment alone would not load the page anew.
    chromium.open("about:blank")
    chromium.open(f"http://127.0.0.1:{server.port}/#queue={queue}")
    chromium.wait_text("#state-text", "^live$")


def check_log(chromium):
    """The page has not tripped over its own policy, nor over itself."""
    wrong = [entry for entry in chromium.log() if entry["source"] != "network"]
    equal(wrong, [], "what the browser complains of")


def test_workers_and_requests(chromium, server):
    chromium.open(f"http://127.0.0.1:{server.port}/")
    chromium.wait_text("#state-text", "^live$")
    equal(chromium.run("return document.querySelectorAll('#workers li').length"), 3)
    done = threading.Event()

    def ask():
        connection = server.session()
        while not done.wait(0.01):
            server.get("/plaintext", over=connection)
        connection.close()

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        chromium.wait_text("#requests-per-s", r"^[1-9]")
        chromium.wait_text("#p99", r"\d+(\.\d)? (µs|ms|s)$")
        path = "return document.querySelector('#requests-spark .line').getAttribute('d').length"
        check(chromium.run(path) > 0, "the past is drawn")
        clients = [server.connect() for _ in range(30)]
        for client in clients:
            client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
        chromium.wait_text("#workers", r"1\d connections")  # a third of them each
        chromium.wait_text("#connections", r"^3\d$")
        chromium.wait_text("#waits", r"sleep\s+apps/http/samples\.cpp:\d+\s+30")
        for client in clients:
            client.close()
    finally:
        done.set()
        asking.join()
    check_log(chromium)


def test_by_keyboard_alone(chromium, server):
    chromium.open("about:blank")
    chromium.open(f"http://127.0.0.1:{server.port}/")
    chromium.wait_text("#state-text", "^live$")
    chromium.tab_to("open-name")
    chromium.press("letters", "Enter")
    chromium.wait_text("#queue-name", "^letters$")
    chromium.wait_text("#events-state", "^live$")
    equal(chromium.focused(), "add-payload")
    chromium.press("to ann")
    chromium.tab_to("add-key")
    chromium.press("ann", "Enter")
    chromium.wait_text("#add-done", "^Added as job 1: queued.$")
    chromium.wait_text("#events", r"added\s+job 1")
    chromium.wait_text("#job-rows", r"^1\s+ann\s+to ann\s")
    chromium.press("Enter")
    chromium.wait_text("#add-problem", r"^Refused: .* \(job 1, queued\)\.$")
    chromium.tab_to("take-submit")
    chromium.press("Space")
    chromium.wait_text("#taken-rows", r"^1\s+ann\s+to ann\s+1\s+\d+(\.\d)? s left")
    chromium.wait_text("#events", r"taken\s+job 1")
    chromium.tab_to("ack-all")
    chromium.tab_to("retry-error")
    chromium.press("Tab")
    equal(chromium.run("return document.activeElement.getAttribute('aria-label')"),
          "Acknowledge job 1")
    chromium.press("Enter")
    chromium.wait_text("#take-done", "^Acknowledged 1 job.$")
    chromium.wait_text("#events", r"completed\s+job 1")
    equal(chromium.text("#taken-rows"), "")
    counts = server.get("/v1/queues/letters").json()["counts"]
    equal((counts["queued"], counts["in_progress"], counts["completed"]), (0, 0, 1))
    check_log(chromium)


def test_data_is_text(chromium, server):
    for payload in (MARKUP, {MARKUP: MARKUP}, [MARKUP]):
        job = {"payload": payload, "key": MARKUP + str(type(payload))}
        equal(server.post_json("/v1/queues/markup/jobs", job).status, 201)
    server.request("PUT", "/v1/queues/markup", json.dumps({"max_attempts": 1}))
    job = server.post_json("/v1/queues/markup/take", {}).json()["jobs"][0]
    retry = {"lease_id": job["lease_id"], "error": MARKUP}
    server.post_json("/v1/queues/markup/ack", {"retries": [retry]})
    open_console(chromium, server, "markup")
    chromium.wait_text("#job-rows", "<img src=x")
    chromium.click("#take-submit")
    chromium.wait_text("#taken-rows", "<img src=x")
    chromium.click("#states label:last-child")
    chromium.wait_text("#job-rows", r"error: <img src=x")
    equal(chromium.run("return [window.hit ?? 0, document.querySelectorAll('main img').length,"
                       "document.querySelectorAll('script').length]"), [0, 0, 1])
    chromium.click("#job-rows button")  # tried again, it is queued
    chromium.wait_text("#jobs-none", "^No job is dead.$")
    equal(server.get("/v1/queues/markup").json()["counts"]["dead"], 0)
    check_log(chromium)


def test_pages_pause_and_json(chromium, server):
    lines = "".join(json.dumps({"payload": i}) + "\n" for i in range(25))
    server.request("POST", "/v1/queues/many/jobs", lines,
                   {"Content-Type": "application/x-ndjson"})
    open_console(chromium, server, "many")
    for first in (1, 11, 21):
        chromium.wait_text("#job-rows", rf"^{first}\s")
        check(chromium.run("return document.getElementById('jobs-next').disabled")
              == (first == 21), first)
        if first != 21:
            chromium.click("#jobs-next")
    chromium.click("#jobs-first")
    chromium.wait_text("#job-rows", r"^1\s")
    chromium.click("#pause")
    chromium.wait_text("#queue-name", r"paused")
    check(server.get("/v1/queues/many").json()["paused"], "it is paused")
    chromium.click("#pause")
    chromium.wait_text("#queue-name", r"^many$")
    chromium.run("document.getElementById('add-as').value = 'json';"
                 "document.getElementById('add-payload').value = '{\"n\": 12345678901234567890}'")
    chromium.click("#add-form button")
    chromium.wait_text("#add-done", "^Added as job 26")
    job = server.get("/v1/queues/many/jobs/26").body
    check(b"12345678901234567890" in job, job)
    chromium.run("document.getElementById('add-payload').value = '{'")
    chromium.click("#add-form button")
    chromium.wait_text("#add-problem", "^The payload is not JSON")
    check_log(chromium)


def test_labels_and_a_narrow_window(chromium, server):
    open_console(chromium, server, "letters")
    equal(chromium.run(UNLABELLED), [])
    chromium.cdp("Emulation.setDeviceMetricsOverride",
                 width=360, height=800, deviceScaleFactor=1, mobile=False)
    check(chromium.run("return document.documentElement.scrollWidth <= innerWidth"),
          "nothing is wider than 360 pixels")
    chromium.cdp("Emulation.clearDeviceMetricsOverride")


def test_feed_refused(chromium, server):
    script = chromium.cdp("Page.addScriptToEvaluateOnNewDocument", source=REFUSE_FEED)
    chromium.open("about:blank")
    chromium.open(f"http://127.0.0.1:{server.port}/#queue=letters")
    chromium.wait_text("#banner", "refused.*not for you.*403")
    chromium.wait_text("#queue-list", "letters")  # the queues are there nonetheless
    chromium.cdp("Page.removeScriptToEvaluateOnNewDocument", **script)


def test_server_goes_and_comes_back(chromium, server):
    port = free_port()
    program, *options = server.started_as
    with RotaHttp(program, *options, port=port) as first:
        open_console(chromium, first, "mail")
        chromium.wait_text("#events-state", "^live$")
        first.post_json("/v1/queues/mail/jobs", {"payload": "before"})
        chromium.wait_text("#job-rows", "before")
        chromium.wait_text("#events", r"added\s+job 1")
        first.signal(signal.SIGKILL)
        first.wait()
        chromium.wait_text("#banner", "No connection")
        chromium.wait_text("#state-text", "^no connection$")
        chromium.click("#add-form button")
        chromium.wait_text("#add-problem", "does not answer")
    with RotaHttp(program, *options, port=port) as second:
        chromium.wait_text("#state-text", "^live$")
        chromium.wait_text("#announce", "started anew")
        equal(chromium.text("#banner"), "")
        chromium.wait_text("#jobs-none", "^No job is queued.$")  # they lived in memory
        # The events were asked for from behind the last one, which this server does not know.
        chromium.wait_text("#events", "events have been missed")
        second.post_json("/v1/queues/mail/jobs", {"payload": "after"})
        chromium.wait_text("#job-rows", "after")
        chromium.wait_text("#events", r"^\d\d:\d\d:\d\d\s+added\s+job 1")


def main():
    reason = browser.unavailable()
    if reason:
        print(f"skipped: {reason}", flush=True)
        sys.exit(77)
    program, *options = sys.argv[1:]
    options += ["--drain-timeout", "1s", "--workers", "3"]
    try:
        chromium = browser.start()
    except browser.WebDriverError as error:
        print(f"skipped: chromium does not start here: {error}", flush=True)
        sys.exit(77)
    with chromium, RotaHttp(program, *options) as server:
        run_tests(globals(), chromium, server)


if __name__ == "__main__":
    main()
