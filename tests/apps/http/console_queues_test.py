#!/usr/bin/env python3
"""What the console says of the queue that is open, whatever becomes of it or of others meanwhile:
in a headless Chromium. Skipped (exit code 77) where there is none.

usage: console_queues_test.py <rota-http> [options of rota-http...]
"""

import json
import sys

import browser
from console_test import CONFIRM, check_log, let_die, open_console
from programs import check, equal, run_tests
from rota_http import RotaHttp

# Keeps the answers to what is changed, and tells how many there are, until they are let go, as they
# are or as refusals; what the page makes of them is then done before another command is.
HOLD = """
const ask = window.fetch;
const held = document.createElement("p");
held.id = "held";
document.body.append(held);
const waiting = [];
window.fetch = async (path, options) => {
  const answer = await ask(path, options);
  if (options.method === undefined || options.method === "GET") return answer;
  const text = await answer.text();
  const refuse = await new Promise((done) => {
    held.textContent = waiting.push(done);
  });
  const status = refuse ? 503 : answer.status;
  return { ok: status < 400, status, headers: answer.headers, text: async () => text };
};
window.letGo = (refuse) => waiting.forEach((done) => done(refuse));
"""
# What is read of a queue is refused.
REFUSE_READING = """
const ask = window.fetch;
window.fetch = (path, options) => options.method === "GET"
  ? Promise.resolve(new Response('{"detail": "not now"}', {status: 503})) : ask(path, options);
"""
CLICK_ALL = """
for (const id of ["add-form", "settings-form"]) document.getElementById(id).requestSubmit();
for (const button of document.querySelectorAll(
    "#pause, #purge, #dead-retry, #dead-delete, #taken-rows button, #job-rows button"))
  if (!button.textContent.startsWith("Cop")) button.click();
"""
SAID = """
return [...document.querySelectorAll("#queue .done, #queue .problem")].map((e) => e.innerText);
"""
SETTINGS = """
return ["attempts", "jobs", "lease"].map((name) => document.getElementById(`set-${name}`).value);
"""


def test_ids_that_are_used_again(chromium, server):
    server.post_json("/v1/queues/again/jobs", {"payload": 1.25})
    open_console(chromium, server, "again")
    chromium.wait_text("#job-rows", r"^1\s[^]*1\.25")
    server.request("DELETE", "/v1/queues/again")
    server.post_json("/v1/queues/again/jobs", {"payload": 2.5})
    chromium.wait_text("#job-rows", r"^1\s[^]*2\.5")
    chromium.cdp("Browser.grantPermissions",
                 permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    chromium.click("#job-rows button")
    chromium.wait_text("#job-rows button", "^Copied$")
    equal(chromium.run("return navigator.clipboard.readText()"), "2.5")
    check_log(chromium)


def test_what_becomes_of_another_queue(chromium, server):
    for refuse in (False, True):
        name = f"first-{refuse}"
        let_die(server, name, 2, of=4)
        open_console(chromium, server, name)
        chromium.click("#take-submit")
        chromium.wait_text("#taken-rows", r"^3\s")
        chromium.click("#states label:last-child")
        chromium.wait_text("#job-rows", r"^1\s[^]*Retry[^]*2\s[^]*Retry")
        chromium.click("summary")
        chromium.wait_text("#settings-fields:enabled", "Set")
        chromium.run("document.getElementById('set-attempts').value = 7;"
                     "document.getElementById('take-wait').value = 60")
        chromium.run(CONFIRM, True)
        chromium.run(HOLD)
        chromium.run(CLICK_ALL)
        # Adding, settings, pausing, the purge, both of all dead, three of what is taken, two of
        # each of the two that are dead.
        chromium.wait_text("#held", "^13$")
        equal(server.get(f"/v1/queues/{name}").json()["settings"]["max_attempts"], 7)
        chromium.run("location.hash = '#queue=second'")
        chromium.wait_text("#queue-name", "^second$")
        chromium.wait_text("#counts", r"Queued\s+0\s")
        said = chromium.run(SAID)
        equal("".join(said), "")
        chromium.run("letGo(arguments[0])", refuse)
        equal(chromium.run(SAID), said)
        equal((chromium.text("#queue-name"), chromium.text("#taken-rows")), ("second", ""))
        check_log(chromium)


def test_settings_are_of_the_queue_that_is_open(chromium, server):
    server.request("PUT", "/v1/queues/set-a", json.dumps({"max_attempts": 3, "max_jobs": 10}))
    server.request("PUT", "/v1/queues/set-b", json.dumps({"lease_ms": 1500}))
    open_console(chromium, server, "set-a")
    chromium.click("summary")
    chromium.wait_text("#settings-fields:enabled", "Set")
    equal(chromium.run(SETTINGS), ["3", "10", ""])
    chromium.run("location.hash = '#queue=set-b'")
    chromium.wait_text("#queue-name", "^set-b$")
    chromium.wait_text("#settings-fields:enabled", "Set")
    equal(chromium.run(SETTINGS), ["", "", "1.5"])
    chromium.run(REFUSE_READING)
    chromium.run("location.hash = '#queue=set-a'")
    chromium.wait_text("#set-problem", r"^Refused: not now \(503\)\.$")
    check(chromium.run("return document.getElementById('settings-fields').disabled"),
          "what is of another queue cannot be set")
    check_log(chromium)


def set_width(chromium, width):
    chromium.cdp("Emulation.setDeviceMetricsOverride",
                 width=width, height=800, deviceScaleFactor=1, mobile=False)


def test_what_is_taken_fits_a_narrow_window(chromium, server):
    server.post_json("/v1/queues/narrow/jobs", {"payload": "x"})
    open_console(chromium, server, "narrow")
    chromium.click("#take-submit")
    chromium.wait_text("#taken-rows", "Acknowledge")
    for width in (320, 360):
        set_width(chromium, width)
        check(chromium.run("return document.documentElement.scrollWidth <= innerWidth"), width)
    chromium.cdp("Emulation.clearDeviceMetricsOverride")
    check_log(chromium)


def test_what_was_done_is_not_said_beside_what_was_refused(chromium, server):
    server.post_json("/v1/queues/said/jobs", {"payload": "x"})
    open_console(chromium, server, "said")
    for button, broken in (("Retry", "'retry-error').value = 'x'.repeat(5000)"),
                           ("Extend", "'take-lease').value = '1e9'")):
        server.post_json("/v1/queues/said/jobs", {"payload": button})
        chromium.run("document.getElementById('take-lease').value = ''")
        chromium.click("#take-submit")
        chromium.wait_text("#take-done", "^Took 1 job.$")
        chromium.run(f"document.getElementById({broken}")
        chromium.run("[...document.querySelectorAll('#taken-rows button')]"
                     ".find((e) => e.textContent === arguments[0]).click()", button)
        chromium.wait_text("#take-problem", "^Refused")
        equal(chromium.text("#take-done"), "")
    check_log(chromium)


def test_what_is_not_of_today_has_its_day(chromium, server):
    server.post_json("/v1/queues/later/jobs", {"payload": 1, "delay_ms": 30 * 86_400_000})
    open_console(chromium, server, "later")
    chromium.click("#states label:nth-child(4)")
    chromium.wait_text("#job-rows", r"added \d\d:\d\d:\d\d, "
                                    r"due \d+ \w+ 20\d\d \d\d:\d\d:\d\d(\s|,)")
    check_log(chromium)


def test_words_of_the_page_are_told_from_data(chromium, server):
    lines = ({"payload": "x"}, {"payload": "y", "key": "= payload"},
             {"payload": "z" * 3000, "key": "k" * 512}, {"payload": "z" * 1999 + "…"})
    for line in lines:
        server.post_json("/v1/queues/words/jobs", line)
    open_console(chromium, server, "words")
    for rows in ("job-rows", "taken-rows"):
        chromium.wait_text(f"#{rows}", r"^1\s[^]*\s4\s")
        found = chromium.run("return [...document.querySelectorAll(`#${arguments[0]} tr`)].map("
                             "(e) => ['Key', 'Payload'].map((name) => [...e.querySelectorAll("
                             "`[data-label=${name}] .muted`)].map((e) => e.textContent).join()))",
                             rows)
        equal(found, [["= payload", ""], ["", ""], ["", "…"], ["= payload", ""]], rows)
        chromium.run("document.getElementById('take-max').value = 10")
        chromium.click("#take-submit")
    check_log(chromium)


def test_figures_at_the_edge(chromium, server):
    chromium.open(f"http://127.0.0.1:{server.port}/plaintext")
    found = chromium.run("""
      return import("/console/dom.js").then(({ short, bytes, milliseconds, microseconds }) => [
        short(9999), short(10000), short(999949), short(999950), short(1e6),
        bytes(999), bytes(999.7), bytes(999949), bytes(999950), bytes(1e6),
        milliseconds(999.4), milliseconds(999.7), milliseconds(9970), milliseconds(119700),
        microseconds(999), microseconds(99960)]);
    """)
    equal(found, ["9,999", "10.0k", "999.9k", "1.0M", "1.0M",
                  "999 B", "1.0 kB", "999.9 kB", "1.0 MB", "1.0 MB",
                  "999 ms", "1.0 s", "10 s", "2 min", "999 µs", "100 ms"])


def test_what_was_refused_stays_while_the_queue_changes(chromium, server):
    server.request("PUT", "/v1/queues/busy", json.dumps({"max_attempts": 1}))
    server.post_json("/v1/queues/busy/jobs", {"payload": "x"})
    job = server.post_json("/v1/queues/busy/take", {}).json()["jobs"][0]
    server.post_json("/v1/queues/busy/ack", {"retries": [job["lease_id"]]})
    server.post_json("/v1/queues/busy/jobs", {"payload": "x"})
    open_console(chromium, server, "busy")
    chromium.click("#states label:last-child")
    chromium.wait_text("#job-rows", r"^1\s+= payload\s+x\s")
    chromium.click("#job-rows button")
    chromium.wait_text("#queue-problem", r"^Refused: .* \(job 2, queued\)\.$")
    refused = chromium.text("#queue-problem")
    server.post_json("/v1/queues/busy/jobs", {"payload": "y"})
    chromium.wait_text("#counts", r"Queued\s+2\s")
    equal(chromium.text("#queue-problem"), refused)
    # What cannot be read is said in a place of its own, until it can.
    chromium.run(f"window.before = window.fetch; {REFUSE_READING}")
    server.post_json("/v1/queues/busy/jobs", {"payload": "z"})
    chromium.wait_text("#queue-stale",
                       r"^As it was at \d\d:\d\d:\d\d\. Refused: not now \(503\)\.$")
    equal(chromium.text("#queue-problem"), refused)
    chromium.run("window.fetch = window.before")
    chromium.click("#states label:nth-child(2)")
    chromium.wait_text("#counts", r"Queued\s+3\s")
    equal(chromium.text("#queue-stale"), "")
    equal(chromium.text("#queue-problem"), refused)
    check_log(chromium)


def main():
    program, *options = sys.argv[1:]
    options += ["--drain-timeout", "1s"]
    with browser.start_or_skip() as chromium, RotaHttp(program, *options) as server:
        run_tests(globals(), chromium, server)


if __name__ == "__main__":
    main()
