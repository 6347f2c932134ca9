#!/usr/bin/env python3
"""Clients of HTTPS that never agree, or agree on and on, or send what is no TLS.

usage: tls_test.py <rota-http> [options of rota-http...]
"""

import contextlib
import os
import random
import socket
import ssl
import subprocess
import sys
import threading
import time

from attack import GET, WORKERS, attack
from https_server import MADE, Https
from programs import PATIENCE_S, check, eventually, run_tests
from rota_http import read_answer


@contextlib.contextmanager
def attacked(program, options, *more, workers=WORKERS):
    with Https(program, "--workers", workers, *more, *options) as server:
        with attack(server):
            yield server


def context():
    return ssl.create_default_context(cafile=MADE.ca)


def hello():
    """What a client sends first."""
    out = ssl.MemoryBIO()
    tls = context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return out.read()


def ended(client):
    """Waits for the end, however it comes."""
    with contextlib.suppress(ConnectionError):
        while client.recv(65536):
            pass
    client.close()


def test_half_open_handshakes(program, options):
    """Silent ones, those in single bytes, those that leave off behind the server's answer."""
    with attacked(program, options, "--handshake-timeout", "1s") as server:
        first = hello()
        silent = [server.raw() for _ in range(50)]
        partial = [server.raw() for _ in range(50)]
        left_off = [server.raw() for _ in range(50)]
        for client in left_off:
            client.sendall(first)
        for byte in first[:60]:
            for client in partial:
                with contextlib.suppress(ConnectionError):
                    client.sendall(bytes([byte]))
            time.sleep(0.005)
        with server.agree() as client:  # others are served meanwhile
            client.sendall(GET)
            check(read_answer(client)[1] == b"Hello, World!", "answer")
        for client in silent + partial + left_off:
            ended(client)


def test_handshake_flood(program, options):
    """As many as come: a client in clear and one that has agreed before are served all the time."""
    with attacked(program, options) as server:
        end = time.monotonic() + 2
        agreed = [0]

        def flood():
            while time.monotonic() < end:
                with contextlib.suppress(OSError):
                    server.agree().close()
                    agreed[0] += 1

        with server.agree() as there:
            threads = [threading.Thread(target=flood) for _ in range(8)]
            for thread in threads:
                thread.start()
            answers = 0
            while time.monotonic() < end:
                there.sendall(GET)
                read_answer(there)
                check(server.get("/plaintext").status == 200, "in clear")
                answers += 1
            for thread in threads:
                thread.join()
        check(agreed[0] > 20 and answers > 20, f"{agreed[0]} handshakes, {answers} answers")


def test_garbage(program, options):
    chance = random.Random(4711)
    first = hello()
    with attacked(program, options, "--handshake-timeout", "1s") as server:
        for round_ in range(200):
            with server.raw() as client:
                kind = round_ % 4
                if kind == 0:
                    bytes_ = chance.randbytes(chance.randrange(1, 3000))
                elif kind == 1:
                    changed = bytearray(first)
                    changed[chance.randrange(len(first))] ^= 1 << chance.randrange(8)
                    bytes_ = bytes(changed) + b"\x17\x03\x03\x00\x10" + chance.randbytes(16)
                elif kind == 2:
                    bytes_ = first + chance.randbytes(100)
                else:
                    bytes_ = first[:chance.randrange(len(first))]
                with contextlib.suppress(ConnectionError):
                    client.sendall(bytes_)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(65536):
                        pass


def test_records_of_others(program, options):
    """What comes behind the handshake without its key ends that connection only."""
    with attacked(program, options) as server:
        for record in (b"\x17\x03\x03\x00\x20" + b"x" * 32, b"\x15\x03\x03\x00\x02\x01\x00",
                       b"\x16\x03\x03\x40\x00" + b"x" * 16384, b"\x17\x03\x03\xff\xff"):
            client = server.agree()
            raw = socket.socket(fileno=client.detach())
            raw.settimeout(PATIENCE_S)
            raw.sendall(record)
            ended(raw)


def request_in_records_of_one_byte(server, count):
    """A client that has agreed, and what it is to send."""
    client = server.raw()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    arrived, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context().wrap_bio(arrived, out, server_hostname="localhost")
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            client.sendall(out.read())
            arrived.write(client.recv(65536))
    tls.write(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
              b"Content-Length: %d\r\n\r\n" % count)
    for _ in range(count):
        tls.write(b"x")
    return client, out.read()


def answers_beside_records(server, count):
    """What a neighbour gets while a request of one-byte records is answered."""
    flood, records = request_in_records_of_one_byte(server, count)
    threads = [threading.Thread(target=flood.sendall, args=(records,)),
               threading.Thread(target=ended, args=(flood,))]
    answers = 0
    with server.connect() as neighbour:
        for thread in threads:
            thread.start()
        while threads[1].is_alive():
            neighbour.sendall(GET)
            check(read_answer(neighbour)[1] == b"Hello, World!", "answer")
            answers += 1
        for thread in threads:
            thread.join()
    print(f"  {answers} answers beside {count} records", flush=True)
    return answers


def test_records_of_one_byte(program, options):
    """Others of the worker have their turn behind so many records, however short they are. This
    test's own threads get in the neighbour's way, so one of several tries is enough."""
    with attacked(program, options, workers="1") as server:
        check(any(answers_beside_records(server, 200_000) >= 100 for _ in range(5)), "its turns")


def test_keys_without_end(program, options):
    """openssl s_client asks for new keys with each line that is K."""
    with attacked(program, options) as server:
        client = subprocess.Popen(
            ["openssl", "s_client", "-tls1_3", "-connect", f"127.0.0.1:{server.tls_port}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(client.stdout.fileno(), False)
        printed = b""
        asked = 0
        while client.poll() is None and asked < 2000:
            with contextlib.suppress(BrokenPipeError):
                client.stdin.write(b"K\n")
                client.stdin.flush()
            asked += 1
            time.sleep(0.002)
            printed += client.stdout.read() or b""
        check(client.poll() is not None, "it was cut off")
        check(b"KEYUPDATE" in printed, printed[-500:])
        for stream in (client.stdin, client.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def test_large_answers_that_nobody_reads(program, options):
    with attacked(program, options, "--send-timeout", "1s") as server:
        clients = []
        for _ in range(20):
            client = server.agree()
            client.sendall(b"GET /bytes/1048576 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 16)
            clients.append(client)
        eventually(lambda: server.connections() == 1, "the server has cut them")
        server.check_memory(256 << 20)
        for client in clients:
            client.close()


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
