#!/usr/bin/env python3
"""The bare loop answers what it should: once for each head, in order, however they come.

usage: floor.py <rota-floor> [<rota-http>]      exits 77 where io_uring is forbidden
"""

import select
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, *HTTP = sys.argv[1:]
del sys.argv[1:]
HEAD = b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE_SECONDS = 20
SKIPPED = 77


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(command, port):
    """A process that listens on `port`."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        if process.poll() is not None:
            said = process.stderr.read()
            if "io_uring" in said:
                print(said)
                sys.exit(SKIPPED)
            raise AssertionError(said)
        if time.monotonic() > deadline:
            process.kill()
            raise AssertionError("it does not listen")
        time.sleep(0.02)


def stop(process):
    process.kill()
    process.wait(PATIENCE_SECONDS)
    process.stderr.close()


def read(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise AssertionError(f"closed after {len(data)} of {count} bytes")
        data += piece
    return data


def quiet(connection):
    """Whether nothing comes for a while."""
    return not select.select([connection], [], [], 0.1)[0]


class Floor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.process = start([PROGRAM, str(cls.port)], cls.port)
        with cls.connect() as connection:
            connection.sendall(HEAD)
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += read(connection, 1)
            cls.answer = head + read(connection, 13)

    @classmethod
    def tearDownClass(cls):
        stop(cls.process)

    @classmethod
    def connect(cls):
        return socket.create_connection(("127.0.0.1", cls.port), PATIENCE_SECONDS)

    def expect(self, connection, count):
        self.assertEqual(read(connection, count * len(self.answer)), self.answer * count)

    def test_answer(self):
        self.assertTrue(self.answer.startswith(b"HTTP/1.1 200 OK\r\n"))
        self.assertTrue(self.answer.endswith(b"Content-Length: 13\r\n\r\nHello, World!"))

    def test_as_long_as_that_of_rota_http(self):
        if not HTTP:
            self.skipTest("no rota-http")
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            options = ["--port", str(port), "--log-level", "error"]
            options += ["--port-file", str(Path(folder, "port")), "--store", "memory"]
            process = start([*HTTP, *options], port)
            try:
                with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection:
                    connection.sendall(HEAD)
                    theirs = read(connection, len(self.answer))
                    self.assertTrue(quiet(connection))
            finally:
                stop(process)
        self.assertEqual(len(theirs.partition(b"\r\n\r\n")[2]), 13)

    def test_keep_alive(self):
        with self.connect() as connection:
            for _ in range(200):
                connection.sendall(HEAD)
                self.expect(connection, 1)

    def test_pipelined(self):
        with self.connect() as connection:
            for count in (2, 16, 64, 65, 1000):
                connection.sendall(HEAD * count)
                self.expect(connection, count)
            self.assertTrue(quiet(connection))

    def test_cut_at_every_place(self):
        two = HEAD * 2
        with self.connect() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for place in range(1, len(two)):
                connection.sendall(two[:place])
                time.sleep(0.002)
                connection.sendall(two[place:])
                self.expect(connection, 2)
            for byte in HEAD:
                connection.sendall(bytes([byte]))
                time.sleep(0.001)
            self.expect(connection, 1)

    def test_almost_the_end_of_a_head(self):
        with self.connect() as connection:
            for piece in (b"\r\n\r", b"\r\n", b"x\r\n\n", b"\n\r\n", b"x\r\n\rx\r\nx"):
                connection.sendall(piece)
                time.sleep(0.01)
            self.assertTrue(quiet(connection))
            connection.sendall(b"\r\n\r\n")
            self.expect(connection, 1)

    def test_client_that_reads_late(self):
        """More than the socket takes is kept, and sent when there is room; others are served."""
        count = 60000
        with self.connect() as slow, self.connect() as other:
            slow.sendall(HEAD * count)
            other.sendall(HEAD)
            self.expect(other, 1)
            self.expect(slow, count)
            self.assertTrue(quiet(slow))

    def test_client_that_stops_sending(self):
        with self.connect() as connection:
            connection.sendall(HEAD * 3)
            connection.shutdown(socket.SHUT_WR)
            self.expect(connection, 3)
            self.assertEqual(connection.recv(1), b"")

    def test_clients_that_leave(self):
        for _ in range(50):
            with self.connect() as connection:
                connection.sendall(HEAD * 500)
        with self.connect() as connection:
            connection.sendall(HEAD)
            self.expect(connection, 1)

    def test_many_at_once(self):
        connections = [self.connect() for _ in range(600)]
        for _ in range(3):
            for connection in connections:
                connection.sendall(HEAD)
            for connection in connections:
                self.expect(connection, 1)
        for connection in connections:
            connection.close()

    def test_wrong_arguments(self):
        for wrong in ([], ["x"], ["0"], ["99999"], ["1", "2"]):
            done = subprocess.run([PROGRAM, *wrong], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    unittest.main()
