#!/usr/bin/env python3
"""What becomes of requests when a PostgreSQL asks for a password and gets a wrong one, or none.

usage: password_test.py <rota-http> [options of rota-http...]   exits 77 where it is not installed
"""

import os
import sys

from api_test import Queue
from postgres import USER, postgres_or_skip
from programs import check, equal, eventually, run_tests
from reach_test import add_in_the_end, is_unavailable
from rota_http import RotaHttp

RIGHT, WRONG = "right-secret", "wrong-secret"
FAILED = f'password authentication failed for user "{USER}"'


def tells_no_password(app, *answers):
    for said in (app.output(), *(str(answer.body) for answer in answers)):
        check("secret" not in said, said)


def set_password(server, password):
    server.psql(f"ALTER ROLE {USER} PASSWORD '{password}'")
    server.password = password


def test_with_the_right_one_it_works(program, options, server):
    with RotaHttp(program, "--store", server.create("right"), *options) as app:
        equal(Queue(app).add(1).status, 201)
        tells_no_password(app)


def test_a_wrong_one_at_the_start(program, options, server):
    server.create("start")
    with RotaHttp(program, "--store", server.url("start", WRONG), "--log-level", "debug",
                  *options) as app:
        queue = Queue(app)
        answer = queue.add(1)
        is_unavailable(answer, FAILED)
        equal(answer.headers["Retry-After"], "1")
        taken = app.post_json(f"{queue.path}/take", {"wait_ms": 60_000})
        is_unavailable(taken, FAILED)  # at once
        listed = app.get("/v1/queues")
        is_unavailable(listed, FAILED)
        equal(app.get("/plaintext").status, 200)
        app.wait_for(FAILED)
        # It goes on trying: the server gets to know the password, and it works.
        set_password(server, WRONG)
        try:
            equal(add_in_the_end(queue, 1).status, 201)
        finally:
            set_password(server, RIGHT)
        tells_no_password(app, answer, taken, listed)


def test_none_at_all(program, options, server):
    server.create("none")
    without = server.url("none").replace(f":{RIGHT}@", "@")
    environment = {name: value for name, value in os.environ.items() if name != "PGPASSWORD"}
    environment["PGPASSFILE"] = "/nonexistent"
    with RotaHttp(program, "--store", without, *options, env=environment) as app:
        is_unavailable(Queue(app).add(1), "no password supplied")


def test_one_that_is_changed_while_it_runs(program, options, server):
    with RotaHttp(program, "--store", server.create("changed"), *options) as app:
        queue = Queue(app)
        equal(queue.add(1).status, 201)
        (job,) = queue.take(lease_ms=600_000)
        set_password(server, "another-secret")
        try:
            equal(queue.add(2).status, 201)  # connections that there are stay

            def refused():  # some may still have been on their way
                server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                            "datname = 'changed' AND pid <> pg_backend_pid()")
                answer = queue.add(3)
                # One that is cut while it is used says so, the next attempt why there is none.
                return answer if FAILED in answer.json().get("detail", "") else None
            answer = eventually(refused, "the connections are gone")
            is_unavailable(answer, FAILED)
        finally:
            set_password(server, RIGHT)
        check(add_in_the_end(queue, 4).status == 201, "it works again")
        equal(queue.ack([job["lease_id"]])["acked"], 1)
        app.wait_for("can be used again")
        tells_no_password(app, answer)


if __name__ == "__main__":
    with postgres_or_skip(password=RIGHT) as postgres:
        run_tests(globals(), sys.argv[1], sys.argv[2:], postgres)
