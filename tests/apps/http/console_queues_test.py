#!/usr/bin/env python3
"""What the console says of the queue that is open, whatever becomes of it or of others meanwhile:
in a headless Chromium. Skipped (exit code 77) where there is none.

usage: console_queues_test.py <rota-http> [options of rota-http...]
"""

import sys

import browser
from console_test import check_log, open_console
from programs import equal, run_tests
from rota_http import RotaHttp


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


def main():
    reason = browser.unavailable()
    if reason:
        print(f"skipped: {reason}", flush=True)
        sys.exit(77)
    program, *options = sys.argv[1:]
    try:
        chromium = browser.start()
    except browser.WebDriverError as error:
        print(f"skipped: chromium does not start here: {error}", flush=True)
        sys.exit(77)
    with chromium, RotaHttp(program, *options, "--drain-timeout", "1s") as server:
        run_tests(globals(), chromium, server)


if __name__ == "__main__":
    main()
