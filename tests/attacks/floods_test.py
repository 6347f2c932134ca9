#!/usr/bin/env python3
"""Clients that send too much: requests, lines, fields, chunks, connections.

usage: floods_test.py <rota-http> [options of rota-http...]
"""

import re
import select
import socket
import sys
import time

from attack import BRIEF, GET, attacked, connect, parked, receive_all, send_some
from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import read_answer

POST = b"POST /echo HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def flood(server, begin, piece, bytes_max=8 << 20):
    """Sends `begin`, then `piece` again and again until the server has had enough; its answer,
    which is nothing if what was sent after it has turned it into a reset."""
    with server.connect() as client:
        client.sendall(begin)
        block = piece * (65_536 // len(piece) + 1)
        for _ in range(bytes_max // len(block) + 1):
            if select.select([client], [], [], 0)[0] or not send_some(client, block):
                break
        else:
            client.shutdown(socket.SHUT_WR)
        return receive_all(client)


def check_refused(server, status, begin, piece):
    answer = flood(server, begin, piece)
    check(answer == b"" or answer.startswith(b"HTTP/1.1 %d " % status), (status, begin, answer))
    server.check_memory(256 << 20)
    equal(server.get("/plaintext").status, 200, "others are served meanwhile")


def exactly(server, status, data):
    """The answer to a request that is sent whole."""
    with server.connect() as client:
        client.sendall(data)
        head = read_answer(client)[0]
    check(head.startswith(b"HTTP/1.1 %d " % status), (status, head))


def test_endless_pipelining(program, options):
    """Requests without end from one that reads nothing: the server stops reading, too. What has
    been sent whole is answered, in order, once it reads."""
    with attacked(program, options) as server:
        with server.connect() as client:
            client.setblocking(False)
            sent = bytearray()
            count = 0
            rest = b""
            # Blocked means here: for a second. Sooner makes it less of an attack, and no less true.
            while len(sent) < 24 << 20 and select.select([], [client], [], 1)[1]:
                while len(rest) < 65_536:
                    rest += b"GET /hello/%d HTTP/1.1\r\nHost: x\r\n\r\n" % count
                    count += 1
                written = client.send(rest)
                sent += rest[:written]
                rest = rest[written:]
            server.check_memory(256 << 20)
            equal(server.get("/plaintext").status, 200, "others are served meanwhile")
            client.setblocking(True)
            client.settimeout(PATIENCE_S)
            whole = sent.count(b"\r\n\r\n")
            last = b"Hello, %d!\n" % (whole - 1)
            answers = bytearray()
            while not answers.endswith(last):
                piece = client.recv(1 << 20)
                check(piece, "the connection ended")
                answers += piece
        names = re.findall(rb"Hello, (\d+)!\n", answers)
        equal([int(name) for name in names], list(range(whole)))


def test_requests_that_send_on(program, options):
    """While their requests are at work many send all that is taken of them: a connection's share of
    the server's memory is what may be unread, whatever has arrived."""
    count, unread_max = 100 if BRIEF else 300, 128 << 10
    flood = memoryview(GET * 120_000)
    with attacked(program, options) as server:
        before = server.rss_bytes()
        with parked(server, count) as clients:
            left = {}
            for client in clients:
                client.setblocking(False)
                left[client] = flood
            # Each at once as much as goes: what arrives together is received together.
            while ready := select.select([], list(left), [], 1)[1]:
                for client in ready:
                    try:
                        while left[client]:
                            left[client] = left[client][client.send(left[client]):]
                        del left[client]
                    except BlockingIOError:
                        pass
            # Beside it the buffers that are filled in turn, and what a client needs.
            server.check_memory(before + count * (unread_max + (16 << 10)) + (12 << 20))


def test_huge_lines(program, options):
    with attacked(program, options) as server:
        exactly(server, 414, b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        exactly(server, 431, GET[:-2] + b"X: " + b"y" * 40_000 + b"\r\n\r\n")
        for status, begin in ((414, b"GET /"), (431, GET[:-2] + b"X: "), (400, CHUNKED + b"1;x=")):
            check_refused(server, status, begin, b"y")


def test_huge_headers(program, options):
    with attacked(program, options) as server:
        fields = b"".join(b"X-%d: y\r\n" % i for i in range(1000))
        exactly(server, 431, GET[:-2] + fields + b"\r\n")
        check_refused(server, 431, GET[:-2], b"X: y\r\n")
        check_refused(server, 431, CHUNKED + b"1\r\nx\r\n0\r\n", b"X: y\r\n")  # as trailers
        check_refused(server, 400, b"", b"\r\n")  # before a request


def test_chunk_floods(program, options):
    """Content in as many chunks as it has bytes is taken, up to the limit; with as many extensions
    it is not."""
    with attacked(program, options, "--max-body", "256K") as server:
        content = b"x" * 100_000
        with server.connect() as client:
            client.sendall(CHUNKED + b"1\r\nx\r\n" * len(content) + b"0\r\n\r\n")
            equal(read_answer(client)[1], content)
        check_refused(server, 413, CHUNKED, b"1\r\nx\r\n")
        check_refused(server, 400, CHUNKED, b"1;name=value\r\nx\r\n")
        check_refused(server, 400, CHUNKED, b"0")  # a size of any number of digits


def test_more_connections_than_the_limit(program, options):
    """As many as the limit says are accepted and served at once; each that goes makes room for one
    that waits in the kernel, and none is turned away."""
    limit, count = 40, 400
    with attacked(program, options, "--max-connections", str(limit)) as server:
        before = server.descriptors()
        waiting = connect(server, count)
        for client in waiting:
            client.sendall(GET)
        while waiting:
            now = min(limit, len(waiting))
            eventually(lambda now=now: len(select.select(waiting, [], [], 0)[0]) >= now,
                       f"{now} of {len(waiting)} clients are served")
            time.sleep(0.02)  # more would come now, if more came
            served = select.select(waiting, [], [], 0)[0]
            equal(len(served), now, f"served at once of {len(waiting)}")
            accepted = server.descriptors() - before
            check(accepted <= limit, f"no more are accepted: {accepted}")
            for client in served:
                check(read_answer(client)[0].startswith(b"HTTP/1.1 200 "), "a whole answer")
                client.close()
            waiting = [client for client in waiting if client not in served]


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
