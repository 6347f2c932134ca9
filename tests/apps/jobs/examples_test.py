#!/usr/bin/env python3
"""The examples in apps/jobs/examples, against the running server: one language's at a time.

usage: examples_test.py <rota-http> <folder of the examples> <sh|py|mjs>
"""

import shutil
import subprocess
import sys
from pathlib import Path

from programs import Program, check, equal, run_tests
from rota_http import RotaHttp

SKIPPED = 77
RUN_BY = {"sh": ["bash"], "py": [sys.executable, "-u"], "mjs": ["node"]}
ADDED = """\
added 1
duplicate of 1 (queued)
line 0: enqueued
line 1: rejected
line 2: enqueued
lines:3,enqueued:2,rejected:1,errors:0
"""
TAKEN = {
    "job 1, attempt 1: delivered to ann",
    "job 2, attempt 1: no such address",
    "job 2, attempt 2: delivered to bob",
    "job 3, attempt 1: delivered to cem",
}


def can_run(language):
    """Whether there is what the examples need; node has had fetch since version 18."""
    program = RUN_BY[language][0]
    if shutil.which(program) is None:
        print(f"skipped: there is no {program} here")
        return False
    if language == "mjs":
        asked = subprocess.run([program, "-p", "typeof fetch"], capture_output=True, text=True,
                               check=False)
        if asked.stdout.strip() != "function":
            print("skipped: the node here is too old to have fetch")
            return False
    return True


class Examples:
    def __init__(self, server, folder, language):
        self.server = server
        self.folder = folder
        self.language = language

    def start(self, name, *arguments):
        url = f"http://127.0.0.1:{self.server.port}"
        return Program(*RUN_BY[self.language], self.folder / f"{name}.{self.language}", url,
                       *arguments)


def test_producer_and_consumer(examples):
    with examples.start("producer", "letters") as producer:
        producer.wait_for("lines:3.*\n")
        equal(producer.output(), ADDED, "what the producer says first")
        with examples.start("consumer", "letters", "3") as consumer:
            equal(consumer.wait(), 0, consumer.output())
            said = consumer.output().splitlines()
        equal(producer.wait(), 0, producer.output())
        equal(producer.output(), ADDED + "3 jobs are done\n")
    equal(set(said), TAKEN)
    equal(len(said), len(TAKEN))
    check(said[0].startswith("job 3"), "the priority goes first")
    counts = examples.server.get("/v1/queues/letters").json()["counts"]
    equal((counts["completed"], counts["failures"], counts["duplicates"]), (3, 1, 2))


if __name__ == "__main__":
    if not can_run(sys.argv[3]):
        sys.exit(SKIPPED)
    with RotaHttp(sys.argv[1]) as it:
        run_tests(globals(), Examples(it, Path(sys.argv[2]), sys.argv[3]))
