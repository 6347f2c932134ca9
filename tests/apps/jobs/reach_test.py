#!/usr/bin/env python3
"""What becomes of requests when the connections to a PostgreSQL break, or cannot be had.

usage: reach_test.py <rota-http> [options of rota-http...]  exits 77 where it is not installed
"""

import sys

from api_test import Queue
from postgres import postgres_or_skip
from programs import check, equal, eventually, run_tests
from relay import ADD, COMMIT, Relay
from rota_http import RotaHttp, read_answer


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
            relay.cut = ADD
            equal(queue.add(i).status, 201)
            equal(relay.cut, None, "it was cut")
        equal(queue.show()["counts"]["queued"], 4)
    with_relay(test, program, options, server, "early")


def test_a_commit_that_is_not_answered_is_not_known(program, options, server):
    def test(relay, queue):
        equal(queue.add(0).status, 201)
        for key, pass_on, again in ((1, False, 201), (2, True, 409)):
            relay.pass_on = pass_on
            relay.cut = COMMIT
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
