#!/usr/bin/env python3
"""Questions and answers over UDP, from one client and from many, and what clients do wrong.

usage: udp_test.py <udp>
"""

import signal
import socket
import struct
import sys
import threading

from programs import PATIENCE_S, Program, check, equal, run_tests

QUERIES = 10_000
CLIENTS = 8
WINDOW = 16  # on their way at once: with all clients less than what a socket's buffer takes


def serving(program, where="127.0.0.1:0"):
    return Program(program, where)


def client_of(server):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(PATIENCE_S)
    client.connect(server.address())
    return client


def ask(client, name):
    client.send(name)
    return client.recv(65536)


def test_names(program):
    with serving(program) as server, client_of(server) as client:
        equal(ask(client, b"ada"), b"ada 192.0.2.1", "a name that is known")
        equal(ask(client, b"eve"), b"eve ?", "one that is not")
        equal(ask(client, b""), b" ?", "none")
        equal(ask(client, bytes(range(256))), bytes(range(256)) + b" ?", "bytes are bytes")
        client.send(b"x" * 3000)  # too long for an answer
        equal(ask(client, b"bob"), b"bob 192.0.2.2", "the next question")


def test_many_clients_lose_nothing(program):
    with serving(program) as server:
        wrong = []

        def run(number):
            count = QUERIES // CLIENTS
            with client_of(server) as client:
                sent = 0
                for answered in range(count):
                    while sent < count and sent < answered + WINDOW:
                        client.send(b"%d/%d" % (number, sent))
                        sent += 1
                    if client.recv(65536) != b"%d/%d ?" % (number, answered):
                        wrong.append((number, answered))

        threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
            check(not thread.is_alive(), "every question is answered")
        equal(wrong, [], "answers in order")


def test_one_port_belongs_to_one_program(program):
    with serving(program) as server:
        host, port = server.address()
        with serving(program, f"{host}:{port}") as second:
            equal(second.wait(), 1, "exit code")
            check(f"cannot receive on {host}:{port}" in second.output(), "why")
            check(f"ss -lunp 'sport = :{port}'" in second.output(), "what to do")
        with client_of(server) as client:
            equal(ask(client, b"cyd"), b"cyd 192.0.2.3", "the first goes on")


def test_a_forged_sender_does_no_harm(program):
    """Port 0 cannot be answered; as nobody has it, it takes a raw socket to write it down."""
    with serving(program) as server, client_of(server) as client:
        try:
            raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
        except PermissionError:
            print("skipped: no right to raw sockets")
            return
        with raw:
            port = server.address()[1]
            forged = struct.pack("!HHHH", 0, port, 8 + 4, 0) + b"evil"
            for _ in range(10):
                raw.sendto(forged, ("127.0.0.1", 0))
                equal(ask(client, b"ada"), b"ada 192.0.2.1", "the others are answered")


def test_it_ends(program):
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving(program) as server, client_of(server) as client:
            ask(client, b"ada")
            server.signal(number)
            equal(server.wait(), 0, "exit code")
            with serving(program, "%s:%d" % server.address()) as next_one:
                next_one.address()  # the port is free


if __name__ == "__main__":
    run_tests(globals(), *sys.argv[1:])
