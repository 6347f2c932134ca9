#!/usr/bin/env python3
"""rota-own-queue when its PostgreSQL goes while it acknowledges: nothing is lost or done twice, and
it is told.

usage: outage_test.py <rota-own-queue>      exits 77 where PostgreSQL is not installed
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "jobs"))

from own_queue_test import OwnQueue  # noqa: E402
from postgres import postgres_or_skip  # noqa: E402
from programs import check, equal, eventually, run_tests  # noqa: E402
from relay import ACKNOWLEDGE, COMMIT, Relay  # noqa: E402

SETTINGS = {"lease_ms": 1_000}  # so that what is lost comes back soon


class Paused:
    """The program with one job that it does not begin before resume()."""

    def __init__(self, server, name):
        self.server = server
        self.path = "/v1/queues/greetings"
        self.ask("PUT", "", {**SETTINGS, "paused": True})
        server.add(name)

    def ask(self, method, path, value=None):
        status, text = self.server.request(method, self.path + path, value)
        equal(status, 200, text)

    def resume(self):
        self.ask("POST", "/resume")

    def completed(self, count):
        def done():
            status, text = self.server.request("GET", self.path)
            return status == 200 and f'"completed":{count},' in text and '"in_progress":0,' in text
        eventually(done, f"{count} completed")

    def greetings(self):
        return self.server.output().count("Hello, ")


def with_relay(test, program, server, database):
    server.create(database)
    relay = Relay(server)
    try:
        relay.open()
        with OwnQueue(program, relay.url(database)) as app:
            test(relay, app)
    finally:
        relay.close()


def cut_commit(relay, app, name, pass_on):
    """Its acknowledgement is asked for, and the answer does not come."""
    paused = Paused(app, name)
    relay.pass_on = pass_on
    relay.after, relay.cut = ACKNOWLEDGE, COMMIT
    paused.resume()
    app.wait_for("rota-own-queue: the store: it is not known whether")
    equal(relay.cut, None, "it was cut")
    return paused


def test_an_acknowledgement_that_was_done_and_not_answered(program, server):
    def test(relay, app):
        paused = cut_commit(relay, app, "ann", True)
        paused.completed(1)
        app.add("bob")
        app.wait_for(r"Hello, bob! \(attempt 1\)")
        paused.completed(2)
        equal(paused.greetings(), 2)
    with_relay(test, program, server, "done")


def test_an_acknowledgement_that_was_not_done(program, server):
    def test(relay, app):
        paused = cut_commit(relay, app, "ann", False)
        app.wait_for(r"Hello, ann! \(attempt 2\)")  # its lease has ended
        paused.completed(1)
        equal(paused.greetings(), 2)
    with_relay(test, program, server, "undone")


def test_a_connection_that_breaks_before_is_not_noticed(program, server):
    def test(relay, app):
        paused = Paused(app, "ann")
        relay.cut = ACKNOWLEDGE
        paused.resume()
        paused.completed(1)
        equal(relay.cut, None, "it was cut")
        equal(paused.greetings(), 1)
        check("the store:" not in app.output(), app.output())
    with_relay(test, program, server, "early")


def test_who_waits_over_an_outage_gets_what_comes_after_it(program, server):
    with OwnQueue(program, server.create("gone")) as app:
        paused = Paused(app, "ann")
        paused.resume()
        paused.completed(1)
        server.stop()
        equal(app.request("POST", "/v1/queues/greetings/jobs", {"payload": "nobody"})[0], 503)
        server.start()
        eventually(lambda: app.request("POST", "/v1/queues/greetings/jobs",
                                       {"payload": "bob"})[0] in (201, 409), "the store is there")
        app.wait_for(r"Hello, bob! \(attempt 1\)")
        paused.completed(2)


if __name__ == "__main__":
    with postgres_or_skip() as postgres:
        run_tests(globals(), sys.argv[1], postgres)
