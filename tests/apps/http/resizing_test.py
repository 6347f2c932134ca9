#!/usr/bin/env python3
"""`--workers MIN-MAX`: workers come with the load and go with it, and nobody's request is lost.

usage: resizing_test.py <rota-http> [options of rota-http...]
"""

import os
import sys
import threading

from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp

# What is costly takes ten times as long in a sanitizer: a few are as great a load.
SANITIZED = "ROTA_TEST_SANITIZED" in os.environ
SLEEPERS = 40 if SANITIZED else 200
FLOODS = 24
MOST = 8
HEAD_END = b"\r\n\r\n"
COSTLY = b"HEAD /debug/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n"
PIPELINED = 50 if SANITIZED else 500


def workers(server):
    """Those that take new clients."""
    listed = server.get("/debug/tasks").json()["workers"]
    return sum(1 for worker in listed if not worker["draining"])


class Flood(threading.Thread):
    """A client that has many costly requests there, and one more for each that is answered."""

    def __init__(self, server, until):
        super().__init__()
        self.server, self.until = server, until
        self.asked = self.answered = 0
        self.error = None
        self.start()

    def run(self):
        try:
            with self.server.connect() as client:
                client.sendall(COSTLY * PIPELINED)
                self.asked = PIPELINED
                rest = b""
                while self.answered < self.asked:
                    piece = client.recv(65536)
                    check(piece, "a connection ended")
                    heads, end, rest = (rest + piece).rpartition(HEAD_END)
                    count = (heads + end).count(HEAD_END)
                    equal((heads + end).count(b"HTTP/1.1 200 "), count)
                    self.answered += count
                    if not self.until.is_set():
                        client.sendall(COSTLY * count)
                        self.asked += count
                equal(rest, b"")
        except Exception as error:  # told by the test
            self.error = error


def sleeper(server):
    client = server.connect()
    client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client


def flood_until(server, peak):
    """Clients come one after another, for it is new ones that new workers get. Nothing of what they
    ask is lost."""
    over = threading.Event()
    floods = []

    def peaked():
        if len(floods) < FLOODS:
            floods.append(Flood(server, over))
            over.wait(0.2)  # the pace at which they come
        return workers(server) >= peak

    try:
        eventually(peaked, "workers come with the load")
    finally:
        over.set()
        for flood in floods:
            flood.join(PATIENCE_S)
    for flood in floods:
        check(flood.error is None, flood.error)
        equal(flood.answered, flood.asked)
    print(f"  {sum(flood.asked for flood in floods)} answers to {len(floods)}", flush=True)


def workers_follow_the_load(server, least, peaks):
    equal(workers(server), least)
    sleepers = [sleeper(server) for _ in range(SLEEPERS)]
    eventually(lambda: server.asleep(sleepers) == SLEEPERS, "all sleepers are at work")
    for peak in peaks:
        flood_until(server, peak)
        eventually(lambda: workers(server) == least, "workers go with the load")
    eventually(lambda: server.asleep(sleepers) == SLEEPERS, "none of them is lost")
    late = server.connect()  # served on a worker that is left
    late.sendall(b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    check(late.recv(4096).startswith(b"HTTP/1.1 200 "), "a new client is served")
    late.close()
    equal(workers(server), least)
    for client in sleepers:
        client.close()


def test_from_one_to_all_and_back(program, options):
    with resized(program, options, 1) as server:
        workers_follow_the_load(server, 1, (MOST, 2))  # it grows again after it has shrunk


def test_from_two_to_all_and_back(program, options):
    with resized(program, options, 2) as server:
        workers_follow_the_load(server, 2, (MOST,))


def resized(program, options, least):
    return RotaHttp(program, *options, "--workers", f"{least}-{MOST}", "--drain-timeout", "1s")


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
