#!/usr/bin/env python3
"""Signals in any order, and the end of the program with requests in flight.

What one signal does, and a second one, is also tested by tests/apps/http/process_test.py.

usage: signals_test.py <rota-http> [options of rota-http...]
"""

import itertools
import signal
import socket
import sys

from attack import GET, attacked, close_all, connect, receive_all
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer


def sleeping(server, ms, count):
    clients = connect(server, count)
    for client in clients:
        client.sendall(b"GET /sleep/%d HTTP/1.1\r\nHost: x\r\n\r\n" % ms)
    return clients


def test_stopped_and_continued(program, options):
    """Stopped while clients come, ask, end and reset; then it goes on with all of it at once."""
    with attacked(program, options) as server:
        for _ in range(5):
            clients = connect(server, 20)
            server.signal(signal.SIGSTOP)
            more = connect(server, 20)
            for i, client in enumerate(clients + more):
                client.sendall(GET * (1 + i % 7))
                if i % 3 == 0:
                    client.shutdown(socket.SHUT_WR)
            server.signal(signal.SIGCONT)
            for i, client in enumerate(clients + more):
                answers = b""
                while answers.count(b"Hello, World!") < 1 + i % 7:
                    piece = client.recv(65_536)
                    check(piece, f"client {i} is cut after {answers}")
                    answers += piece
            close_all(clients + more)


def test_signals_that_mean_nothing(program, options):
    """Those that are ignored interrupt no wait for good, however many come."""
    with attacked(program, options) as server:
        clients = sleeping(server, 300, 20)
        for _ in range(200):
            for number in (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH,
                           signal.SIGPIPE):
                server.signal(number)
        for client in clients:
            equal(read_answer(client)[1], b"slept 300 ms\n")
        close_all(clients)


def test_a_hangup_that_is_ignored(program, options):
    """Started by nohup it outlives the terminal."""
    with attacked(["nohup", program], options) as server:
        clients = sleeping(server, 300, 20)
        server.signal(signal.SIGHUP)
        for client in clients:
            equal(read_answer(client)[1], b"slept 300 ms\n")
        close_all(clients)


def test_ends_in_any_order(program, options):
    """Whatever comes, with a request in flight: it ends in order, at the second signal at once."""
    ends = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for first, second in itertools.product(ends, ends):
        for stopped in (False, True):
            with RotaHttp(program, "--drain-timeout", "10m", *options) as server:
                clients = sleeping(server, 60_000, 3)
                eventually(lambda server=server: server.blocked("sleep") == 3, "all are at work")
                if stopped:  # then both are there when it looks
                    server.signal(signal.SIGSTOP)
                server.signal(first)
                if not stopped:
                    server.wait_for("draining")
                if first != second or not stopped:  # two of a kind that wait are one
                    server.signal(second)
                server.signal(signal.SIGWINCH)
                server.signal(signal.SIGCONT)
                if first == second and stopped:
                    server.wait_for("draining")
                    server.signal(second)
                equal(server.wait(), 0, f"exit code after {first.name}, {second.name}")
                for client in clients:
                    equal(receive_all(client), b"", "cut")
                close_all(clients)


def test_the_end_with_requests_in_flight(program, options):
    """Those that end before the deadline are answered, those that do not are cut then."""
    with RotaHttp(program, "--drain-timeout", "5s", *options) as server:
        endless = sleeping(server, 60_000, 30)
        eventually(lambda: server.blocked("sleep") == 30, "all are at work")
        short = sleeping(server, 500, 30)
        server.signal(signal.SIGTERM)
        server.wait_for("draining")
        equal(server.process.poll(), None, "it waits for them")
        for client in short:
            head, body = read_answer(client)
            equal(body, b"slept 500 ms\n")
            check(b"\r\nConnection: close" in head, head)
            client.close()
        for client in endless:
            equal(receive_all(client), b"", "cut")
        equal(server.wait(), 0, "exit code")
        server.wait_for("cancelling 30 connections")
        close_all(endless)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
