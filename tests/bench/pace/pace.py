#!/usr/bin/env python3
"""The load generator keeps its pace, counts from when requests are due, and says what is wrong.

usage: pace.py <rota-pace>
"""

import json
import socket
import subprocess
import sys
import threading
import time
import unittest
from contextlib import contextmanager

PROGRAM = sys.argv.pop(1)
PATIENCE_SECONDS = 60
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
LAST_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"


def serve_client(client, answer):
    """Calls answer(connection, number of the request, head) until it is false."""
    data, number = b"", 0
    with client:
        while True:
            head, blank, rest = data.partition(b"\r\n\r\n")
            if blank:
                data = rest
                if not answer(client, number, head):
                    return
                number += 1
                continue
            piece = client.recv(4096)
            if not piece:
                return
            data += piece


@contextmanager
def server(answer):
    """The address of a server with a thread for each connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:

        def accept():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return  # closed below
                threading.Thread(target=guarded, args=(client,), daemon=True).start()

        def guarded(client):
            try:
                serve_client(client, answer)
            except OSError:
                pass  # the generator has gone

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/page"
        listener.shutdown(socket.SHUT_RDWR)


def pace(url, connections=4, rate=200, seconds=0.5, warmup=0, more=()):
    command = [PROGRAM, "--url", url, "--connections", connections, "--rate", rate]
    command += ["--seconds", seconds, "--warmup", warmup, *more]
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def always(client, _number, _head):
    client.sendall(ANSWER)
    return True


class Pace(unittest.TestCase):
    def run_against(self, answer, **options):
        with server(answer) as url:
            done = pace(url, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def fail_against(self, answer, *words):
        with server(answer) as url:
            done = pace(url)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for word in words:
            self.assertIn(word, done.stderr)

    def test_every_request_is_answered_once(self):
        heads = []

        def answer(client, number, head):
            heads.append(head)
            return always(client, number, head)

        told = self.run_against(answer, warmup=0.1)
        light = told["light"]
        self.assertEqual(light["count"], 100)
        self.assertEqual(len(heads), 120)
        self.assertEqual(light["errors"], {"lost": 0, "unanswered": 0})
        self.assertLessEqual(light["rate"], 200)
        values = [light[f"{name}_us"] for name in ("p50", "p90", "p99", "p999", "max")]
        self.assertEqual(values, sorted(values))
        self.assertNotIn("heavy", told)
        self.assertTrue(heads[0].startswith(b"GET /page HTTP/1.1\r\nHost: 127.0.0.1:"))

    def test_pace_does_not_follow_the_server(self):
        """Requests that are due during a stall are late by what is left of it."""

        def answer(client, number, head):
            if number == 0:
                time.sleep(0.4)
            return always(client, number, head)

        told = self.run_against(answer, connections=1, rate=100, seconds=0.5)["light"]
        self.assertEqual(told["count"], 50)
        self.assertGreater(told["max_us"], 390_000)
        # 40 requests are due within the stall; half of all wait for at least 150 ms of it.
        self.assertGreater(told["p50_us"], 140_000)

    def test_two_streams(self):
        def answer(client, number, head):
            if b" /heavy " in head:
                time.sleep(0.02)
            return always(client, number, head)

        more = ["--heavy", "/heavy", "--heavy-connections", 2, "--heavy-rate", 20]
        told = self.run_against(answer, more=more)
        self.assertEqual((told["light"]["count"], told["heavy"]["count"]), (100, 10))
        self.assertGreater(told["heavy"]["p50_us"], 19_000)

    def test_connections_that_end_with_an_answer(self):
        def answer(client, number, _head):
            client.sendall(LAST_ANSWER if number == 4 else ANSWER)
            return number < 4

        told = self.run_against(answer)["light"]
        self.assertEqual(told["count"], 100)
        self.assertEqual(told["reconnected"], 20)
        self.assertEqual(told["errors"]["lost"], 0)

    def test_connections_that_end_instead_of_an_answer(self):
        def answer(client, number, head):
            return number < 9 and always(client, number, head)

        told = self.run_against(answer)["light"]
        self.assertEqual(told["count"] + told["errors"]["lost"], 100)
        self.assertGreaterEqual(told["errors"]["lost"], 4)

    def test_requests_that_are_never_answered(self):
        def answer(client, number, head):
            return always(client, number, head) if number < 10 else True

        told = self.run_against(answer)["light"]
        self.assertEqual(told["count"], 40)
        self.assertEqual(told["errors"]["unanswered"], 60)
        self.assertGreater(told["max_us"], 1_900_000)

    def test_answers_in_pieces(self):
        def answer(client, _number, _head):
            body = b"x" * 100_000
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            for piece in (head[:9], head[9:-1], head[-1:] + body[:1], body[1:]):
                client.sendall(piece)
            return True

        self.assertEqual(self.run_against(answer)["light"]["count"], 100)

    def test_wrong_answers(self):
        def send(data):
            return lambda client, _number, _head: client.sendall(data) or True

        self.fail_against(send(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), "/page", "503")
        self.fail_against(send(b"HTTP/1.1 200 OK\r\n\r\n"), "Content-Length")
        self.fail_against(send(ANSWER + b"more"), "Content-Length")
        self.fail_against(lambda *_: False, "without an answer")

    def test_nobody_there(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            done = pace(f"http://127.0.0.1:{probe.getsockname()[1]}/")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("refused", done.stderr)

    def test_wrong_arguments(self):
        done = pace("http://127.0.0.1:1/", rate=0)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--rate", done.stderr)


if __name__ == "__main__":
    unittest.main()
