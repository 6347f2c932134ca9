#!/usr/bin/env python3
"""rota-echo over TCP and over a Unix socket.   usage: echo_test.py <rota-echo>"""

import os
import signal
import socket
import sys
import tempfile

from programs import PATIENCE_S, Program, check, equal, run_tests


def connect(address):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    client = socket.socket(family)
    client.settimeout(PATIENCE_S)
    client.connect(address)
    return client


def converse(address):
    with connect(address) as client, client.makefile("rb") as answers:
        client.sendall(b"one\ntw")
        equal(answers.readline(), b"one\n")
        client.sendall(b"o\r\nthree")
        equal(answers.readline(), b"two\n")
        client.shutdown(socket.SHUT_WR)
        equal(answers.read(), b"three\n")


def test_tcp(program):
    with Program(program, "127.0.0.1:0") as server:
        converse(server.address())
        equal(server.end(), 0)


def test_unix(program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "echo.sock")
        with Program(program, f"unix:{path}") as server:
            equal(server.address(), path)
            converse(path)
            equal(server.end(), 0)
        check(not os.path.exists(path), "the socket file is still there")


def test_clients_do_not_wait_for_each_other(program):
    with Program(program, "127.0.0.1:0") as server:
        address = server.address()
        clients = [connect(address) for _ in range(50)]
        for i, client in reversed(list(enumerate(clients))):
            client.sendall(b"%d\n" % i)
            equal(client.recv(100), b"%d\n" % i)
        for client in clients:
            client.close()


def test_a_line_too_long(program):
    with Program(program, "127.0.0.1:0") as server:
        with connect(server.address()) as client:
            client.sendall(b"x" * 70_000)
            equal(client.recv(100), b"the line is too long\n")


def test_bad_address(program):
    for address in ("nonsense", "127.0.0.1:99999", "127.0.0.1"):
        with Program(program, address) as server:
            equal(server.wait(), 1, address)
            check(f'[critical] address "{address}": ' in server.output(), server.output())


def test_port_in_use(program):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with Program(program, f"127.0.0.1:{taken.getsockname()[1]}") as server:
            equal(server.wait(), 1)
            check("in use" in server.output(), server.output())


def test_help(program):
    with Program(program, "--help") as server:
        equal(server.wait(), 0)
        check("usage: rota-echo" in server.output(), server.output())


def test_interrupt(program):
    with Program(program, "127.0.0.1:0") as server:
        server.address()
        server.signal(signal.SIGINT)
        equal(server.wait(), 0)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1])
