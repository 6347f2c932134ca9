#!/usr/bin/env python3
"""What rota-http knows and tells of each request: access logs, request ids, traces.

usage: tracking_test.py <rota-http>
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from http2_frames import Http2
from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp

COMBINED = re.compile(
    r'127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] '
    r'"([^"\\]|\\.)*" \d{3} \d+ "([^"\\]|\\.)*" "([^"\\]|\\.)*"')
TRACE = "0af7651916cd43dd8448eb211c80319c"


class Logged:
    """A server with a log in a file."""

    def __init__(self, program, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="rota-test-")
        self.path = Path(self.folder.name) / "access.log"
        self.server = RotaHttp(program, "--access-log-file", self.path, *options)

    def __enter__(self):
        return self.server, self

    def __exit__(self, *error):
        self.server.__exit__(*error)
        self.folder.cleanup()

    def lines(self, count, path=None):
        """Once there are so many."""
        def there():
            text = (path or self.path).read_text() if (path or self.path).exists() else ""
            found = text.splitlines()
            return found if len(found) >= count else None
        return eventually(there, f"{count} lines in the access log")


def test_a_pipe_that_nothing_reads(program):
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        path = Path(folder) / "pipe"
        os.mkfifo(path)
        run = subprocess.run([program, "--port", "0", "--store", "memory", "--access-log-file",
                              path],
                             capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        equal(run.returncode, 1)
        check(f"rota-http: cannot open access log {path}" in run.stderr, run.stderr)


def test_clients_of_ipv4_on_a_listener_for_both(program):
    with Logged(program, "--host", "*") as (server, log):
        server.get("/plaintext")
        check(log.lines(1)[0].startswith("127.0.0.1 - - ["), log.lines(1))


def test_combined(program):
    with Logged(program) as (server, log):
        agent = 'x" 200 \\ \t[\x7f\xe4'
        server.get("/plaintext", headers={"User-Agent": agent, "Referer": "http://a/"})
        server.get("/none?a=%22")
        with server.connect() as client:
            client.sendall(b"GET /\r\n\r\n")
            client.recv(4096)
        lines = log.lines(3)
        for line in lines:
            check(COMBINED.fullmatch(line), line)
        check(lines[0].endswith(r' "http://a/" "x\" 200 \\ \x09[\x7f\xe4"')
              or "plaintext" in lines[0], lines[0])
        check('"GET /none?a=%22 HTTP/1.1" 404 ' in lines[1], lines[1])
        check(" 400 " in lines[2], lines[2])


def test_json(program):
    with Logged(program, "--access-log-format", "json", "--request-id", "--trace") as (server, log):
        server.get("/hello/ann?x=1", headers={
            "User-Agent": 'a"b\\', "X-Request-Id": "from-client",
            "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
        server.get("/none")
        first, second = (json.loads(line) for line in log.lines(2))
        equal([first[name] for name in ("method", "target", "status", "route", "user_agent",
                                        "request_id", "trace_id", "scheme", "protocol")],
              ["GET", "/hello/ann?x=1", 200, "/hello/{name}", 'a"b\\', "from-client", TRACE,
               "http", "HTTP/1.1"])
        check(first["span_id"] != "b7ad6b7169203331", first)
        check(first["bytes"] > 0 and first["duration_us"] >= 0, first)
        check("route" not in second and second["trace_id"] != TRACE, second)


def test_bytes_are_those_of_the_content(program):
    with Logged(program, "--access-log-format", "json") as (server, log):
        asked = []
        for path in ("/plaintext", "/bytes/200000", "/stream?lines=3", "/none"):
            for method in ("GET", "HEAD"):
                for coding in ("identity", "gzip"):
                    answer = server.request(method, path, headers={"Accept-Encoding": coding})
                    asked.append((path, method, len(answer.body)))
        equal(asked[0][2], 13)
        with server.connect() as raw:
            client = Http2(raw)
            for path, method, size in tuple(asked):
                # Frames of our own have no Accept-Encoding.
                if (path, method, size) == ("/plaintext", "GET", 13) or method == "HEAD":
                    asked.append((path, method, len(client.get(path, method=method)[1])))
            asked.append(("/bytes/60000", "GET", len(client.get("/bytes/60000")[1])))
            asked.append(("/stream?lines=3", "GET", len(client.get("/stream?lines=3")[1])))
        entries = [json.loads(line) for line in log.lines(len(asked))]
        equal([(e["target"], e["method"], e["bytes"]) for e in entries], asked)


def test_request_ids(program):
    with RotaHttp(program, "--request-id") as server:
        for path in ("/plaintext", "/none", "/v1/queues", "/stream?lines=1"):
            equal(server.get(path, headers={"X-Request-Id": "a-1"}).headers["X-Request-Id"], "a-1")
            new = server.get(path, headers={"X-Request-Id": "a 1"}).headers["X-Request-Id"]
            check(re.fullmatch("[0-9a-f]{32}", new), new)
    with RotaHttp(program) as server:
        equal(server.get("/plaintext", headers={"X-Request-Id": "a"}).headers["X-Request-Id"], None)


def test_the_log_is_opened_anew(program):
    with Logged(program) as (server, log):
        server.get("/hello/1")
        log.lines(1)
        old = log.path.with_suffix(".1")
        log.path.rename(old)
        server.get("/hello/2")
        log.lines(2, old)
        server.signal(signal.SIGUSR1)
        eventually(log.path.exists, "a new file")
        server.get("/hello/3")
        check("/hello/3" in log.lines(1)[0], log.lines(1))
        equal(len(log.lines(2, old)), 2)


def test_a_log_that_nothing_reads_holds_nothing_up(program):
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        pipe = Path(folder) / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            with RotaHttp(program, "--access-log-file", pipe) as server:
                one = server.session()
                for _ in range(2_000):  # far more than a pipe holds
                    equal(server.get("/plaintext", over=one).status, 200)
                one.close()
                os.set_blocking(reader, True)
                count = 0
                while count < 2_000:
                    count += os.read(reader, 1 << 16).count(b"\n")
                equal(count, 2_000)
        finally:
            os.close(reader)


def test_a_log_that_cannot_be(program):
    run = subprocess.run([program, "--port", "0", "--store", "memory", "--access-log-file",
                          "/none/such/log"],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    equal(run.returncode, 1, run.stderr)
    check("/none/such/log" in run.stderr, run.stderr)


if __name__ == "__main__":
    run_tests(globals(), *sys.argv[1:])
