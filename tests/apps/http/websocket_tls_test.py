#!/usr/bin/env python3
"""WebSocket over TLS (wss): frames as they are, and a client that others have written.

usage: websocket_tls_test.py <rota-http> [options of rota-http...]
"""

import os
import random
import signal
import subprocess
import sys

from https_server import MADE, Https
from programs import PATIENCE_S, check, equal, run_tests
from websocket_client import NODE, Raw, close, deflated, frame

OFFER = ("Sec-WebSocket-Extensions", "permessage-deflate")


def echo(server, *fields):
    return Raw(server.agree(), fields=fields, instead={"Host": "localhost"})


def test_messages(server):
    with echo(server, OFFER) as ws:
        equal(ws.status, 101)
        for size in (0, 125, 126, 65_535, 65_536, 1_000_000):
            data = random.Random(size).randbytes(size)
            ws.send(frame(data, op=2))
            equal(ws.read() == (2, data), True, size)
        ws.send(frame(deflated(b"words " * 1000), rsv=4))
        equal(ws.read(), (1, b"words " * 1000))
        ws.send(*[frame(str(number)) for number in range(1000)])
        for number in range(1000):
            equal(ws.read(), (1, str(number).encode()))
        ws.send(frame("a", fin=False), frame(b"p", op=9), frame("b", op=0), close(4000))
        equal([ws.read(), ws.read()], [(10, b"p"), (1, b"ab")])
        equal(ws.end(), 4000)
    with echo(server) as ws:
        ws.send(frame(masked=False))
        equal(ws.end(), 1002)


def test_origins(server):
    for origin, status in (("https://localhost", 101), ("http://localhost", 403),
                           ("https://elsewhere", 403)):
        with echo(server, ("Origin", origin)) as ws:
            equal(ws.status, status, origin)


def test_a_drain_says_goodbye(server):
    with Https(*server.started_as[:1]) as ending:
        with echo(ending) as ws:
            ws.send(frame("hi"))
            equal(ws.read(), (1, b"hi"))
            ending.signal(signal.SIGTERM)
            equal(ws.read()[1][:2], b"\x03\xe9")
            ws.send(close(1001))
        equal(ending.wait(), 0)


def test_node(server):
    done = subprocess.run(
        ["node", "-e", NODE, "-", f"wss://localhost:{server.tls_port}/ws/echo",
         "/usr/share/nodejs/ws"],
        env={**os.environ, "NODE_EXTRA_CA_CERTS": str(MADE.ca)}, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False)
    check(done.stdout.strip() in ("good", "none"), done.stdout + done.stderr)
    print(done.stdout.strip())


if __name__ == "__main__":
    with Https(sys.argv[1], *sys.argv[2:]) as it:
        run_tests(globals(), it)
