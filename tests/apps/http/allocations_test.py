#!/usr/bin/env python3
"""A keep-alive request allocates nothing: every call of malloc in rota-http is counted.

usage: allocations_test.py <library that counts> <rota-http> [options of it]
"""

import os
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from programs import check, eventually
from rota_http import RotaHttp

CONNECTIONS = 16
WARM_UP = 200
ROUNDS = 500
REQUESTS = {
    "one at a time": b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n",
    "with more fields": b"GET /json?x=1 HTTP/1.1\r\nHost: a\r\nUser-Agent: b (c)\r\n"
    b"Accept: text/html,*/*;q=0.8\r\nCookie: d=e; f=g\r\nConnection: keep-alive\r\n\r\n",
    "16 deep": b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n" * 16,
}


def read_exactly(connection, count):
    while count:
        count -= len(connection.recv(count) or sys.exit("the server closed a connection"))


def ask(connections, request, length, rounds):
    for _ in range(rounds):
        for connection in connections:
            connection.sendall(request)
        for connection in connections:
            read_exactly(connection, length)


def answer_length(app, request):
    """The bytes of the whole answer, found by asking for the end of the connection behind it."""
    with app.connect() as connection:
        connection.sendall(request + b"GET /plaintext HTTP/1.0\r\n\r\n")
        alone = b"".join(iter(lambda: connection.recv(65536), b""))
    with app.connect() as connection:
        connection.sendall(b"GET /plaintext HTTP/1.0\r\n\r\n")
        last = b"".join(iter(lambda: connection.recv(65536), b""))
    return len(alone) - len(last)


def main():
    library, program, *options = sys.argv[1:]
    with tempfile.NamedTemporaryFile(prefix="rota-allocations-") as counter:
        counter.write(bytes(8))
        counter.flush()

        def allocations():
            return struct.unpack("=Q", Path(counter.name).read_bytes())[0]

        os.environ["ROTA_ALLOCATIONS_FILE"] = counter.name
        os.environ["LD_PRELOAD"] = library
        try:
            app = RotaHttp(program, *options, "--log-level", "warning")
        finally:
            del os.environ["LD_PRELOAD"]
        with app:
            check(allocations() > 100, "the allocations of the start are counted")
            for name, request in REQUESTS.items():
                length = answer_length(app, request)
                connections = [app.connect() for _ in range(CONNECTIONS)]
                ask(connections, request, length, WARM_UP)

                def some_in_a_quiet_stretch():
                    """Nothing at all in one of several stretches: other threads may do something
                    of their own now and then, but no request may."""
                    before = allocations()
                    ask(connections, request, length, ROUNDS)
                    return allocations() == before

                eventually(some_in_a_quiet_stretch, f"{name}: no allocation for a request")
                for connection in connections:
                    connection.close()


if __name__ == "__main__":
    main()
