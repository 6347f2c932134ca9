#!/usr/bin/env python3
"""WebSockets that mean harm: they do not read, or send without end what is nothing.

usage: websocket_test.py <rota-http> [options of rota-http...]
"""

import contextlib
import socket
import struct
import sys
from pathlib import Path

from attack import attacked, send_some
from programs import check, equal, eventually, run_tests

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps/http"))
from websocket_client import Raw, deflated, frame  # noqa: E402  # beside the tests of the app

OFFER = [("Sec-WebSocket-Extensions", "permessage-deflate")]


def opened(server, path="/ws/echo", fields=()):
    ws = Raw(server.connect(), path, fields)
    equal(ws.status, 101)
    return ws


def send_until_it_stalls(ws, data, bytes_max):
    """How much was taken before nothing was for a while."""
    sent = 0
    ws.socket.settimeout(1)
    with contextlib.suppress(TimeoutError, ConnectionError):
        while sent < bytes_max:
            sent += ws.socket.send(data)
    return sent


def test_readers_that_never_read(program, options):
    """They are not read any more, whatever they send, and reset in the end."""
    with attacked(program, options, "--send-timeout", "2s") as server:
        before = server.rss_bytes()
        clients = []
        for data in (frame(b"x" * 60_000, op=2), frame(b"x" * 125, op=9), frame(b"y" * 3_000_000)):
            ws = opened(server)
            ws.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            check(send_until_it_stalls(ws, data, 1 << 28) < 1 << 28, "it is read without end")
            clients.append(ws)
        server.check_memory(before + (48 << 20))
        eventually(lambda: server.connections() == 1, "those that take nothing are reset")
        for ws in clients:
            ws.socket.close()


def test_messages_that_never_end(program, options):
    """What is announced takes no memory, and what comes as much as a message may have."""
    with attacked(program, options) as server:
        before = server.rss_bytes()
        heads = [opened(server) for _ in range(100)]
        for ws in heads:
            ws.send(b"\x82\xff" + struct.pack(">Q", 16_777_216) + b"key." + b"x")
        server.check_memory(before + (32 << 20))
        for ws in heads:
            ws.socket.close()
        with opened(server) as ws:
            piece = frame(b"x" * 65_000, op=0, fin=False)
            ws.send(frame(b"", op=2, fin=False))
            for _ in range(400):
                if not send_some(ws.socket, piece):
                    break
            op, payload = ws.read()
            equal((op, payload[:2]), (8, b"\x03\xf1"))
        server.check_memory(before + (48 << 20))


def test_floods_of_nothing(program, options):
    """Empty fragments and pings without end: constant memory, and others have their turn."""
    with attacked(program, options) as server:
        before = server.rss_bytes()
        with opened(server) as ws:
            ws.send(frame(b"", op=1, fin=False))
            for _ in range(100):
                ws.send(frame(b"", op=0, fin=False) * 10_000)
            equal(server.get("/plaintext").status, 200)
            pings = frame(b"", op=9) * 1000
            for _ in range(100):
                ws.send(pings)
                for _ in range(1000):
                    equal(ws.read(), (10, b""))
        server.check_memory(before + (16 << 20))


def test_compressed_bombs(program, options):
    """They are stopped at the limit of a message; many at once, too."""
    with attacked(program, options) as server:
        before = server.rss_bytes()
        bomb = frame(deflated(bytes(1 << 27)), op=2, rsv=4)
        clients = [opened(server, fields=OFFER) for _ in range(8)]
        for ws in clients:
            ws.send(bomb)
        for ws in clients:
            equal(ws.end(), 1009)
        server.check_memory(before + (8 * 40 << 20))
        for ws in clients:
            ws.socket.close()


def test_a_deaf_one_in_a_room(program, options):
    """It is cut off; the others get all."""
    with attacked(program, options) as server:
        with opened(server, "/ws/chat?room=a") as deaf, opened(server, "/ws/chat?room=a") as a, \
                opened(server, "/ws/chat?room=a") as b:
            deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for _ in range(300):
                a.send(frame("x" * 60_000))
                equal(len(b.read()[1]), 60_000)
            eventually(lambda: server.connections() == 3, "the deaf one is cut off")


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
