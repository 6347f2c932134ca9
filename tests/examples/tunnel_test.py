#!/usr/bin/env python3
"""The tunnel, with curl through it, and with ends that stop talking before they stop listening.

usage: tunnel_test.py <tunnel> <rota-http>
"""

import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from programs import PATIENCE_S, Program, check, equal, run_tests


class Behind:
    """What the tunnel leads to: a listener of the test's."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE_S)
        self.where = "127.0.0.1:%d" % self.listener.getsockname()[1]

    def accept(self):
        connection, _ = self.listener.accept()
        connection.settimeout(PATIENCE_S)
        return connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def digging(program, where):
    return Program(program, "127.0.0.1:0", where)


def connect(tunnel):
    return socket.create_connection(tunnel.address(), timeout=PATIENCE_S)


def receive_all(stream):
    data = bytearray()
    while piece := stream.recv(1 << 16):
        data += piece
    return bytes(data)


def test_curl(program, rota_http):
    body = bytes(range(256)) * 20_000
    with Program(rota_http, "--port", "0") as server:
        host, port = server.address()
        with digging(program, f"{host}:{port}") as tunnel, tempfile.TemporaryDirectory() as folder:
            sent = Path(folder) / "sent"
            sent.write_bytes(body)
            at = "http://%s:%d" % tunnel.address()
            curl = ["curl", "-sS", "--max-time", str(PATIENCE_S), "-o", "-"]
            first = subprocess.run([*curl, at + "/plaintext"], capture_output=True, check=True)
            equal(first.stdout, b"Hello, World!", "/plaintext")
            data = ["--data-binary", f"@{sent}", "-H", "Expect:"]
            echoed = subprocess.run([*curl, *data, at + "/echo"], capture_output=True, check=True)
            check(echoed.stdout == body, "5 MB there and back")


def test_either_end_may_stop_first(program, _):
    with Behind() as behind, digging(program, behind.where) as tunnel:
        with connect(tunnel) as client, behind.accept() as server:
            client.sendall(b"question")
            client.shutdown(socket.SHUT_WR)
            equal(receive_all(server), b"question", "the question, and its end")
            server.sendall(b"answer")
            equal(client.recv(6, socket.MSG_WAITALL), b"answer", "though the other way has ended")
            server.close()
            equal(client.recv(1), b"", "the end")
        with connect(tunnel) as client, behind.accept() as server:
            server.sendall(b"greeting")
            server.shutdown(socket.SHUT_WR)
            equal(receive_all(client), b"greeting", "the greeting, and its end")
            client.sendall(b"thanks")
            client.close()
            equal(receive_all(server), b"thanks", "though the other way has ended")


def test_much_both_ways_at_once(program, _):
    there = bytes(range(251)) * 40_000
    back = bytes(range(241)) * 40_000
    with Behind() as behind, digging(program, behind.where) as tunnel:
        with connect(tunnel) as client, behind.accept() as server:

            def send(stream, data):
                stream.sendall(data)
                stream.shutdown(socket.SHUT_WR)

            senders = [
                threading.Thread(target=send, args=how, daemon=True)
                for how in ((client, there), (server, back))
            ]
            for sender in senders:
                sender.start()
            got = []
            reader = threading.Thread(target=lambda: got.append(receive_all(server)), daemon=True)
            reader.start()
            check(receive_all(client) == back, "all of it back")
            reader.join(PATIENCE_S)
            check(got == [there], "all of it there")


def test_nobody_behind(program, _):
    with Behind() as behind:
        where = behind.where
    with digging(program, where) as tunnel:
        for _ in range(3):
            with connect(tunnel) as client:
                equal(client.recv(1), b"", "the end at once")


def test_it_ends_with_clients(program, _):
    with Behind() as behind, digging(program, behind.where) as tunnel:
        with connect(tunnel) as client, behind.accept() as server:
            client.sendall(b"x")
            equal(server.recv(1), b"x", "it is through")
            tunnel.signal(15)
            client.shutdown(socket.SHUT_WR)
            equal(server.recv(1), b"", "the drain lets it finish")
            server.close()
            equal(tunnel.wait(), 0, "exit code")


def test_it_says_what_it_needs(program, _):
    done = subprocess.run([program, "8080"], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr.split(":")[0]), (2, "usage"))


if __name__ == "__main__":
    run_tests(dict(globals()), *sys.argv[1:])
