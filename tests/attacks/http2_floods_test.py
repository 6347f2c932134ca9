#!/usr/bin/env python3
"""Clients of HTTP/2 that mean harm: each ends with ENHANCE_YOUR_CALM, others notice nothing.

usage: http2_floods_test.py <rota-http>
"""

import contextlib
import sys
import time

from attack import attack
from http2_frames import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY,
                          RST_STREAM, SETTINGS, WINDOW_UPDATE, Http2, frame, number)
from programs import check, equal, run_tests
from rota_http import RotaHttp

CALM = 11
MEMORY_MAX = 64 << 20


def flood(server, what, bytes_, before=b""):
    """Sends it until the connection ends; meanwhile another client is served."""
    with server.connect() as raw, server.connect() as other:
        client, neighbour = Http2(raw), Http2(other)
        client.send(before)
        for _ in range(40):
            client.send(bytes_)
            begin = time.monotonic()
            equal(neighbour.get("/plaintext")[0], 200, what)
            check(time.monotonic() - begin < 2, f"{what}: others wait")
        equal(client.ends_with(), CALM, what)
    server.check_memory(MEMORY_MAX)


def test_idle_frames(program):
    with RotaHttp(program) as server:
        waits = Http2.request_of("/echo", "POST")
        open_one = frame(HEADERS, END_HEADERS, 1, waits)
        for what, one in (("PING", frame(PING, 0, 0, b"12345678")),
                          ("answers to no PING", frame(PING, ACK, 0, b"12345678")),
                          ("SETTINGS", frame(SETTINGS, 0, 0, b"\0\1" + number(4096))),
                          ("empty DATA", frame(DATA, 0, 1)),
                          ("padding", frame(DATA, 8, 1, b"\x04\0\0\0\0")),
                          ("PRIORITY", frame(PRIORITY, 0, 5, b"\0\0\0\1\0")),
                          ("PRIORITY_UPDATE", frame(0x10, 0, 0, number(1) + b"u=1")),
                          ("WINDOW_UPDATE", frame(WINDOW_UPDATE, 0, 0, number(1))),
                          ("unknown frames", frame(0xbb, 0, 0, b"x"))):
            flood(server, what, one * 500, open_one)


def test_resets(program):
    with RotaHttp(program) as server:
        for what, path, reset in (("resets", "/sleep/1000", frame(RST_STREAM, 0, 0, number(8))),
                                  ("resets that it makes", "/sleep/1000",
                                   frame(WINDOW_UPDATE, 0, 0, number((1 << 31) - 1)))):
            with server.connect() as raw:
                client = Http2(raw)
                block = Http2.request_of(path)
                for at in range(20):
                    all_of = b""
                    for stream in range(at * 200 + 1, at * 200 + 201, 2):
                        of_it = reset[:5] + number(stream) + reset[9:]
                        all_of += frame(HEADERS, END_HEADERS | END_STREAM, stream, block) + of_it
                    client.send(all_of)
                equal(client.ends_with(), CALM, what)
        check(server.routines() < 20, "no handler is left")
        server.check_memory(MEMORY_MAX)


def test_streams_beyond_the_limit(program):
    """Each is refused, for a while; those within it go on."""
    with RotaHttp(program) as server:
        ask = Http2.request_of("/sleep/700")
        with server.connect() as raw:
            client = Http2(raw)
            client.ping()
            for stream in range(1, 259, 2):
                client.ask(stream, "/sleep/700")
            equal(client.error_of(257), 7, "the 129th")
            client.until(lambda: len(client.ended) == 128)
            equal(set(client.status.values()), {200}, "the others")
            equal(client.goaways, [], "and their connection")
        with server.connect() as raw:
            client = Http2(raw)
            client.send(b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream, ask)
                                 for stream in range(1, 4_000, 2)))
            equal(client.ends_with(), CALM, "refused again and again")
        server.check_memory(MEMORY_MAX)


def test_header_sections(program):
    with RotaHttp(program) as server:
        start = frame(HEADERS, END_STREAM, 1, Http2.request_of("/plaintext"))
        flood(server, "CONTINUATION", frame(CONTINUATION, 0, 1, b"\0\1a\1b") * 20, start)
        flood(server, "empty CONTINUATION", frame(CONTINUATION, 0, 1) * 20, start)
        with server.connect() as raw: # one large field in the table, referred to again and again
            client = Http2(raw)
            large = b"\x40\1a\x7f\x81\x1d" + b"x" * 3_840 # 127 + 1 + 29 * 128
            client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1,
                              Http2.request_of("/plaintext") + large + b"\xbe" * 12_000))
            equal(client.ends_with(), CALM, "a bomb")
        server.check_memory(MEMORY_MAX)


def test_windows(program):
    with RotaHttp(program, "--send-timeout", "1s") as server:
        with server.connect() as raw:
            client = Http2(raw, wishes=b"\0\4" + number(0))
            for stream in range(1, 256, 2):
                client.ask(stream, "/bytes/1000000")
            equal(client.ends_with(), CALM, "no window")
        with server.connect() as raw:
            client = Http2(raw, wishes=b"\0\4" + number(0))
            for stream in range(1, 256, 2):
                client.ask(stream, "/echo", method="POST")
            client.until(lambda: len(client.ended) == 128)
        size = len(server.get("/stream?lines=3&interval_ms=1").body)
        with server.connect() as raw:
            client = Http2(raw, wishes=b"\0\4" + number(size))
            for stream in range(1, 256, 2):
                client.ask(stream, "/stream?lines=3&interval_ms=1")
            equal(client.ends_with(), CALM, "no window for the end")
        with server.connect() as raw:
            client = Http2(raw)
            for stream in range(1, 64, 2):
                client.ask(stream, "/bytes/1000000")
            begin = time.monotonic()
            while not client.gone and time.monotonic() - begin < 20:
                client.send(frame(WINDOW_UPDATE, 0, 0, number(1)))
                client.over.settimeout(0.02)
                try:
                    client.rest += client.over.recv(65_536)
                except TimeoutError:
                    continue
                except OSError:
                    break
                client.over.settimeout(10)
                client.rest, rest = b"", client.rest
                client.gone = client.gone or not rest or b"\x07\0\0\0\0\0" in rest
            check(time.monotonic() - begin < 20, "dripped for ever")
        server.check_memory(MEMORY_MAX)


def test_heads_without_content(program):
    """What a crowd of unfinished requests has needed goes back to the system with it."""
    with RotaHttp(program) as server, attack(server), contextlib.ExitStack() as crowd:
        block = Http2.request_of("/echo", "POST", more=[("a", "x" * 16_000)])
        clients = [Http2(crowd.enter_context(server.connect())) for _ in range(40)]
        for client in clients:
            client.send(b"".join(frame(HEADERS, END_HEADERS, stream, block)
                                 for stream in range(1, 257, 2)))
            client.ping()


def test_heads_that_were_answered(program):
    """An idle connection keeps nothing of what its requests have said: much at once, more soon."""
    for size, in_a_row in (16_000, 300), (3_900, 100):
        block = Http2.request_of("/sleep/5", more=[("a", "x" * size)])
        requests = b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream, block)
                            for stream in range(1, 32, 2))
        with RotaHttp(program) as server, contextlib.ExitStack() as crowd:
            for _ in range(600 // in_a_row):
                for _ in range(in_a_row):
                    client = Http2(crowd.enter_context(server.connect()))
                    client.send(requests)
                    client.until(lambda c=client: len(c.ended) == 16)
                server.get("/sleep/1500")
            server.check_memory(96 << 20)


def test_content_behind_a_reset(program):
    with RotaHttp(program) as server:
        block = Http2.request_of("/echo", "POST", more=[("content-length", "1")])
        ends = frame(HEADERS, END_HEADERS, 1, block) + frame(DATA, 0, 1, b"xx")
        flood(server, "content behind a reset", frame(DATA, 0, 1, b"x") * 500, ends)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1])
