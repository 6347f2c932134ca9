#!/usr/bin/env python3
"""The console as people use it: in a headless Chromium. Skipped (exit code 77) where there is none.

usage: console_test.py <rota-http> [options of rota-http...]
"""

import json
import random
import re
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
const withMore = async (answer) =>
  new Response(JSON.stringify({...await answer.json(), next_cursor: "z"}), answer);
window.fetch = (path, options) => String(path).includes("debug/live")
  ? Promise.resolve(new Response("not for you", {status: 403}))
  : path === "v1/queues" ? ask(path, options).then(withMore) : ask(path, options);
"""
# How long each request would be waited for.
PATIENCE = """
const limit = AbortSignal.timeout;
window.patience = [];
AbortSignal.timeout = (ms) => { window.patience.push(ms); return limit.call(AbortSignal, ms); };
"""
SHOWN = """
return [...document.querySelectorAll("#job-rows .payload > :first-child")]
  .map((e) => e.textContent);
"""
# Answers what is asked, and keeps the question where it can be read.
CONFIRM = """
const [answer] = arguments;
document.getElementById("asked")?.remove();
const asked = document.createElement("p");
asked.id = "asked";
document.body.append(asked);
window.confirm = (text) => { asked.textContent = text; return answer; };
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
    chromium.wait_text("#job-rows", r"failed \d\d:\d\d:\d\d, error: <img src=x")
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


def test_payloads_as_they_are(chromium, server):
    payloads = ('{"n":12345678901234567890,"x":1.10,"a":[1.0,2e5,"\\u00e9]"]}', "0.10", "-0", "[]",
                '{"b":1,"a":{"}":[]}}', "null", '"12"', '"a\\nb"',
                '{"a!":1,"a":2}', '{"\\ud83d\\ude00":1,"\\uffee":2}')
    for payload in payloads:
        answer = server.request("POST", "/v1/queues/exact/jobs", '{"payload":%s}' % payload)
        equal(answer.status, 201)
    written = re.findall(rb'"payload":(.*?),"state"', server.get("/v1/queues/exact/jobs").body)
    equal(len(written), len(payloads))
    texts = [text.decode() for text in written]
    texts[6:8] = ["12", "a\nb"]  # texts are shown as texts
    open_console(chromium, server, "exact")
    chromium.wait_text("#job-rows", "12345678901234567890")
    equal(chromium.run(SHOWN), texts)
    chromium.wait_text("#job-rows tr:nth-child(7) .payload", r"^12\s+text$")
    chromium.cdp("Browser.grantPermissions",
                 permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    for row in (0, 6):
        chromium.click(f"#job-rows tr:nth-child({row + 1}) button")
        chromium.wait_text(f"#job-rows tr:nth-child({row + 1}) button", "^Copied$")
        equal(chromium.run("return navigator.clipboard.readText()"), texts[row])
    # Keys that say nothing new, though members are in another order.
    keys = chromium.run("return [...document.querySelectorAll('#job-rows td:nth-child(2)')]"
                        ".map((e) => e.innerText)")
    equal(keys, ["= payload"] * len(payloads))
    chromium.run("document.getElementById('take-max').value = 10")
    chromium.click("#take-submit")
    chromium.wait_text("#taken-rows", "12345678901234567890")
    equal(chromium.run(SHOWN.replace("job-rows", "taken-rows")), texts)
    check_log(chromium)


def test_a_key_made_of_much_is_cut(chromium, server):
    server.post_json("/v1/queues/much/jobs", {"payload": ["x" * 50_000]})
    open_console(chromium, server, "much")
    chromium.wait_text("#job-rows", r"^1\s")
    cells = chromium.run("return [...document.querySelectorAll('#job-rows td')]"
                         ".map((e) => e.innerText)")
    check(cells[1].startswith('["xxx') and len(cells[1]) < 600, len(cells[1]))
    check_log(chromium)


def test_another_queue_ends_waiting(chromium, server):
    open_console(chromium, server, "nothing")
    chromium.run("document.getElementById('take-wait').value = 60;"
                 "document.getElementById('take-max').value = 1")
    chromium.click("#take-submit")
    chromium.wait_text("#take-submit", "^Wait no longer$")
    chromium.run("location.hash = '#queue=something'")
    chromium.wait_text("#queue-name", "^something$")
    chromium.wait_text("#take-submit", "^Take$")
    server.post_json("/v1/queues/something/jobs", {"payload": 1})
    chromium.click("#take-submit")
    chromium.wait_text("#take-done", "^Took 1 job.$")
    check_log(chromium)


def test_names_that_are_none(chromium, server):
    for name in (".", "..", "a%20b"):
        chromium.open("about:blank")
        chromium.open(f"http://127.0.0.1:{server.port}/#queue={name}")
        chromium.wait_text("#state-text", "^live$")
        check(chromium.run("return document.getElementById('queue').hidden"), f"{name} is not open")
    good = chromium.run("const field = document.getElementById('open-name');"
                        "return ['.', '..', 'a b', '...', '.a', 'a.', 'mail-2_x'].filter((name) =>"
                        "{ field.value = name; return field.checkValidity(); })")
    equal(good, ["...", ".a", "a.", "mail-2_x"])
    check_log(chromium)


def let_die(server, name, count, of):
    """Adds jobs to a queue, and lets the first of them die."""
    path = f"/v1/queues/{name}"
    server.request("PUT", path, json.dumps({"max_attempts": 1}))
    for i in range(of):
        server.post_json(f"{path}/jobs", {"payload": i})
    jobs = server.post_json(f"{path}/take", {"max": count}).json()["jobs"]
    server.post_json(f"{path}/ack", {"retries": [job["lease_id"] for job in jobs]})


def test_the_dead_in_bulk_and_a_purge(chromium, server):
    let_die(server, "bulk", 12, of=15)
    open_console(chromium, server, "bulk")
    chromium.run(PATIENCE)
    chromium.wait_text("#queue-list", r"bulk\s+12 dead")
    equal(chromium.text("#dead-all"), "")
    chromium.click("#states label:last-child")
    chromium.wait_text("#dead-all", "Retry all dead")
    for button, question, done in (
            ("#dead-retry", "all 12 jobs .* again", "^Queued 12 jobs again.$"),
            ("#purge", r"15 jobs of \"bulk\" \(15 queued\)\?$", "^Removed 15 jobs.$")):
        chromium.run(CONFIRM, False)
        chromium.click(button)
        chromium.wait_text("#asked", question)
        said = "#dead-done" if button == "#dead-retry" else "#queue-done"
        equal(chromium.text(said), "")
        chromium.run(CONFIRM, True)
        chromium.click(button)
        chromium.wait_text(said, done)
        check(max(chromium.run("return window.patience.splice(0)")) > 600_000, "of many it is long")
    counts = server.get("/v1/queues/bulk").json()["counts"]
    equal((counts["dead"], counts["queued"]), (0, 0))
    let_die(server, "bulk", 1, of=3)
    server.post_json("/v1/queues/bulk/take", {})
    chromium.wait_text("#dead-all", "Delete all dead")
    chromium.click("#purge")
    chromium.wait_text("#asked", r"2 jobs .*1 queued, 1 dead\)\? The 1 in progress stay.$")
    chromium.wait_text("#queue-done", "^Removed 2 jobs.$")
    chromium.click("#purge")
    chromium.wait_text("#queue-done", "^There is nothing to remove. The 1 in progress stay.$")
    check_log(chromium)


def test_the_dead_are_deleted(chromium, server):
    let_die(server, "gone", 3, of=3)
    open_console(chromium, server, "gone")
    chromium.click("#states label:last-child")
    chromium.wait_text("#dead-all", "Delete all dead")
    chromium.run(CONFIRM, True)
    chromium.click("#dead-delete")
    chromium.wait_text("#asked", 'all 3 jobs of "gone" that are dead')
    chromium.wait_text("#dead-done", "^Removed 3 jobs.$")
    chromium.wait_text("#jobs-none", "^No job is dead.$")


def test_queues_in_trouble_come_first(chromium, server):
    for name in ("a-idle", "b-busy", "c-paused"):
        server.post_json(f"/v1/queues/{name}/jobs", {"payload": 1})
    idle = server.post_json("/v1/queues/a-idle/take", {}).json()["jobs"][0]
    server.post_json("/v1/queues/a-idle/ack", {"acks": [idle["lease_id"]]})
    server.request("POST", "/v1/queues/c-paused/pause")
    chromium.open("about:blank")
    chromium.open(f"http://127.0.0.1:{server.port}/")
    chromium.wait_text("#queue-list", r"c-paused\s+paused\s+1 queued\s[^]*"
                       r"b-busy\s+1 queued\s+oldest [^]*a-idle\s+0 queued\s+none waits")
    order = chromium.run("return [...document.querySelectorAll('main > section, main > h2')]"
                         ".map((e) => e.id || e.className)")
    equal(order[:3], ["queues", "server-title", "tiles"])
    # A trend grows while the page is open, of the open queue in large.
    chromium.click("#queue-list [data-queue='b-busy']")
    chromium.wait_text("#trend-queued-note", "^1, at most 1$")
    for i in range(4):
        server.post_json("/v1/queues/b-busy/jobs", {"payload": f"more {i}"})
    chromium.wait_text("#trend-queued-note", "^5, at most 5$")
    check(chromium.run("return document.querySelector('#trend-queued .line').getAttribute('d')"),
          "the past is drawn")
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
    chromium.wait_text("#queue-none", "^More are not listed")
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
        chromium.wait_text("#queue-stale", r"^As it was at \d\d:\d\d:\d\d: the server does not")
        chromium.wait_text("#counts", r"Queued\s+1\s")
    with RotaHttp(program, *options, port=port) as second:
        chromium.wait_text("#state-text", "^live$")
        chromium.wait_text("#queue-stale", "^$")
        chromium.wait_text("#announce", "started anew")
        equal(chromium.text("#banner"), "")
        chromium.wait_text("#jobs-none", "^No job is queued.$")  # they lived in memory
        # The events were asked for from behind the last one, which this server does not know.
        chromium.wait_text("#events", "events have been missed")
        second.post_json("/v1/queues/mail/jobs", {"payload": "after"})
        chromium.wait_text("#job-rows", "after")
        chromium.wait_text("#events", r"^\d\d:\d\d:\d\d\s+added\s+job 1")


def test_another_queue_while_the_server_is_gone(chromium, server):
    port = free_port()
    program, *options = server.started_as
    with RotaHttp(program, *options, port=port) as first:
        first.post_json("/v1/queues/mail/jobs", {"payload": "before"})
        open_console(chromium, first, "mail")
        chromium.wait_text("#counts", r"Queued\s+1\s")
        chromium.wait_text("#job-rows", "before")
        first.signal(signal.SIGKILL)
        first.wait()
        chromium.wait_text("#banner", "No connection")
        chromium.run("location.hash = '#queue=another'")
        chromium.wait_text("#queue-name", "^another$")
        chromium.wait_text("#queue-stale", "^Nothing is known of this queue yet: the server")
        equal(chromium.text("#counts") + chromium.text("#job-rows"), "")
        check(chromium.run("return document.getElementById('purge').disabled"), "nothing to purge")
    with RotaHttp(program, *options, port=port):
        chromium.wait_text("#counts", r"Queued\s+0\s")
        equal(chromium.text("#queue-stale"), "")


def main():
    program, *options = sys.argv[1:]
    options += ["--drain-timeout", "1s", "--workers", "3"]
    with browser.start_or_skip() as chromium, RotaHttp(program, *options) as server:
        run_tests(globals(), chromium, server)


if __name__ == "__main__":
    main()
