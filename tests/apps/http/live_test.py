#!/usr/bin/env python3
"""/debug/live: what it says, who shares it, and how it ends.

usage: live_test.py <rota-http> [options of rota-http...]
"""

import http.client
import json
import signal
import sys

from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp


class Viewer:
    """Somebody who looks."""

    def __init__(self, server):
        self.session = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        self.session.request("GET", "/debug/live")
        self.answer = self.session.getresponse()
        equal(self.answer.status, 200)

    def event(self):
        """The next one: its type and its data; nothing at the end."""
        kind, data = "message", None
        while True:
            line = self.answer.readline().decode()
            if not line:
                return None
            if line == "\n":
                if data is not None:
                    return kind, data
                kind = "message"
            field, _, value = line.rstrip("\n").partition(": ")
            if field == "event":
                kind = value
            elif field == "data":
                data = json.loads(value)

    def look(self):
        kind, data = self.event()
        equal(kind, "message")
        return data

    def look_until(self, found):
        while True:
            data = self.look()
            if found(data):
                return data

    def leave(self):
        self.answer.close()
        self.session.close()


def sleepers(data):
    return [w for w in data["waits"] if (w["name"], w["what"]) == ("client", "sleep")]


def connections(data):
    return sum(worker["connections"] for worker in data["workers"])


def test_what_it_says(server):
    server.post_json("/v1/queues/live/jobs", {"payload": 1})
    viewer = Viewer(server)
    equal(viewer.answer.headers["Content-Type"], "text/event-stream")
    equal(viewer.answer.headers["Cache-Control"], "no-store")
    with server.connect() as client:
        client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
        # The parts are looked at one after the other, so that they need not agree at first.
        data = viewer.look_until(lambda d: sleepers(d) and connections(d) >= 2)
        check(data["in_flight"] >= 2 and data["connections"] >= 2, data)
        group = sleepers(data)[0]
        check(":" in group["where"] and group["count"] >= 1 and group["longest_ms"] >= 0, group)
    equal([q for q in data["queues"] if q["queue"] == "live"][0]["queued"], 1)
    viewer.leave()


def test_rates(server):
    viewer = Viewer(server)
    viewer.look()
    connection = server.session()
    moved = None
    while not moved:
        for _ in range(50):
            server.get("/plaintext", over=connection)
        rates = viewer.look()["rates"]
        moved = rates and rates["requests_per_s"] > 0 and rates["p99_us"] is not None
    check(rates["p50_us"] <= rates["p90_us"] <= rates["p99_us"], rates)
    connection.close()
    viewer.leave()


def test_all_share_one(server):
    viewers = [Viewer(server) for _ in range(5)]
    # Counters and times go on between two looks, so each is one of a kind.
    seen = [set() for _ in viewers]
    rounds = 0
    while not set.intersection(*seen):
        check(rounds < 50, "nothing is shared")
        rounds += 1
        for viewer, looks in zip(viewers, seen):
            looks.add(json.dumps(viewer.look()))
    for viewer in viewers:
        viewer.leave()


def test_who_leaves_leaves_nothing(server):
    before = server.routines()
    viewers = [Viewer(server) for _ in range(20)]
    for viewer in viewers:
        viewer.look()
        viewer.leave()
    eventually(lambda: server.routines() <= before, "they have gone")


def test_head(server):
    answer = server.request("HEAD", "/debug/live")
    equal((answer.status, answer.body), (200, b""))
    equal(server.request("POST", "/debug/live").status, 405)


def test_ends_when_the_server_drains(server):
    with RotaHttp(*server.started_as) as other:
        viewer = Viewer(other)
        viewer.look()
        other.signal(signal.SIGTERM)
        while (event := viewer.event())[0] == "message":
            pass
        equal(event[0], "drain")
        equal(viewer.event(), None)
        equal(other.wait(), 0)


if __name__ == "__main__":
    with RotaHttp(sys.argv[1], *sys.argv[2:], "--drain-timeout", "1s") as it:
        run_tests(globals(), it)
