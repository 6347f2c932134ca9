#!/usr/bin/env python3
"""rota-own-queue: jobs that are added over HTTP are done in the program, once.

usage: own_queue_test.py <rota-own-queue> [sqlite]      with it if the program can use SQLite
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile

from programs import PATIENCE_S, Program, check, equal, eventually, run_tests


class OwnQueue(Program):
    def __init__(self, program, store="memory"):
        super().__init__(program, "127.0.0.1:0", store)
        self.port = self.address()[1]

    def request(self, method, path, value=None):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        client.request(method, path, None if value is None else json.dumps(value))
        answer = client.getresponse()
        text = answer.read().decode()
        client.close()
        return answer.status, text

    def add(self, name):
        equal(self.request("POST", "/v1/queues/greetings/jobs", {"payload": name})[0], 201)

    def counts(self):
        return json.loads(self.request("GET", "/v1/queues/greetings")[1])["counts"]


def test_jobs_are_done(program, _):
    with OwnQueue(program) as server:
        check("/v1/queues/greetings" in server.request("GET", "/")[1], "its own page")
        for name in ("ann", "bob"):
            server.add(name)
        server.wait_for(r"Hello, ann! \(attempt 1\)\nHello, bob! \(attempt 1\)")
        eventually(lambda: server.counts()["completed"] == 2, "both are acknowledged")


def test_what_fails_goes_back(program, _):
    with OwnQueue(program) as server:
        server.add("")
        server.wait_for("nobody to greet")
        status, job = server.request("GET", "/v1/queues/greetings/jobs/1")
        equal((status, json.loads(job)["error"]), (200, "nobody to greet"))
        server.add("ann")  # the other one waits for its next try
        server.wait_for("Hello, ann!")


def test_jobs_outlive_the_program(program, lasting):
    if "sqlite" not in lasting:
        print("skipped: built without SQLite")
        return
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:{os.path.join(folder, 'jobs.db')}"
        with OwnQueue(program, store) as server:
            server.request("POST", "/v1/queues/greetings/pause")
            server.add("ann")
        with OwnQueue(program, store) as server:
            server.request("POST", "/v1/queues/greetings/resume")
            server.wait_for("Hello, ann!")
            eventually(lambda: server.counts()["completed"] == 1, "it is acknowledged")


def test_it_says_what_it_needs(program, _):
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout.split(":")[0], done.stderr), (0, "usage", ""))
    done = subprocess.run([program, "a", "b", "c"], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout, done.stderr.split(":")[0]), (2, "", "usage"))


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
