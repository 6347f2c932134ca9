#!/usr/bin/env python3
"""The job store of rota-http on a disk that is full: a small file system, mounted for the test.

usage: full_disk_test.py <rota-http> [options of rota-http...]  exits 77 where it cannot mount one
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from api_test import Queue
from programs import Program, check, equal, eventually, run_tests
from rota_http import RotaHttp

SKIPPED = 77
IN_NAMESPACE = ["unshare", "--map-root-user", "--mount", "sh", "-c"]


def can_mount():
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        return subprocess.run([*IN_NAMESPACE, f"mount -t tmpfs none {folder}"], check=False,
                              capture_output=True).returncode == 0


class SmallDisk(Program):
    """A file system of its own, some of which a file takes up: programs come and go on it."""

    MOUNT = ('mount -t tmpfs -o size=%dk none "$0" && head -c %dK /dev/zero >"$0/ballast" && '
             'echo mounted && exec sleep 600')

    def __init__(self, folder, kib=2048, ballast_kib=1024):
        super().__init__(*IN_NAMESPACE, self.MOUNT % (kib, ballast_kib), folder)
        self.folder = folder
        self.wait_for("mounted")
        self.root = Path(f"/proc/{self.pid}/root{folder}")

    def __exit__(self, *_):
        self.waited = True  # it does not end by itself
        super().__exit__(*_)

    def serve(self, program, options):
        return RotaHttp(["nsenter", "--target", str(self.pid), "--user", "--mount",
                         "--preserve-credentials", os.path.abspath(program)],
                        "--store", f"sqlite:{self.folder}/jobs.db", *options)


def test_a_file_system_without_room(program, options, path):
    def fill():
        while (answer := queue.add("x" * 100_000, key=str(len(added)))).status == 201:
            added.append(answer.json()["id"])
        equal((answer.status, answer.json()["code"]), (503, "store_unavailable"), answer.body)
        check("disk" in answer.json()["detail"], answer.body)
        equal([job["id"] for job in queue.list("queued")], added)

    added = []
    with SmallDisk(path.parent) as disk, disk.serve(program, options) as server:
        queue = Queue(server)
        fill()
        before = len(added)
        (disk.root / "ballast").unlink()  # now there is room again
        fill()
        check(0 < before < len(added), added)
        server.signal(signal.SIGSTOP)
        for name in ("jobs.db", "jobs.db-wal"):
            shutil.copy(disk.root / name, path.parent / name)
        server.signal(signal.SIGCONT)
    with RotaHttp(program, "--store", f"sqlite:{path}", *options) as server:
        queue.server = server
        equal([job["id"] for job in queue.list("queued")], added)


def store_lines(server):
    return [line for line in server.output().splitlines() if "the job store" in line]


def add_until_full(queue, size, prefix, one_too_many=100_000):
    """The ids of those that went in; nothing of what did not is there."""
    added = []
    while len(added) < one_too_many:
        answer = queue.add("x" * size, key=f"{prefix}{len(added)}")
        if answer.status != 201:
            equal((answer.status, answer.json()["code"]), (503, "store_unavailable"), answer.body)
            return added
        added.append(answer.json()["id"])
    raise AssertionError("the disk is never full")


def drain(queue, count, server):
    """Takes and finishes `count` jobs, as many at once as there are, each once."""
    ids = []
    while len(ids) < count:
        answer = server.post_json(f"{queue.path}/take", {"max": 1000})
        equal(answer.status, 200, answer.body)
        jobs = answer.json()["jobs"]
        check(jobs, f"{count - len(ids)} jobs are left, and none is given out")
        ids += [job["id"] for job in jobs]
        if len(ids) % 3 == 0:  # in another way
            for job in jobs:
                equal(server.request("DELETE", f"{queue.path}/jobs/{job['id']}").status, 204)
            continue
        answer = server.post_json(f"{queue.path}/ack",
                                  {"acks": [job["lease_id"] for job in jobs]})
        equal((answer.status, answer.json().get("acked")), (200, len(jobs)), answer.body)
    return ids


def ready(server):
    answer = server.get("/readyz")
    body = answer.json()
    equal(answer.status, 200 if body["ready"] else 503)
    return body["ready"] or body["reason"]


def metric(server, name):
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.rpartition(" ")[2])
    raise AssertionError(f"{name} is not told of")


def drain_a_full_disk(program, options, path, kib, size):
    with SmallDisk(path.parent, kib, 4) as disk, disk.serve(program, options) as server:
        queue = Queue(server)
        equal(ready(server), True)
        before = store_lines(server)
        for turn in range(3):
            added = add_until_full(queue, size, f"{turn}-")
            check(len(added) * size > kib * 100, f"{len(added)} of {size} bytes fill {kib} KiB")
            for i in range(20):
                queue.add("x" * size, key=f"more {i}")
            check("full" in ready(server), "it is not ready")
            equal(metric(server, "rota_store_up"), 0)
            check(metric(server, 'rota_store_errors_total{kind="full"}') >= 20, "counted")
            queued = metric(server, f'rota_jobs{{queue="{queue.name}",state="queued"}}')
            check(queued >= len(added), "the jobs are told of")
            equal(server.get("/healthz").status, 200)
            equal(drain(queue, int(queued), server)[:len(added)], added)
            equal(queue.show()["counts"]["queued"], 0)
            equal(eventually(lambda: ready(server) is True, "it is ready again"), True)
        server.wait_for("can be used again, after ", 3)
        lines = store_lines(server)[len(before):]
        equal(len(lines), 6, lines)
        for failed, back in zip(lines[::2], lines[1::2]):
            check("fails: " in failed and "full" in failed, failed)
            check("can be used again, after " in back, back)


def test_a_full_disk_can_be_drained(program, options, path):
    for kib, size in ((2048, 100), (4096, 3_000), (8192, 100_000)):
        drain_a_full_disk(program, options, path, kib, size)


def test_a_disk_that_others_fill(program, options, path):
    with SmallDisk(path.parent, 8192, 4) as disk, disk.serve(program, options) as server:
        queue = Queue(server)
        for i in range(300):
            equal(queue.add("x" * 1_000, key=str(i)).status, 201)
        with open(disk.root / "ballast", "wb", 0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(4096))
        added = add_until_full(queue, 1_000, "more ")
        equal(len(drain(queue, 300 + len(added), server)), 300 + len(added))
        (disk.root / "ballast").unlink()
        equal(queue.add(1).status, 201)
        eventually(lambda: ready(server) is True, "it is ready")


def test_a_restart_on_a_full_disk(program, options, path):
    """Again and again, in order or not: what has been held for finishing jobs is not used up by
    adding some."""
    with SmallDisk(path.parent, 4096, 4) as disk:
        with disk.serve(program, options) as server:
            queue = Queue(server)
            added = add_until_full(queue, 1_000, "first ")
            server.signal(signal.SIGKILL)
            equal(server.wait(), -signal.SIGKILL)
        for turn in range(4):
            with disk.serve(program, options) as server:
                queue.server = server
                # An end in order writes the log back, which may leave room for some.
                more = add_until_full(queue, 1_000, f"{turn} ")
                check(not more or turn > 0, f"{len(more)} are added at once")
                added += more
                check("full" in ready(server), "it is not ready")
                equal(queue.show()["counts"]["queued"], len(added))
                done = drain(queue, 50, server)
                equal(done, added[:len(done)])
                del added[:len(done)]
                if turn % 2:
                    server.signal(signal.SIGKILL)
                    server.wait()
        with disk.serve(program, options) as server:
            queue.server = server
            equal(drain(queue, len(added), server), added)
            equal(queue.add("room").status, 201)
            eventually(lambda: ready(server) is True, "it is ready")


def test_all_else_that_finishes_on_a_full_disk(program, options, path):
    """Leases that are extended, jobs that are given back and fail for good, the dead that are tried
    again or deleted, and whole queues that are purged."""
    with SmallDisk(path.parent, 4096, 4) as disk, disk.serve(program, options) as server:
        doomed, queue = Queue(server), Queue(server)
        equal(server.request("PUT", doomed.path, '{"max_attempts":1}').status, 200)
        for i in range(300):
            equal(doomed.add("x" * 1_000, key=str(i)).status, 201)
        add_until_full(queue, 1_000, "more ")
        queued = queue.show()["counts"]["queued"]
        leases = [job["lease_id"] for job in queue.take(max=10)]
        equal(len(post(queue, "extend", {"leases": leases, "lease_ms": 60_000})["extended"]),
              len(leases))
        equal(queue.ack([], leases)["retried"], len(leases))
        while taken := doomed.take(max=100):
            doomed.ack([], [job["lease_id"] for job in taken])
        equal(doomed.show()["counts"]["dead"], 300)
        post(doomed, "dead/retry", {"ids": [job["id"] for job in doomed.list("dead")[:10]]})
        post(doomed, "dead/delete", {})
        post(doomed, "purge", {})
        equal(doomed.show()["counts"]["dead"], 0)
        equal(queue.show()["counts"]["queued"], queued)
        post(queue, "purge", {})
        equal(queue.show()["counts"]["queued"], 0)
        equal(queue.add("room").status, 201)


def post(queue, what, order):
    answer = queue.server.post_json(f"{queue.path}/{what}", order)
    equal(answer.status, 200, answer.body)
    return answer.json()


def fill_behind_a_large_log(queue, size, lease_ms):
    """As many jobs are taken at once as leave a large log, then others are added until it is
    full."""
    for i in range(60):
        equal(queue.add("x" * size, key=f"first {i}").status, 201)
    taken = []
    while len(taken) < 60:
        taken += queue.take(max=1000, lease_ms=lease_ms)
    return taken, add_until_full(queue, size, "more ")


def test_large_jobs_on_a_full_disk(program, options, path):
    """Whatever the server chooses the size of: a purge, the removal of a queue, the dead, leases
    that end all at once."""
    with SmallDisk(path.parent, 32_768, 4) as disk, disk.serve(program, options) as server:
        for size, empty in ((20_000, "purge"), (60_000, "remove"), (250_000, "purge")):
            queue = Queue(server)
            check(add_until_full(queue, size, ""), "it takes some")
            if empty == "purge":
                post(queue, "purge", {})
            else:
                equal(server.request("DELETE", queue.path).status, 204)
            equal(queue.show()["counts"]["queued"], 0)
            eventually(lambda: ready(server) is True, "it is ready again")
        queue = Queue(server)
        equal(server.request("PUT", queue.path, '{"max_attempts":1}').status, 200)
        taken, added = fill_behind_a_large_log(queue, 100_000, lease_ms=4_000)
        eventually(lambda: queue.show()["counts"]["dead"] == len(taken), "all leases have ended")
        equal(drain(queue, len(added), server), added)
        add_until_full(queue, 100_000, "again ")
        equal(post(queue, "dead/delete", {})["deleted"], len(taken))
        post(queue, "purge", {})


def test_a_restart_behind_a_large_log(program, options, path):
    with SmallDisk(path.parent, 32_768, 4) as disk:
        with disk.serve(program, options) as server:
            queue = Queue(server)
            _, added = fill_behind_a_large_log(queue, 100_000, lease_ms=3_600_000)
            server.signal(signal.SIGKILL)
            server.wait()
        with disk.serve(program, options) as server:
            queue.server = server
            equal(queue.take(max=1)[0]["id"], added[0])
            post(queue, "purge", {})


def test_jobs_that_are_large_for_the_disk(program, options, path):
    """None is added that could not be taken."""
    for size in (50_000, 100_000, 250_000):
        for keyed in (False, True):
            with SmallDisk(path.parent, 3_072, 4) as disk, disk.serve(program, options) as server:
                queue = Queue(server)
                added = []
                while (answer := queue.add(f"{len(added)} " + "x" * size,
                                           **({"key": f"k{len(added)}"} if keyed else {}))
                       ).status == 201:
                    added.append(answer.json()["id"])
                equal(answer.status, 503, answer.body)
                check(added or size > 100_000, f"none of {size} bytes")
                equal(drain(queue, len(added), server), added)


def with_file(test):
    def run_in_folder(program, options):
        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            test(program, options, Path(folder) / "jobs.db")

    return run_in_folder


if __name__ == "__main__":
    if not can_mount():
        print("skipped: there are no file systems to be had here (man 1 unshare)")
        sys.exit(SKIPPED)
    tests = {name: with_file(value) for name, value in globals().items()
             if name.startswith("test_")}
    run_tests(tests, sys.argv[1], sys.argv[2:])
