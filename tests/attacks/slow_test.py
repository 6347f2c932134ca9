#!/usr/bin/env python3
"""Clients that are slow, silent, half gone or gone: each is cut in its time, and nobody else is.

usage: slow_test.py <rota-http> [options of rota-http...]
"""

import itertools
import socket
import sys
import time

from attack import (BRIEF, GET, ask, attacked, close_all, connect, drip, is_over, kernel_sockets,
                    receive_all, reset, send_some)
from programs import check, equal, eventually, run_tests
from rota_http import read_answer

CROWD = 50


def test_slow_headers(program, options):
    """Each field comes in time, the end of them never does."""
    with attacked(program, options, "--header-timeout", "1s") as server:
        clients = connect(server, CROWD)
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        drip(clients, (b"X-%d: y\r\n" % i for i in itertools.count()))
        for client in clients:
            answer = receive_all(client)
            # What the client sent on may have turned the answer into a reset.
            check(answer == b"" or answer.startswith(b"HTTP/1.1 408 "), answer)
        close_all(clients)


def test_slow_bodies(program, options):
    with attacked(program, options, "--body-timeout", "1s") as server:
        clients = connect(server, CROWD)
        for i, client in enumerate(clients):
            framing = b"Transfer-Encoding: chunked" if i % 2 else b"Content-Length: 100000"
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\n" + framing + b"\r\n\r\n")
        chunked = clients[1::2]
        sized = clients[::2]
        for client in chunked:
            client.sendall(b"186a0\r\n")
        drip(chunked + sized, itertools.repeat(b"x"))
        for client in clients:
            answer = receive_all(client)
            check(answer == b"" or answer.startswith(b"HTTP/1.1 408 "), answer)
        close_all(clients)


def test_slow_readers(program, options):
    """They ask for much and take nothing of it."""
    with attacked(program, options, "--send-timeout", "1s") as server:
        clients = connect(server, 20)
        for client in clients:
            client.sendall(b"GET /bytes/1048576 HTTP/1.1\r\nHost: x\r\n\r\n" * 32)

        def all_cut():
            server.check_memory(256 << 20)  # not the 640 MiB that they asked for
            return ask(server, server.connections) == 1

        eventually(all_cut, "the server has cut them")
        for client in clients:
            check(0 < len(receive_all(client)) < 32 << 20, "a part of what it asked for")
        close_all(clients)


def slow_client(server, request):
    """One that has little room, so that what it leaves stays with the server."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(60)
    client.connect(("127.0.0.1", server.port))
    client.sendall(request)
    return client


def test_trickle_readers(program, options):
    """They take a little now and then: of much, and of what the kernel has whole. They are cut, and
    the kernel keeps nothing of it."""
    get = b"GET /bytes/39000 HTTP/1.1\r\nHost: x\r\n%s\r\n"
    last = get % b"Connection: close\r\n"
    with attacked(program, options, "--send-timeout", "2s", "--send-rate-min", "20K") as server:
        before = kernel_sockets(server)
        requests = [get % b"" * 30, get % b"" * 2, get % b"" + last, last]
        clients = [slow_client(server, request) for request in requests for _ in range(15)]
        for client in clients:  # the first may have been cut before the last one came
            equal(client.recv(9, socket.MSG_WAITALL), b"HTTP/1.1 ", "each is served at first")

        def all_cut():
            for client in clients:
                if is_over(client):
                    try:
                        client.recv(100)
                    except ConnectionError:
                        pass
            time.sleep(0.2)  # the pace at which they take
            return kernel_sockets(server) <= before + 1

        eventually(all_cut, "the kernel has nothing of them")
        close_all(clients)


def test_clients_that_are_merely_slow(program, options):
    """They take longer than the server waits for one that takes nothing, but not too little."""
    bytes_of_each = 200_000 if BRIEF else 400_000
    with attacked(program, options, "--send-timeout", "2s", "--send-rate-min", "1K",
                  "--idle-timeout", "1s") as server:
        for end in (b"", b"Connection: close\r\n")[BRIEF:]:
            with slow_client(server, b"GET /bytes/%d HTTP/1.1\r\nHost: x\r\n%s\r\n"
                             % (bytes_of_each, end)) as client:
                size = 0
                while size < bytes_of_each:
                    piece = client.recv(5000)
                    check(piece, f"it is cut after {size} bytes")
                    size += len(piece)
                    time.sleep(0.1)  # its pace: far more than it has to take


def idle_client(server):
    """A client that has been answered once; one that was cut before it came to ask tries again."""
    def served():
        client = server.connect()
        try:
            client.sendall(GET)
            if read_answer(client)[0].startswith(b"HTTP/1.1 200 "):
                return client
        except (AssertionError, OSError):
            pass
        client.close()
        return None

    return eventually(served, "a client is served before it idles")


def test_silent_clients(program, options):
    """Those that never say anything, and those that stop after one request."""
    with attacked(program, options, "--header-timeout", "1s", "--idle-timeout", "1s") as server:
        mute = connect(server, CROWD)
        idle = [idle_client(server) for _ in range(CROWD)]
        eventually(lambda: all(is_over(client) for client in mute + idle), "all are cut")
        for client in mute + idle:
            equal(receive_all(client), b"", "closed without a word")
        close_all(mute + idle)


def test_half_closed_clients_are_answered(program, options):
    with attacked(program, options) as server:
        clients = connect(server, 2 * CROWD)
        for i, client in enumerate(clients):
            request = b"GET /sleep/100 HTTP/1.1\r\nHost: x\r\n\r\n" if i % 2 else GET * 3
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
        for i, client in enumerate(clients):
            answer = receive_all(client)
            equal(answer.count(b"HTTP/1.1 200 "), 1 if i % 2 else 3, answer)
        close_all(clients)
        halves = connect(server, CROWD)
        for i, client in enumerate(halves):
            client.sendall(GET[:1 + i % (len(GET) - 1)])
            client.shutdown(socket.SHUT_WR)
        for client in halves:
            check(receive_all(client).startswith(b"HTTP/1.1 400 "), "half a request")
        close_all(halves)


def test_resets_in_the_middle(program, options):
    """At every stage of a request and of its answer."""
    stages = [
        b"",
        b"GET /plain",
        b"GET /plaintext HTTP/1.1\r\nHost: x\r\n",
        GET,
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 500_000,
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"GET /bytes/1048576 HTTP/1.1\r\nHost: x\r\n\r\n" * 4,
        b"GET /sleep/200 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /stream?lines=100&interval_ms=5 HTTP/1.1\r\nHost: x\r\n\r\n",
    ]
    with attacked(program, options) as server:
        for turn in range(4):
            clients = connect(server, 10 * len(stages))
            for i, client in enumerate(clients):
                send_some(client, stages[i % len(stages)])
            time.sleep(0.01 * turn)  # so that they strike at different moments
            for client in clients:
                reset(client)
            equal(server.get("/plaintext").status, 200, "others are served meanwhile")


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
