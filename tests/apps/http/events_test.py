#!/usr/bin/env python3
"""/events: what it answers, and how a browser and curl follow it, also when connections are cut.

usage: events_test.py <rota-http> [options of rota-http...]
"""

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import threading

import browser
from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp

# Follows events until there are so many, and returns their ids and how often it was connected.
FOLLOW = """
const [path, count, done] = arguments;
const events = new EventSource(path);
const ids = [];
let opened = 0;
events.onopen = () => { ++opened; };
events.onmessage = (event) => {
  ids.push([event.lastEventId, event.data]);
  if (ids.length < count) return;
  events.close();
  done([ids, opened]);
};
"""


class CuttingProxy:
    """Passes bytes on, and resets a connection whose answer has come so far."""

    def __init__(self, port, answer_bytes_max):
        self.port_behind = port
        self.answer_bytes_max = answer_bytes_max
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port_behind)) as server:
            with contextlib.suppress(OSError):
                request = client.recv(65536)
                server.sendall(request)
                passed = 0
                while piece := server.recv(64):
                    client.sendall(piece)
                    passed += len(piece)
                    if request.startswith(b"GET /events") and passed > self.answer_bytes_max:
                        self.cuts += 1
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          b"\1\0\0\0\0\0\0\0")
                        return

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.listener.close()


def blocks(answer):
    """The fields of each event, retry included."""
    return [dict(line.split(": ", 1) for line in block.split("\n"))
            for block in answer.body.decode().split("\n\n") if block]


def test_answers(server):
    answer = server.get("/events?interval_ms=1&count=3")
    equal((answer.status, answer.headers["Content-Type"], answer.headers["Cache-Control"]),
          (200, "text/event-stream", "no-store"))
    equal(blocks(answer), [{"retry": "1000"}] + [
        {"id": str(n), "data": f"event {n}"} for n in (1, 2, 3)])
    equal(len(blocks(server.get("/events?interval_ms=1"))), 11)
    equal(blocks(server.get("/events?count=0")), [{"retry": "1000"}])
    equal(server.request("HEAD", "/events").body, b"")
    equal(server.request("POST", "/events").status, 405)


def test_it_goes_on_behind_the_last_id(server):
    def first_id(last):
        answer = server.get("/events?count=1", headers={"Last-Event-ID": last})
        return blocks(answer)[1]["id"]
    equal(first_id("41"), "42")
    last = 2**62 - 1_000_000
    equal(first_id(str(last)), str(last + 1))
    for other in (str(last + 1), "x", "-1", "1.5", "0x10", "99999999999999999999", "1" * 2000):
        equal(first_id(other), "1", other)


def test_bad_parameters(server):
    for query in ("count=", "count=x", "count=-1", "count=1000001", "count=1e3", "count=%00",
                  "interval_ms=x", "interval_ms=-1", "interval_ms=3600001", "interval_ms=1.5",
                  "count=99999999999999999999999&interval_ms=1"):
        equal(server.get(f"/events?{query}").status, 400, query)
    check(b"expected 0 to 1000000" in server.get("/events?count=-1").body, "the bounds")


def test_they_come_one_by_one(server):
    with server.connect() as client:
        client.sendall(b"GET /events?interval_ms=3600000&count=2 HTTP/1.1\r\nHost: x\r\n\r\n")
        data = b""
        while b"data: event 1\n\n" not in data:
            data += client.recv(65536)
        check(b"event 2" not in data, data)
    eventually(lambda: server.connections() == 1, "it is noticed that the client has gone")


def test_a_slow_reader_holds_its_source_back(server):
    with server.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /events?interval_ms=0&count=1000000 HTTP/1.0\r\nHost: x\r\n\r\n")
        eventually(lambda: server.blocked("stream::flush"), "it waits for its client")
    eventually(lambda: server.connections() == 1, "it has gone")


def test_a_drain_ends_them(server):
    with RotaHttp(*server.started_as, "--drain-timeout", "60s") as ending:
        with ending.connect() as client:
            client.sendall(b"GET /events?interval_ms=3600000&count=2 HTTP/1.1\r\nHost: x\r\n\r\n")
            data = b""
            while b"event 1" not in data:
                data += client.recv(65536)
            ending.signal(signal.SIGTERM)
            while piece := client.recv(65536):
                data += piece
            check(data.endswith(b"\r\n0\r\n\r\n"), data)
        equal(ending.wait(), 0)


def test_curl(server):
    if shutil.which("curl") is None:
        return
    run = subprocess.run(["curl", "-sN", "-H", "Last-Event-ID: 8",
                          f"http://127.0.0.1:{server.port}/events?interval_ms=1&count=2"],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    equal(run.stdout, "retry: 1000\n\nid: 9\ndata: event 9\n\nid: 10\ndata: event 10\n\n")


def test_a_browser_comes_back_where_it_was(server):
    if browser.unavailable():
        print(browser.unavailable())
        return
    with CuttingProxy(server.port, 350) as proxy, browser.Browser() as window:
        window.open(f"http://127.0.0.1:{proxy.port}/healthz")
        ids, opened = window.call("POST", "/execute/async", {
            "script": FOLLOW, "args": ["/events?interval_ms=5&count=1000", 12]})
        equal(ids, [[str(n), f"event {n}"] for n in range(1, 13)])
        check(opened > 1 and proxy.cuts >= opened - 1, (opened, proxy.cuts))


if __name__ == "__main__":
    with RotaHttp(sys.argv[1], *sys.argv[2:]) as it:
        run_tests(globals(), it)
