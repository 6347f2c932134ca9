#!/usr/bin/env python3
"""What becomes of requests when the connections to a PostgreSQL break, or cannot be had.

usage: reach_test.py <rota-http> [options of rota-http...]  exits 77 where it is not installed
"""

import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path

from api_test import Queue
from postgres import postgres_or_skip
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer

SOCKET = ".s.PGSQL.5432"


class Relay:
    """Stands between rota-http and the server, and cuts one connection when it is told to.

    `cut` looks at what a client sends: "early", "commit" or None. "commit" is the word by itself:
    what only reads sends it with the rest. `pass_on`: whether that still reaches the server, which
    is then waited for.
    """

    def __init__(self, server):
        self.folder = Path(tempfile.mkdtemp(prefix="rota-relay-", dir="/tmp"))
        self.to = str(server.folder / SOCKET)
        self.cut = None
        self.pass_on = False
        self.listener = None

    def open(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / SOCKET))
        self.listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        shutil.rmtree(self.folder)

    def url(self, database, password=""):
        host = str(self.folder).replace("/", "%2F")
        return f"postgres://postgres{password}@{host}/{database}"

    def _accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.to)
            threading.Thread(target=self._send, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answer, args=(client, server), daemon=True).start()

    def _is_time(self, data):
        return (self.cut == "early" and b"lock_digests" in data
                or self.cut == "commit" and b"COMMIT" in data and b"BEGIN" not in data)

    def _send(self, client, server):
        try:
            while data := client.recv(1 << 16):
                if not self._is_time(data):
                    server.sendall(data)
                    continue
                self.cut = None
                client.shutdown(socket.SHUT_RDWR)
                if self.pass_on:
                    server.sendall(data)
                break
        except OSError:
            pass
        try:
            server.shutdown(socket.SHUT_WR)  # it does what it was sent, and ends
        except OSError:
            pass

    @staticmethod
    def _answer(client, server):
        try:
            while data := server.recv(1 << 16):
                client.sendall(data)
        except OSError:
            pass
        try:
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def with_relay(test, program, options, server, database):
    relay = Relay(server)
    server.create(database)
    try:
        relay.open()
        with RotaHttp(program, "--store", relay.url(database), *options) as app:
            test(relay, Queue(app))
    finally:
        relay.close()


def is_unavailable(answer, words):
    equal((answer.status, answer.json()["code"]), (503, "store_unavailable"), answer.body)
    check(words in answer.json()["detail"], answer.body)


def add_in_the_end(queue, payload):
    """The first answer that is not 503."""
    answers = []

    def answered():
        answers.append(queue.add(payload))
        return answers[-1].status != 503
    eventually(answered, "the store is there")
    return answers[-1]


def test_a_connection_that_breaks_early_is_not_noticed(program, options, server):
    def test(relay, queue):
        equal(queue.add(1).status, 201)
        for i in range(2, 5):
            relay.cut = "early"
            equal(queue.add(i).status, 201)
            equal(relay.cut, None, "it was cut")
        equal(queue.show()["counts"]["queued"], 4)
    with_relay(test, program, options, server, "early")


def test_a_commit_that_is_not_answered_is_not_known(program, options, server):
    def test(relay, queue):
        equal(queue.add(0).status, 201)
        for key, pass_on, again in ((1, False, 201), (2, True, 409)):
            relay.pass_on = pass_on
            relay.cut = "commit"
            is_unavailable(queue.add(key), "not known")
            equal(add_in_the_end(queue, key).status, again)
        equal(queue.show()["counts"]["queued"], 3)
    with_relay(test, program, options, server, "unknown")


def test_a_server_that_comes_later(program, options, server):
    relay = Relay(server)
    server.create("later")
    try:
        with RotaHttp(program, "--store", relay.url("later", ":secret"), *options) as app:
            queue = Queue(app)
            answer = queue.add(1)
            is_unavailable(answer, "No such file")
            check(b"secret" not in answer.body, answer.body)
            relay.open()
            equal(add_in_the_end(queue, 1).status, 201)
    finally:
        relay.close()


def test_a_database_that_is_not_there(program, options, server):
    with RotaHttp(program, "--store", server.url("nowhere"), *options) as app:
        queue = Queue(app)
        is_unavailable(queue.add(1), "does not exist")
        server.create("nowhere")
        equal(add_in_the_end(queue, 1).status, 201)


def test_the_server_starts_anew(program, options, server):
    server.create("anew")
    with RotaHttp(program, "--store", server.url("anew"), *options) as app:
        queue = Queue(app)
        equal(queue.add(1).status, 201)
        (job,) = queue.take()
        server.stop()
        is_unavailable(queue.add(2), "job store")
        server.start()
        equal(add_in_the_end(queue, 3).status, 201)
        equal(queue.ack([job["lease_id"]])["acked"], 1)
        equal(queue.show()["counts"]["queued"], 1)


def test_who_waits_at_one_server_gets_what_is_added_at_another(program, options, server):
    url = server.create("shared")
    with RotaHttp(program, "--store", url, *options) as one, \
            RotaHttp(program, "--store", url, *options) as other:
        queue = Queue(one)
        with queue.park() as client:
            equal(other.post_json(f"{queue.path}/jobs", {"payload": "x"}).status, 201)
            _, body = read_answer(client)
        check(b'"payload":"x"' in body, body)


if __name__ == "__main__":
    with postgres_or_skip() as postgres:
        run_tests(globals(), sys.argv[1], sys.argv[2:], postgres)
