#!/usr/bin/env python3
"""Where rota-http keeps its job queues: files, what outlives it, what it says when it cannot.

usage: store_test.py <rota-http> [options of rota-http...]
"""

import contextlib
import functools
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from api_test import Queue
from programs import PATIENCE_S, check, equal, run_tests
from rota_http import JSON, RotaHttp

FILE_BYTES_MAX = 1 << 20


def limit_files(most=FILE_BYTES_MAX):
    """Files do not grow beyond this: writing fails."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def test_queues_outlive_the_program(program, options, path):
    with RotaHttp(program, "--store", f"sqlite:{path}", *options) as server:
        queue = Queue(server)
        for i in range(4):
            queue.add(i)
        done, held = queue.take(max=2, lease_ms=600_000)
        queue.ack([done["lease_id"]])
    with RotaHttp(program, "--store", f"sqlite:{path}", *options) as server:
        queue.server = server
        equal(queue.keys(), [["2", "3"], ["1"]])
        equal(queue.add(1).json()["state"], "in_progress")
        equal(queue.ack([held["lease_id"]])["acked"], 1)
        equal(queue.show()["counts"]["completed"], 2)


def test_waits_outlive_a_kill(program, options, path):
    """Of a job that has failed too often in a row, and what its queue is set to."""
    with RotaHttp(program, "--store", f"sqlite:{path}", *options) as server:
        queue = Queue(server)
        backoff = {"after": 1, "initial_ms": 600_000, "factor": 1.5, "max_ms": 700_000}
        answer = server.request("PUT", queue.path, json.dumps({"backoff": backoff}), JSON)
        equal(answer.json()["settings"]["backoff"], backoff)
        queue.add("poison")
        for _ in range(2):
            (job,) = queue.take()
            queue.ack([], [job["lease_id"]])
        (before,) = queue.list("delayed")
        server.signal(signal.SIGKILL)
        equal(server.wait(), -signal.SIGKILL)
    with RotaHttp(program, "--store", f"sqlite:{path}", *options) as server:
        queue.server = server
        (after,) = queue.list("delayed")
        equal([after[name] for name in ("retry_at", "failed_at", "cause", "attempts")],
              [before[name] for name in ("retry_at", "failed_at", "cause", "attempts")])
        equal(queue.show()["settings"]["backoff"], backoff)


def test_a_disk_that_is_full(program, options, path):
    with RotaHttp(program, "--store", f"sqlite:{path}", *options,
                  preexec_fn=limit_files) as server:
        queue = Queue(server)
        statuses = []
        while not statuses or statuses[-1] == 201:
            answer = queue.add("x" * 100_000, key=str(len(statuses)))
            statuses.append(answer.status)
            check(len(statuses) < 100, "the disk is never full")
        equal((answer.status, answer.json()["code"]), (503, "store_unavailable"), answer.body)
        equal(answer.headers["Retry-After"], "1")
        check("job store" in answer.json()["detail"], answer.body)
        added = len(statuses) - 1
        equal(queue.show()["counts"]["queued"], added)
        lines = server.request("POST", f"{queue.path}/jobs",
                               '{"payload":"%s"}\nnonsense\n' % ("y" * 200_000),
                               {"Content-Type": "application/x-ndjson"})
        check(b'"store_unavailable"' in lines.body and b'"errors":2' in lines.body, lines.body)
    with RotaHttp(program, "--store", f"sqlite:{path}", *options) as server:
        queue.server = server
        equal(len(queue.keys()[0]), added)
        equal(queue.add("there is room again").status, 201)


def run(program, *options, **more):
    """One that has to end by itself."""
    return subprocess.run([program, "--port", "0", *options], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False, **more)


def test_a_disk_that_is_full_from_the_beginning(program, options, path):
    for kib in (4, 20, 40):
        failed = run(program, "--store", f"sqlite:{path}-{kib}", "--log-level", "error", *options,
                     preexec_fn=functools.partial(limit_files, kib << 10))
        equal(failed.returncode, 1, failed.stderr)
        equal(failed.stderr.count("\n"), 1, failed.stderr)
        check("the disk is full" in failed.stderr, failed.stderr)


def test_a_file_is_one_programs_alone(program, options, path):
    with RotaHttp(program, "--store", f"sqlite:{path}", *options):
        second = run(program, "--store", f"sqlite:{path}", "--log-level", "error", *options)
    equal(second.returncode, 1)
    equal(second.stderr.count("\n"), 1, second.stderr)
    check("another process uses it" in second.stderr, second.stderr)


def make_alien(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE people (name TEXT)")
    return path.read_bytes()


def test_what_was_asked_for_and_cannot_be_had(program, options, path):
    directory, alien, text = (path.parent / name for name in ("directory", "alien.db", "text"))
    directory.mkdir()
    before = make_alien(alien)
    text.write_text("no database " * 1000)
    for where, why in ((Path("/nonexistent/jobs.db"), "No such file or directory"),
                       (directory, "no regular file"), (alien, "none of this program"),
                       (text, "file is not a database")):
        failed = run(program, "--store", f"sqlite:{where}", "--log-level", "error", *options)
        equal(failed.returncode, 1)
        equal(failed.stderr.count("\n"), 1, failed.stderr)
        check(f"cannot open the job store {where}: " in failed.stderr and why in failed.stderr,
              failed.stderr)
    equal(alien.read_bytes(), before)


class WithoutStore(RotaHttp):
    """One that is told nothing of a store, in a folder of its own."""

    def __init__(self, program, folder, *options):
        command = ["sh", "-c", 'cd "$0" && exec "$@"', folder, os.path.abspath(program)]
        super().__init__(command, *options, store=())


def test_the_default_is_a_file_or_else_memory(program, options, path):
    folder = path.parent
    with WithoutStore(program, folder, *options) as first:
        check("live in memory" not in first.output(), first.output())
        equal(Queue(first).add(1).status, 201)
        check((folder / "rota-jobs.db").exists(), "there is a file")
        with WithoutStore(program, folder, *options) as second:
            check("live in memory" in second.output(), second.output())
            equal(Queue(second).add(1).status, 201)


def test_a_default_that_is_somebody_elses_is_left_alone(program, options, path):
    before = make_alien(path.parent / "rota-jobs.db")
    with WithoutStore(program, path.parent, *options) as server:
        check("none of this program" in server.output(), server.output())
        check("live in memory" in server.output(), server.output())
        equal(Queue(server).add(1).status, 201)
    equal((path.parent / "rota-jobs.db").read_bytes(), before)


def with_file(test):
    def run_in_folder(program, options):
        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            test(program, options, Path(folder) / "jobs.db")

    return run_in_folder


if __name__ == "__main__":
    tests = {name: with_file(value) for name, value in globals().items()
             if name.startswith("test_")}
    run_tests(tests, sys.argv[1], sys.argv[2:])
