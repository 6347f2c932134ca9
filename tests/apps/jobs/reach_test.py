#!/usr/bin/env python3
"""What becomes of requests when the connections to a PostgreSQL break, or cannot be had.

usage: reach_test.py <rota-http> [options of rota-http...]  exits 77 where it is not installed
"""

import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import prometheus
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


def is_not_known(answer):
    equal((answer.status, answer.json()["code"]), (503, "outcome_unknown"), answer.body)
    check("not known" in answer.json()["detail"], answer.body)


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
            is_not_known(queue.add(key))
            equal(add_in_the_end(queue, key).status, again)
        equal(queue.show()["counts"]["queued"], 3)
        relay.cut = COMMIT
        lines = queue.server.request("POST", f"{queue.path}/jobs", b'{"payload":3}\n',
                                  {"Content-Type": "application/x-ndjson"})
        check(b'"code":"outcome_unknown"' in lines.body, lines.body)
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


def ready(app):
    answer = app.get("/readyz")
    equal(answer.status, 200 if answer.json()["ready"] else 503)
    return answer.json().get("reason", True)


def metrics(app):
    answer = app.get("/metrics")
    equal(answer.status, 200)
    return prometheus.parse(answer.body.decode())


def lines_of(app):
    return [line for line in app.output().splitlines()
            if "job store fails" in line or "job store can be used again" in line]


def is_told(app, queue, why):
    """That the store is out of reach; the server is alive, and tells what it knew of its queues."""
    eventually(lambda: why in str(ready(app)), f"{why} is the reason")
    equal(app.get("/healthz").status, 200)
    found = metrics(app)
    equal(found["rota_store_up"][""], 0)
    equal(found["rota_jobs"][f'queue="{queue.name}",state="queued"'], 1)
    check(found["rota_jobs_oldest_seconds"][f'queue="{queue.name}"'] > 0, "its age is told")


def test_what_is_told_of_a_server_that_is_gone(program, options, server):
    server.create("gone")
    with RotaHttp(program, "--store", server.url("gone"), *options) as app:
        queue = Queue(app)
        equal(queue.add(1).status, 201)
        equal(ready(app), True)
        equal(metrics(app)["rota_store_up"][""], 1)
        server.stop()
        for _ in range(20):
            is_unavailable(queue.add(2), "job store")
        is_told(app, queue, "job store")
        check(metrics(app)["rota_store_errors_total"]['kind="unreachable"'] >= 20, "counted")
        app.wait_for("job store fails")
        equal(len(lines_of(app)), 1, lines_of(app))
        server.start()
        eventually(lambda: ready(app) is True, "it is ready again")
        equal(metrics(app)["rota_store_up"][""], 1)
        app.wait_for("job store can be used again")
        equal(len(lines_of(app)), 2, lines_of(app))


def test_a_server_that_is_frozen_is_found_within_its_time(program, options, server):
    def test(relay, queue):
        app = queue.server
        content = b'{"payload":2}'
        add = b"POST %s/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
            queue.path.encode(), len(content), content)
        equal(queue.add(1).status, 201)
        metrics(app)  # what is known last
        relay.flowing.clear()
        # Requests are given up much later: /readyz tells before.
        with queue.server.connect() as adding:
            adding.sendall(add)
            eventually(lambda: ready(app) is not True, "it is not ready")
            equal(select.select([adding], [], [], 0)[0], [], "answers to what is asked meanwhile")
            is_told(app, queue, "does not answer")
        relay.flowing.set()
        eventually(lambda: ready(app) is True, "it is ready again")
    with_relay(test, program, options, server, "frozen")


LIMIT_S = 15  # until a step is answered, whatever the server does
SLACK_S = 3  # for a machine that is busy
WAITS_FOR_A_ROW = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@contextmanager
def frozen(server):
    """It and its connections' processes do nothing, and lose nothing."""
    # First and last of them: a child that ends meanwhile is there until it looks for it.
    os.kill(server.pid, signal.SIGSTOP)
    children = []
    try:
        status = Path(f"/proc/{server.pid}/status")
        eventually(lambda: "State:\tT" in status.read_text(), "it is stopped")
        listed = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
        children = [int(pid) for pid in listed.split()]
        for pid in children:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in [*children, server.pid]:
            os.kill(pid, signal.SIGCONT)


def test_the_end_does_not_wait_for_a_frozen_server(program, options, server):
    url = server.create("ending")
    with RotaHttp(program, "--store", url, "--drain-timeout", "100ms", *options) as app:
        queue = Queue(app)
        equal(queue.add(1).status, 201)
        content = b'{"payload":2}'
        add = b"POST %s/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
            queue.path.encode(), len(content), content)
        with frozen(server), app.connect() as adding:
            adding.sendall(add)
            eventually(lambda: b"jobs::store" in app.get("/debug/tasks").body, "it is at work")
            app.signal(signal.SIGTERM)
            equal(app.wait(), 0, app.output())
        check("does not let go" not in app.output(), app.output())


def times_of_adding(queue, payloads, later):
    """What becomes of jobs that are added at once, and one that is some seconds later: statuses,
    and how long each took."""
    answers = []

    def add(payload):
        begin = time.monotonic()
        answer = queue.add(payload)
        answers.append((answer.status, time.monotonic() - begin))
    clients = [threading.Thread(target=add, args=(each,)) for each in payloads]
    for client in clients:
        client.start()
    if later:
        time.sleep(LIMIT_S / 3)
        add(later)
    for client in clients:
        client.join()
    return answers


def test_a_server_that_does_not_answer_is_waited_for_once(program, options, server):
    url = server.create("stopped")
    with RotaHttp(program, "--store", url, "--store-connections", "2", *options) as app:
        queue = Queue(app)
        # One that another connection could try again; then more than there are connections.
        for payloads, later in (([1], None), ([1, 2, 3, 4], 5)):
            for tries_left in (1, 0):
                equal(add_in_the_end(queue, f"{len(payloads)}, {tries_left}").status, 201)
                with frozen(server):
                    answers = times_of_adding(queue, payloads, later)
                equal([status for status, _ in answers], [503] * len(answers), answers)
                longest_s = max(took for _, took in answers)
                print(f"  {longest_s:.2f} s at most", flush=True)
                if longest_s < LIMIT_S + SLACK_S:
                    break
                check(tries_left > 0, answers)  # twice is not by chance
        equal(add_in_the_end(queue, "after").status, 201)


def test_lines_wait_once_for_a_server_that_does_not_answer(program, options, server):
    url = server.create("lines")
    with RotaHttp(program, "--store", url, *options) as app:
        queue = Queue(app)
        equal(queue.add(0).status, 201)
        lines = [b'{"payload":%d}\n' % i for i in range(1, 4)]
        head = (b"POST %s/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"
                b"Content-Type: application/x-ndjson\r\n\r\n" % (
                    queue.path.encode(), sum(map(len, lines))))
        with frozen(server), app.connect() as client:
            client.settimeout(4 * LIMIT_S)
            client.sendall(head + lines[0])
            eventually(lambda: b"jobs::store" in app.get("/debug/tasks").body, "it is at work")
            client.sendall(lines[1] + lines[2])
            received = client.recv(65_536)
            while b'"i":0' not in received:
                received += client.recv(65_536)
            first_s = time.monotonic()
            while b"summary" not in received:
                received += client.recv(65_536)
            rest_s = time.monotonic() - first_s
        equal(received.count(b"store_unavailable"), 3, received)
        check(rest_s < SLACK_S, f"the others took {rest_s:.1f} s more")


def has_counts(queue, **wanted):
    counts = queue.show()["counts"]
    return all(counts[name] == count for name, count in wanted.items())


def test_jobs_whose_answer_was_lost_in_an_outage_go_back(program, options, server):
    server.create("lost")
    with RotaHttp(program, "--store", server.url("lost"), *options) as app:
        queue = Queue(app)
        for i in range(40):  # more than there is room for on the way
            equal(queue.add(f"{i:02}" + "x" * 200_000).status, 201)
        content = json.dumps({"max": 40, "lease_ms": 43_200_000}).encode()
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", app.port))
        client.sendall(b"POST %s/take HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (
                           queue.path.encode(), len(content), content))
        eventually(lambda: has_counts(queue, in_progress=40), "they are taken")
        before = metrics(app)["rota_http_connections"][""]
        server.stop()
        is_unavailable(queue.add("none"), "job store")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        eventually(lambda: metrics(app)["rota_http_connections"][""] == before - 1, "it has gone")
        server.start()
        eventually(lambda: ready(app) is True, "the store is there")
        eventually(lambda: has_counts(queue, in_progress=0, failures=40), "they go back")


def test_jobs_of_a_take_that_is_not_known_go_back(program, options, server):
    def test(relay, queue):
        equal(queue.add(1).status, 201)
        for pass_on in (True, False):
            relay.pass_on = pass_on
            relay.cut = COMMIT
            is_not_known(queue.server.post_json(f"{queue.path}/take", {"lease_ms": 43_200_000}))
            # The session that was cut may hold it for a moment, or be about to commit.
            eventually(lambda: server.psql("SELECT id FROM rota_jobs WHERE state = 0 "
                                           "FOR UPDATE SKIP LOCKED", "given"), "it goes back")
            equal(queue.keys(), [["1"], []])
        (job,) = eventually(queue.take, "it can be taken")
        equal(job["attempt"], 1)
    with_relay(test, program, options, server, "given")


def test_jobs_of_a_take_that_is_committed_later_go_back(program, options, server):
    url = server.create("later_on")
    with RotaHttp(program, "--store", url, *options) as app:
        queue = Queue(app)
        equal(queue.add(1).status, 201)
        # A commit is done at once, and seen only when a standby has it, too.
        server.psql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        server.psql("SELECT pg_reload_conf()")
        eventually(lambda: server.psql("SHOW synchronous_standby_names") == [["nobody"]],
                   "it is set")
        try:
            is_not_known(app.post_json(f"{queue.path}/take", {"lease_ms": 43_200_000}))
            # By now it has been asked for.
            eventually(lambda: server.psql(WAITS_FOR_A_ROW) != [["0"]], "it is waited for")
        finally:
            server.psql("ALTER SYSTEM RESET synchronous_standby_names")
            server.psql("SELECT pg_reload_conf()")
        eventually(lambda: queue.keys() == [["1"], []], "it goes back")
        (job,) = queue.take()
        equal(job["attempt"], 1)


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
