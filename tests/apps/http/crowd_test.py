#!/usr/bin/env python3
"""10,000 connections at once, several times over: all are served, and nothing of them stays.

usage: crowd_test.py <rota-http> [options of rota-http...]
"""

import os
import resource
import selectors
import socket
import sys

from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp

WANTED = 10_000
REQUEST = b"GET /hello/crowd HTTP/1.1\r\nHost: x\r\n\r\n"
END = b"Hello, crowd!\n"
ROUNDS = 4
KEPT_BYTES = 24 << 20  # receive buffers in use once, and what the allocator cannot give back


def as_many_as_allowed():
    """How many connections this machine lets us have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return min(WANTED, most - 200)


def connect(port, count):
    clients = []
    for _ in range(count):
        client = socket.socket()
        client.settimeout(PATIENCE_S)
        client.connect(("127.0.0.1", port))
        clients.append(client)
    return clients


def ask_all(clients):
    """Every client asks, then every client is answered."""
    waiting = selectors.DefaultSelector()
    for client in clients:
        client.sendall(REQUEST)
        waiting.register(client, selectors.EVENT_READ, bytearray())
    left = len(clients)
    while left:
        ready = waiting.select(PATIENCE_S)
        check(ready, f"{left} clients get no answer")
        for key, _ in ready:
            piece = key.fileobj.recv(4096)
            check(piece, "a connection ended")
            key.data.extend(piece)
            if key.data.endswith(END):
                check(key.data.startswith(b"HTTP/1.1 200 "), key.data)
                waiting.unregister(key.fileobj)
                left -= 1
    waiting.close()


def per_worker(server):
    return [worker["connections"] for worker in server.get("/debug/tasks").json()["workers"]]


def test_crowd(server):
    count = as_many_as_allowed()
    server.get("/plaintext")
    start = (server.rss_bytes(), server.descriptors())
    sanitized = "ROTA_TEST_SANITIZED" in os.environ  # then what is freed stays
    for _ in range(ROUNDS):
        clients = connect(server.port, count)
        ask_all(clients)
        ask_all(clients)  # the same connections again: they were kept
        equal(server.connections(), count + 1)
        full = server.rss_bytes()
        for client in clients:
            client.close()
        eventually(lambda: server.connections() == 1, "all connections are closed")
        eventually(lambda: server.descriptors() <= start[1] + 1, "all descriptors are closed")
        if not sanitized:
            eventually(lambda: server.rss_bytes() <= start[0] + KEPT_BYTES, "memory is given back")
        print(f"{count} connections: {start[0] >> 10} KiB before, {full >> 10} KiB with them, "
              f"{server.rss_bytes() >> 10} KiB after", flush=True)


def test_idle_clients_are_spread_evenly(server):
    count = 400
    clients = []
    for _ in range(count):  # each is idle before the next one comes
        clients += connect(server.port, 1)
        ask_all(clients[-1:])
    shares = per_worker(server)
    for client in clients:
        client.close()
    print(f"connections of each worker: {shares}", flush=True)
    check(max(shares) - min(shares) <= count // 10, f"unevenly spread: {shares}")


if __name__ == "__main__":
    with RotaHttp(sys.argv[1], "--max-connections", "12000", *sys.argv[2:]) as it:
        run_tests(globals(), it)
