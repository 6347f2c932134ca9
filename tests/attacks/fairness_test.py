#!/usr/bin/env python3
"""Clients that have more to be done at once than a worker does in a moment: the others of that
worker have their turns meanwhile. What is asserted are counts; times are printed to be read.

usage: fairness_test.py <rota-http> [options of rota-http...]
"""

import contextlib
import select
import signal
import socket
import sys
import threading
import time
import zlib

from attack import GET, attacked, close_all, connect, receive_all, reset, send_some
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer

ONE = ("--workers", "1")
SLEEPERS = 300
ENOUGH = 500  # answers of the neighbour: then there is no need to wait for the flood's end
OK = b"HTTP/1.1 200 "
HEAD = b"HEAD /debug/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n"
ECHO = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
BYTES = b"GET /bytes/1048576 HTTP/1.1\r\nHost: x\r\n\r\n"
JOB = b'{"payload":1}\n'
HANDSHAKE = b"""GET /ws/echo HTTP/1.1\r
Host: x\r
Connection: Upgrade\r
Upgrade: websocket\r
Sec-WebSocket-Version: 13\r
Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r
Sec-WebSocket-Extensions: permessage-deflate\r
\r
"""
BULK = b"""POST /v1/queues/flood/jobs HTTP/1.1\r
Host: localhost\r
Content-Type: application/x-ndjson\r
Content-Length: %d\r
\r
"""


class Flood:
    """A client that sends what it has again and again, as fast as it is taken, and reads what comes
    as fast as it comes. It counts `mark`, which each answer has once."""

    def __init__(self, server, data, mark):
        self.answers = 0
        self.over = False
        self._mark = mark
        self._client = server.connect()
        self._threads = [threading.Thread(target=self._send, args=(data,)),
                         threading.Thread(target=self._receive)]
        for thread in self._threads:
            thread.start()

    def _send(self, data):
        while send_some(self._client, data):
            pass

    def _receive(self):
        rest = b""
        with contextlib.suppress(OSError):
            while piece := self._client.recv(65_536):
                piece = rest + piece
                self.answers += piece.count(self._mark)
                rest = piece[1 - len(self._mark):]
        self.over = True

    def end(self):
        """Breaks off whatever is still to come."""
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        reset(self._client)


class Neighbour:
    """A client that asks for little, and again as soon as it has that."""

    def __init__(self, server):
        self._client = server.connect()
        self.times_s = []

    def ask(self):
        begin = time.monotonic()
        self._client.sendall(GET)
        check(read_answer(self._client)[0].startswith(OK), "an ordinary answer")
        self.times_s.append(time.monotonic() - begin)

    def told(self):
        """What it has seen; it forgets it."""
        times = sorted(self.times_s)
        self.times_s = []
        p50, p99 = (1e3 * times[len(times) * part // 100] for part in (50, 99))
        return f"{len(times)} answers, p50 {p50:.2f} ms, p99 {p99:.2f} ms"

    def end(self):
        self._client.close()


@contextlib.contextmanager
def sleepers(server, count, milliseconds):
    """So many clients whose requests are at work."""
    clients = connect(server, count)
    for client in clients:
        client.sendall(b"GET /sleep/%d HTTP/1.1\r\nHost: x\r\n\r\n" % milliseconds)
    eventually(lambda: server.asleep(clients) == count, "all of them are at work")
    yield clients
    close_all(clients)


def check_fair(server, data, mark, count, each, tries=1):
    """Beside a flood its neighbour on the one worker gets an answer for `each` of the flood's at
    least; `count` of those are looked at, at most. Where `each` is close to what is there, one of
    several tries is enough: this test's own threads get in the neighbour's way, too."""
    neighbour = Neighbour(server)
    for _ in range(ENOUGH):
        neighbour.ask()
    alone = neighbour.told()
    flood = Flood(server, data, mark)
    eventually(lambda: flood.answers or flood.over, "the flood has begun")
    before, got = flood.answers, 0
    while got < ENOUGH and flood.answers < count and not flood.over:
        neighbour.ask()
        got += 1
    answers = flood.answers - before
    print(f"  alone:  {alone}\n  beside: {neighbour.told()}, {answers} of the flood", flush=True)
    flood.end()
    neighbour.end()
    if got * each < answers and tries > 1:
        check_fair(server, data, mark, count, each, tries - 1)
        return
    check(got * each >= answers, f"{got} answers beside {answers} of the flood")


def test_costly_pipelining(program, options):
    """Requests that take as long as there are routines to be told of."""
    count = (5 << 20) // len(HEAD)
    with RotaHttp(program, *ONE, "--drain-timeout", "100ms", *options) as server:
        with sleepers(server, SLEEPERS, 60_000):
            check_fair(server, HEAD * count, OK, count, 100)


def test_bulk_adds(program, options):
    """One request with very many jobs; its answer has a line for each. They are added by the worker
    itself, where the store is memory: a few at a time."""
    count = 500_000
    with RotaHttp(program, *ONE, *options) as server:
        data = BULK % (count * len(JOB)) + JOB * count
        check_fair(server, data, b'"outcome"', count, 2000, tries=3)


def test_pipelined_content(program, options):
    count = 100_000
    with attacked(program, options, *ONE) as server:
        check_fair(server, ECHO * count, OK, count, 4000)


def test_pipelined_large_answers(program, options):
    count = 300
    with attacked(program, options, *ONE) as server:
        check_fair(server, BYTES * count, OK, count, 4)


def answers_beside_a_bomb(server, neighbour):
    """What the neighbour gets while 15 KiB of a message become 15 MiB: between the answers to a
    ping in front of them and to one behind."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = deflate.compress(bytes(15 << 20)) + deflate.flush(zlib.Z_SYNC_FLUSH)
    ping, pong = b"\x89\x80" + bytes(4), b"\x8a\x00"
    with server.connect() as client:
        client.sendall(HANDSHAKE)
        while not client.recv(65_536).endswith(b"\r\n\r\n"):
            pass
        client.sendall(ping + b"\x42\xfe" + len(bomb).to_bytes(2, "big") + bytes(4) + bomb + ping)
        equal(client.recv(len(pong)), pong)
        client.setblocking(False)
        got = 0
        while True:
            neighbour.ask()
            got += 1
            with contextlib.suppress(BlockingIOError):
                equal(client.recv(len(pong)), pong)
                return got


def test_a_message_that_grows(program, options):
    """It is decompressed in some hundred steps."""
    with attacked(program, options, *ONE) as server:
        neighbour = Neighbour(server)
        got = max(answers_beside_a_bomb(server, neighbour) for _ in range(5))
        print(f"  beside: {neighbour.told()}", flush=True)
        neighbour.end()
        check(got >= 10, f"{got} answers beside 15 MiB")  # in one step: one or two


# A window of 16 MiB, 16 bytes as they are, and 16 MiB by commands that take no bit each.
WINDOW = b"\x8f\x07\x800123456789abcdef" + bytes.fromhex("fcffff07002228100860")


def answers_beside_windows(server, neighbour, count):
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: br\r\nContent-Length: "
    request = head + b"%d\r\n\r\n" % len(WINDOW) + WINDOW
    with contextlib.ExitStack() as open_ones:
        clients = [open_ones.enter_context(server.connect()) for _ in range(count)]
        for client in clients:
            client.sendall(request)
        got = 0
        while clients:
            if got < ENOUGH:
                neighbour.ask()
                got += 1
            for client in select.select(clients, [], [], 0 if got < ENOUGH else None)[0]:
                check(client.recv(65_536).startswith(b"HTTP/1.1 413 "), "a bomb")
                clients.remove(client)
        return got


def test_windows_that_grow(program, options):
    """Some bytes of br make 16 MiB before the first of them can be had."""
    with attacked(program, options, *ONE, "--max-body", "64K") as server:
        neighbour = Neighbour(server)
        got = answers_beside_windows(server, neighbour, 8)
        print(f"  beside: {neighbour.told()}", flush=True)
        neighbour.end()
        check(got >= 100, f"{got} answers beside 8 windows")


def test_the_end_beside_a_flood(program, options):
    """Whoever sleeps is answered, and then the server ends, although a flood goes on and on."""
    with RotaHttp(program, *ONE, "--drain-timeout", "60s", *options) as server:
        with sleepers(server, SLEEPERS, 3000) as clients:
            flood = Flood(server, HEAD * 1000, OK)
            eventually(lambda: flood.answers or flood.over, "the flood has begun")
            server.signal(signal.SIGTERM)
            answers = [receive_all(client) for client in clients]
            code = server.wait()
            flood.end()
            equal(code, 0, "exit code")
            check("cancelling" not in server.output(), "nobody has to be cut off")
            equal(sum(answer.startswith(OK) for answer in answers), SLEEPERS, "answered sleepers")


if __name__ == "__main__":
    sys.setswitchinterval(1e-4)  # the neighbour does not wait for the threads of the flood
    run_tests(globals(), sys.argv[1], sys.argv[2:])
