#!/usr/bin/env python3
"""Thousands of idle connections: what each needs, and that it is a whole connection still.

usage: idle_test.py <rota-http> [options of rota-http...]
"""

import os
import re
import signal
import sys

from crowd_test import as_many_as_allowed, ask_all, connect
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp

SPARES_MAX = 64  # routines of a worker that wait for a client who speaks
BYTES_MAX = 1024  # of the program's memory for a connection that is idle
WEBSOCKET_BYTES_MAX = 5632  # with a handler that waits for a message
UPGRADE = (b"GET /ws/echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")


def open_connections(server):
    return int(re.search(r"^rota_http_connections (\d+)$",
                         server.get("/metrics").body.decode(), re.M)[1])


def routines(server):
    return server.get("/debug/tasks").json()["routines"]


def served(server, count):
    """So many connections that have been answered once and rest."""
    tasks = server.get("/debug/tasks").json()
    most = tasks["routines"] + SPARES_MAX * len(tasks["workers"])
    clients = connect(server.port, count)
    ask_all(clients)
    eventually(lambda: routines(server) <= most, "idle connections give up their routines")
    return clients


def close_all(clients):
    for client in clients:
        client.close()


def test_memory_of_an_idle_connection(program, options):
    if "ROTA_TEST_SANITIZED" in os.environ:
        return
    count = as_many_as_allowed() * 4 // 5
    with RotaHttp(program, "--max-connections", "12000", "--idle-timeout", "10m", *options) as it:
        for _ in range(2):  # all that is kept for the next crowd is there after that
            close_all(served(it, count))
            eventually(lambda: open_connections(it) == 1, "all connections are closed")
        few = served(it, count // 8)
        before = it.rss_bytes()
        many = served(it, count - len(few))

        def bytes_each():
            return (it.rss_bytes() - before) / len(many)

        # What they needed while they were awake goes back a second after.
        eventually(lambda: bytes_each() < BYTES_MAX, "an idle connection needs less than 1 KiB")
        print(f"{bytes_each():.0f} bytes each for {len(many)} idle connections", flush=True)
        ask_all(few + many)
        eventually(lambda: open_connections(it) == count + 1, "all are there still")
        close_all(few + many)


def websockets(server, count):
    """So many that have said something once. A few at a time: what many at once need for a moment
    leaves gaps in the memory, more or fewer by how fast the machine is."""
    clients = []
    while len(clients) < count:
        some = connect(server.port, min(20, count - len(clients)))
        for sent, answer in ((UPGRADE, b"HTTP/1.1 101 "), (b"\x81\x82\0\0\0\0hi", b"\x81\x02hi")):
            for client in some:
                client.sendall(sent)
            for client in some:
                got = client.recv(1000)
                check(got.startswith(answer), got)
        clients += some
    return clients


def test_memory_of_an_idle_websocket(program, options):
    if "ROTA_TEST_SANITIZED" in os.environ:
        return
    count = as_many_as_allowed() * 4 // 5
    with RotaHttp(program, "--max-connections", "12000", "--workers", "1", "--ping-after", "0",
                  *options) as it:
        few = websockets(it, count // 8)
        before = it.rss_bytes()
        many = websockets(it, count - len(few))
        bytes_each = (it.rss_bytes() - before) / len(many)
        print(f"{bytes_each:.0f} bytes each for {len(many)} idle WebSockets", flush=True)
        check(bytes_each < WEBSOCKET_BYTES_MAX, bytes_each)
        close_all(few + many)


def test_idle_connections_hold_no_receive_buffer(program, options):
    with RotaHttp(program, "--max-connections", "12000", "--workers", "1", *options) as it:
        clients = served(it, min(as_many_as_allowed(), 3000))  # more than there are buffers
        for client in clients[:100]:  # while the others go on to rest
            ask_all([client])
        eventually(lambda: open_connections(it) == len(clients) + 1, "all are there still")
        close_all(clients)
        eventually(lambda: open_connections(it) == 1, "all connections are closed")


def test_it_rests_again_and_again(program, options):
    with RotaHttp(program, *options) as it:
        clients = served(it, 10)
        before = routines(it)
        for _ in range(2):
            ask_all(clients)
            eventually(lambda: routines(it) <= before, "they rest again")
            eventually(lambda: open_connections(it) == 11, "all are there still")
        close_all(clients)
        eventually(lambda: open_connections(it) == 1, "their end is noticed")


def test_the_idle_timeout_goes_on(program, options):
    with RotaHttp(program, "--idle-timeout", "3s", *options) as it:
        clients = served(it, 10)
        for client in clients:
            equal(client.recv(1), b"", "it is closed without a word")
        eventually(lambda: open_connections(it) == 1, "they are counted no more")
        close_all(clients)


def test_a_drain_closes_them(program, options):
    with RotaHttp(program, "--drain-timeout", "10m", *options) as it:
        clients = served(it, 100)
        it.signal(signal.SIGTERM)
        for client in clients:
            equal(client.recv(1), b"", "it is closed without a word")
        equal(it.wait(), 0, "exit code")
        close_all(clients)


def test_a_request_within_the_grace_of_a_drain_is_answered(program, options):
    with RotaHttp(program, "--drain-timeout", "10m", *options) as it:
        clients = served(it, 20)
        answered = 0
        it.signal(signal.SIGTERM)
        it.wait_for("draining")
        for client in clients:
            try:
                client.sendall(b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = client.recv(4096)
            except OSError:
                continue  # on a busy machine the grace may be over
            if answer:
                check(answer.startswith(b"HTTP/1.1 200 "), answer)
                # But for one that came before the drain began, which is then closed as the others.
                if b"\r\nConnection: close" not in answer:
                    equal(client.recv(1), b"", "it is closed")
                answered += 1
        print(f"{answered} answered", flush=True)
        close_all(clients)
        equal(it.wait(), 0, "exit code")


def test_two_signals_end_them_at_once(program, options):
    with RotaHttp(program, "--drain-timeout", "10m", *options) as it:
        clients = served(it, 100)
        busy = it.connect()
        busy.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: it.blocked("sleep"), "a request is at work")
        it.signal(signal.SIGTERM)
        it.wait_for("draining")
        it.signal(signal.SIGTERM)
        equal(it.wait(), 0, "exit code")
        close_all([busy, *clients])


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
