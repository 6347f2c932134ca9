#!/usr/bin/env python3
"""Forms that do not end, or are too many at once; cookies that are too long.

usage: forms_test.py <rota-http> [options of rota-http...]
"""

import os
import select
import socket
import sys

from attack import attacked, connect, receive_all, send_some
from programs import check, equal, eventually, run_tests

POST = (b"POST /form HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: multipart/form-data; boundary=b\r\n\r\n")
URLENCODED = POST.replace(b"multipart/form-data; boundary=b", b"application/x-www-form-urlencoded")
HEAD = b"--b\r\nContent-Disposition: form-data; name=a"
FIELD = HEAD + b"\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def flood(server, begin, piece, bytes_max=40 << 20):
    """Sends `begin`, then `piece` in chunks until the server has had enough; its answer."""
    with server.connect() as client:
        client.sendall(begin)
        block = chunk(piece * (65_536 // len(piece) + 1))
        for _ in range(bytes_max // len(block) + 1):
            if select.select([client], [], [], 0)[0] or not send_some(client, block):
                break
        else:
            client.sendall(chunk(b""))
            client.shutdown(socket.SHUT_WR)
        return receive_all(client)


def test_forms_without_end(program, options):
    """Whatever part of a form goes on and on, it is refused before it is much."""
    with attacked(program, options) as server:
        before = server.rss_bytes()
        for begin, piece in (
            (URLENCODED, b"x"), (URLENCODED, b"%41"), (URLENCODED + chunk(b"a="), b"x"),
            (URLENCODED, b"a&"), (URLENCODED, b"&"), (POST, b"\r"), (POST, b"preamble\r\n"),
            (POST + chunk(b"--b"), b" "), (POST + chunk(b"--b\r\n"), b"X: y\r\n"),
            (POST + chunk(HEAD), b"x"), (POST + chunk(FIELD), b"x"),
            (POST + chunk(FIELD), b"\r\n-"),
            (POST, FIELD + b"\r\n"), (POST + chunk(HEAD + b"; filename=b\r\n\r\n"), b"\r\n--"),
            (POST + chunk(b"--b--"), b" "), (POST + chunk(b"--b--\r\n"), b"x"),
        ):
            answer = flood(server, begin, piece)
            # Nothing, if what was sent behind it has turned it into a reset.
            check(answer == b"" or answer.startswith(b"HTTP/1.1 413 "), (begin, piece, answer))
            server.check_memory(before + (32 << 20))
        equal(server.get("/plaintext").status, 200)


def test_many_forms_at_once(program, options):
    """Fields are kept, of all forms together 128 MiB; then others are refused until it is less."""
    if "ROTA_TEST_SANITIZED" in os.environ:
        return
    clients_max = 60
    field = FIELD + b"x" * (1 << 20) + b"\r\n"
    head = POST.replace(b"Transfer-Encoding: chunked", b"Content-Length: %d" % (9 << 20))
    with attacked(program, options, "--body-timeout", "10m", "--max-memory", "4G") as server:
        left = {}
        for client in connect(server, clients_max):
            client.setblocking(False)
            left[client] = memoryview(head + 8 * field)  # without an end
        clients = list(left)

        def all_taken():
            writable = select.select([], list(left), [], 1)[1]
            for client in writable:
                try:
                    left[client] = left[client][client.send(left[client][:1 << 18]):]
                except OSError:
                    del left[client]
                    continue
                if not left[client] or select.select([client], [], [], 0)[0]:
                    del left[client]
            return not writable and not left

        eventually(all_taken, "the forms are there, or refused")
        # A string that grows is there twice for a moment, and the allocator keeps what was freed.
        server.check_memory((128 << 20) + clients_max * (640 << 10) + (96 << 20))
        refused = 0
        for client in clients:
            if select.select([client], [], [], 0)[0]:
                client.setblocking(True)
                answer = receive_all(client)
                refused += 1
                check(answer == b"" or answer.startswith(b"HTTP/1.1 503 "), answer[:200])
            client.close()
        check(refused > clients_max // 2, f"{refused} of {clients_max} are refused")


def test_cookies_that_are_too_long(program, options):
    """As many cookies as a head has room for are listed; those that are set are short."""
    with attacked(program, options) as server:
        cookies = ";".join("a" for _ in range(14_000))
        answer = server.get("/cookies", headers={"Cookie": cookies})
        equal((answer.status, len(answer.json())), (200, 14_000))
        equal(server.get("/cookies", headers={"Cookie": 33_000 * "x"}).status, 431)
        equal(server.request("POST", "/cookies?name=a&value=" + 4_096 * "x").status, 400)
        equal(server.request("POST", "/cookies?name=a&value=" + 4_095 * "x").status, 204)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
