#!/usr/bin/env python3
"""Many jobs in one request: NDJSON in, outcomes out as they happen.

usage: bulk_test.py <rota-http> [options of rota-http...]
"""

import json
import select
import socket
import struct
import sys
import threading

from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp

HEAD = (b"POST /v1/queues/%s/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
LINES = 200_000
UNREAD_LINES_MAX = 2_000_000  # far more than fit into the kernel's buffers (tcp_rmem in tcp(7))
SAME = b'{"key":"the same","payload":"%s"}\n'
MEMORY_MAX = 48 << 20  # what a server with two workers uses more of, however many lines there are


def chunk(content):
    return b"%x\r\n%s\r\n" % (len(content), content)


class Outcomes:
    """Reads the lines of a chunked answer as they come."""

    def __init__(self, client):
        self.file = client.makefile("rb")
        self.left = 0
        self.ended = False

    def status(self):
        status = int(self.file.readline().split()[1])
        while self.file.readline() not in (b"\r\n", b""):
            pass
        return status

    def _bytes(self):
        while not self.ended:
            size = int(self.file.readline(), 16)
            self.ended = size == 0
            yield self.file.read(size)
            self.file.readline()

    def __iter__(self):
        tail = b""
        for piece in self._bytes():
            *lines, tail = (tail + piece).split(b"\n")
            yield from (json.loads(line) for line in lines)
        equal(tail, b"", "an unfinished line")


def test_small(server):
    body = b'{"payload":1}\n{"payload":1}\n{"payload"\n\n{"payload":2,"key":"k"}'
    answer = server.request("POST", "/v1/queues/small/jobs", body,
                            {"Content-Type": "application/x-ndjson; charset=utf-8"})
    equal(answer.status, 200)
    equal(answer.headers["Content-Type"], "application/x-ndjson")
    outcomes = [json.loads(line) for line in answer.body.splitlines()]
    equal(outcomes[0], {"i": 0, "outcome": "enqueued", "id": "1"})
    equal(outcomes[1], {"i": 1, "outcome": "rejected", "reason": "duplicate", "existing_id": "1",
                        "state": "queued"})
    equal((outcomes[2]["outcome"], outcomes[2]["code"]), ("error", "bad_json"))
    equal(outcomes[3], {"i": 3, "outcome": "enqueued", "id": "2"})
    equal(outcomes[4:], [{"summary": {"lines": 4, "enqueued": 2, "rejected": 1, "errors": 1}}])
    equal(server.request("POST", "/v1/queues/small/jobs", b"",
                         {"Content-Type": "application/x-ndjson"}).status, 200)


def test_outcomes_come_as_they_happen(server):
    with server.connect() as client:
        client.sendall(HEAD % b"live" + chunk(b'{"payload":0}\n'))
        outcomes = Outcomes(client)
        equal(outcomes.status(), 200)
        lines = iter(outcomes)
        equal(next(lines)["id"], "1")
        for i in range(1, 20):  # each is sent only when the one before has been answered
            client.sendall(chunk(b'{"payload":%d}\n' % i))
            equal(next(lines), {"i": i, "outcome": "enqueued", "id": str(i + 1)})
        client.sendall(b"0\r\n\r\n")
        equal(list(lines), [{"summary": {"lines": 20, "enqueued": 20, "rejected": 0, "errors": 0}}])


def send_lines(client, name, line, count, per_chunk=500):
    client.sendall(HEAD % name)
    piece = chunk(line * per_chunk)
    for _ in range(count // per_chunk):
        client.sendall(piece)
    client.sendall(b"0\r\n\r\n")


def test_many_lines_in_constant_memory(server):
    send_and_read(server, b"warm", SAME % b"", 1_000)
    before = server.rss_bytes()
    line = SAME % (b"x" * 400)
    check(len(line) * LINES > 1.5 * MEMORY_MAX, "whoever keeps what comes is found out")
    send_and_read(server, b"many", line, LINES)
    server.check_memory(before + MEMORY_MAX)


def send_and_read(server, name, line, count):
    with server.connect() as client:
        sender = threading.Thread(target=send_lines, daemon=True, args=(client, name, line, count))
        sender.start()
        outcomes = Outcomes(client)
        equal(outcomes.status(), 200)
        for i, outcome in enumerate(outcomes):
            if "summary" not in outcome:
                equal(outcome["i"], i)
        sender.join()
    equal(outcome["summary"], {"lines": count, "enqueued": 1, "rejected": count - 1, "errors": 0})


def stop_reading(server, name, line):
    """A client that has sent until nothing more is taken, since it reads nothing; and how many
    lines that were."""
    client = socket.socket()
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        client.setsockopt(socket.SOL_SOCKET, option, 65536)
    client.settimeout(PATIENCE_S)
    client.connect(("127.0.0.1", server.port))
    client.sendall(HEAD % name)
    piece = chunk(line * 500)
    sent = 0
    # Nothing can be sent for a while: the server has stopped to read.
    while sent < UNREAD_LINES_MAX and select.select([], [client], [], 1)[1]:
        client.sendall(piece)
        sent += 500
    check(sent < UNREAD_LINES_MAX, "the server reads on though nobody reads what it says")
    return client, sent


def test_a_client_that_does_not_read_is_not_read(server):
    before = server.rss_bytes()
    client, sent = stop_reading(server, b"slow", b'{"payload":"%s"}\n' % (b"y" * 20))
    with client:
        counts = server.get("/v1/queues/slow").json()["counts"]
        check(counts["duplicates"] < sent, "it works on though nobody reads")
        server.check_memory(before + (16 << 20))
        sender = threading.Thread(target=client.sendall, args=(b"0\r\n\r\n",), daemon=True)
        sender.start()
        outcomes = Outcomes(client)
        equal(outcomes.status(), 200)
        *_, last = outcomes
        sender.join()
        equal(last["summary"]["lines"], sent)


def test_a_client_that_goes_in_the_midst_of_its_lines(server):
    """What has been read of its lines stays added, and nothing of the client is left."""
    routines = server.routines()
    client, sent = stop_reading(server, b"gone", b'{"payload":"%s"}\n' % (b"z" * 20))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()  # with a reset: what is under way to it is lost
    eventually(lambda: server.connections() == 1 and server.routines() == routines, "it is gone")
    counts = server.get("/v1/queues/gone").json()["counts"]
    equal((counts["queued"], counts["in_progress"]), (1, 0))
    check(0 < counts["duplicates"] < sent, counts)


def test_an_expectation_is_answered_first(server):
    body = b'{"payload":1}\n'
    with server.connect() as client:
        client.sendall(b"POST /v1/queues/expect/jobs HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: %d\r\n"
                       b"Content-Type: application/x-ndjson\r\nExpect: 100-continue\r\n"
                       b"Connection: close\r\n\r\n" % len(body))
        equal(client.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
        client.sendall(body)
        outcomes = Outcomes(client)
        equal(outcomes.status(), 200)
        equal(len(list(outcomes)), 2)


def test_a_connection_that_breaks_keeps_what_was_added(server):
    with server.connect() as client:
        client.sendall(HEAD % b"broken" + chunk(b'{"payload":1}\n{"payload":2}\n{"pay'))
        outcomes = Outcomes(client)
        equal(outcomes.status(), 200)
        lines = iter(outcomes)
        equal([next(lines)["i"], next(lines)["i"]], [0, 1])
    equal(server.get("/v1/queues/broken").json()["counts"]["queued"], 2)


def test_bad_chunks_at_the_start(server):
    with server.connect() as client:
        client.sendall(HEAD % b"bad" + b"z\r\n")
        equal(Outcomes(client).status(), 400)


if __name__ == "__main__":
    with RotaHttp(*sys.argv[1:]) as it:
        run_tests(globals(), it)
