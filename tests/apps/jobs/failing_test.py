#!/usr/bin/env python3
"""What becomes of jobs that fail: waits, the dead, one by one and in bulk; and how a queue ends.

usage: failing_test.py <rota-http> [options of rota-http...]
"""

import json
import sys

from api_test import Queue
from features_test import TIME, Events, post, problem, put
from programs import check, equal, eventually, run_tests
from rota_http import JSON, RotaHttp


def kill(queue, *payloads, cause="failed"):
    """Lets jobs of a queue with max_attempts 1 die; their ids."""
    for payload in payloads:
        queue.add(payload)
    jobs = queue.take(max=len(payloads), **({} if cause == "failed" else {"lease_ms": 1}))
    if cause == "failed":
        queue.ack([], [job["lease_id"] for job in jobs])
    return [job["id"] for job in jobs]


def dead(queue):
    return [job["key"] for job in queue.server.get(f"{queue.path}/dead?limit=1000").json()["jobs"]]


def retry_all(queue):
    return queue.server.request("POST", f"{queue.path}/dead/retry").json()


def test_the_dead(server):
    queue = Queue(server)
    put(queue, max_attempts=1)
    for i in range(3):
        queue.add(i)
    for job in queue.take(max=3):
        queue.ack([], [job["lease_id"]])
    equal(queue.take(), [])
    answer = server.get(f"{queue.path}/dead?limit=2").json()
    equal([job["key"] for job in answer["jobs"]], ["0", "1"])
    answer = server.get(f"{queue.path}/dead?limit=2&cursor={answer['cursor']}").json()
    equal(([job["key"] for job in answer["jobs"]], "cursor" in answer), (["2"], False))
    dead = answer["jobs"][0]["id"]
    equal(post(queue, f"dead/{dead}/retry", None).json(), {"id": dead, "state": "queued"})
    problem(post(queue, f"dead/{dead}/retry", None), 404, "unknown_job")
    (job,) = queue.take()
    equal((job["id"], job["attempt"]), (dead, 1))
    there = queue.add(0)
    equal(there.status, 201)  # the dead hold no key
    answer = post(queue, "dead/1/retry", None)
    problem(answer, 409, "duplicate")
    equal([answer.json()[name] for name in ("existing_id", "state")],
          [there.json()["id"], "queued"])


def test_all_the_dead(server):
    queue = Queue(server)
    equal(retry_all(queue), {"retried": 0, "duplicates": 0})
    equal(post(queue, "dead/delete", {}).json(), {"deleted": 0})
    put(queue, max_attempts=1)
    kill(queue, *range(1000))  # slices of 500: the last one is empty
    kill(queue, "more")
    queue.add(7)
    equal(retry_all(queue), {"retried": 1000, "duplicates": 1})
    equal(dead(queue), ["7"])
    equal(queue.show()["counts"]["queued"], 1001)
    for _ in range(2):
        queue.ack([], [job["lease_id"] for job in queue.take(max=1000)])
    equal(len(dead(queue)), 1000)
    equal(post(queue, "dead/delete", {}).json(), {"deleted": 1002})
    equal((dead(queue), queue.show()["counts"]["dead"]), ([], 0))


def test_some_of_the_dead(server):
    queue = Queue(server)
    put(queue, max_attempts=1)
    first, second = kill(queue, 1, 2)
    (expired,) = kill(queue, 3, cause="lease_ended")
    eventually(lambda: dead(queue) == ["1", "2", "3"], "the lease ends")
    jobs = server.get(f"{queue.path}/dead").json()["jobs"]
    equal([job["cause"] for job in jobs], ["failed", "failed", "lease_ended"])
    check(all(TIME.fullmatch(job["failed_at"]) for job in jobs), jobs)
    last = jobs[-1]["failed_at"]
    equal(post(queue, "dead/retry", {"cause": "abandoned"}).json(),
          {"retried": 0, "duplicates": 0})
    equal(post(queue, "dead/delete", {"before": jobs[0]["failed_at"]}).json(), {"deleted": 0})
    equal(post(queue, "dead/delete", {"before": last, "cause": "lease_ended"}).json(),
          {"deleted": 0})
    equal(post(queue, "dead/delete", {"ids": [first, first, "999999"]}).json(), {"deleted": 1})
    equal(post(queue, "dead/retry", {"cause": "lease_ended", "ids": [second, expired]}).json(),
          {"retried": 1, "duplicates": 0})
    equal([job["key"] for job in queue.list("queued")], ["3"])
    equal(post(queue, "dead/delete", {"before": "2100-01-01T00:00:00+01:00"}).json(),
          {"deleted": 1})
    equal(post(queue, "dead/delete", {"ids": []}).json(), {"deleted": 0})
    for wrong in ({"ids": ["x"]}, {"ids": [1]}, {"ids": "1"}, {"before": "yesterday"},
                  {"before": 1}, {"cause": "none"}, {"cause": ""}, {"id": "1"}, []):
        for what in ("dead/retry", "dead/delete"):
            problem(post(queue, what, wrong), 400, "invalid_request")


def test_backoff(server):
    queue = Queue(server)
    all_set = {"after": 0, "initial_ms": 60_000, "factor": 1.25, "max_ms": 600_000}
    equal(put(queue, backoff=all_set)["settings"]["backoff"], all_set)
    queue.add("poison")
    queue.add("behind")
    (job,) = queue.take()
    queue.ack([], [job["lease_id"]])
    (waiting,) = queue.list("delayed")
    equal((waiting["key"], waiting["cause"]), ("poison", "failed"))
    check(TIME.fullmatch(waiting["retry_at"]) and waiting["failed_at"] < waiting["retry_at"],
          waiting)
    equal(waiting["due_at"], waiting["retry_at"])
    equal(queue.take()[0]["key"], "behind")
    shown = put(queue, backoff={"after": 0, "initial_ms": 1, "factor": 2, "max_ms": None})
    equal(shown["settings"]["backoff"],
          {"after": 0, "initial_ms": 1, "factor": 2, "max_ms": None})
    equal(set(put(queue, backoff=None)["settings"]["backoff"].values()), {None})
    for wrong in ({"after": -1}, {"initial_ms": -1}, {"factor": 0.9}, {"factor": "2"},
                  {"factor": 101}, {"max_ms": 99}, {"initial_ms": 600_001}, {"after": 0.5},
                  {"initial_ms": 2, "max_ms": 1}, {"before": 1}, [], 1):
        answer = server.request("PUT", queue.path, json.dumps({"backoff": wrong}), JSON)
        problem(answer, 400, "invalid_request")


def fail_thrice(queue, *behind):
    """One job, which is given out again at once after the first and the second time."""
    for payload in ("poison", *behind):
        queue.add(payload)
    for attempt in (1, 2, 3):
        (job,) = queue.take()
        equal((job["key"], job["attempt"]), ("poison", attempt))
        queue.ack([], [job["lease_id"]])


def test_a_poisoned_job_lets_others_pass(server):
    """From its third failure in a row on, which is usual, it waits, and the one behind it is given
    out."""
    queue = Queue(server)
    put(queue, backoff={"initial_ms": 600_000})
    fail_thrice(queue, "behind")
    equal(queue.take()[0]["key"], "behind")


def test_a_wait_ends_by_itself(server):
    queue = Queue(server)
    fail_thrice(queue)
    (job,) = queue.take(wait_ms=60_000)  # the end of the wait wakes it
    equal((job["key"], job["attempt"]), ("poison", 4))


def test_a_queue_is_removed(server):
    queue = Queue(server)
    problem(server.request("DELETE", queue.path), 404, "unknown_queue")
    put(queue, max_jobs=5)
    queue.add("a")
    (job,) = queue.take()
    problem(server.request("DELETE", queue.path), 409, "jobs_in_progress")
    problem(server.request("DELETE", f"{queue.path}?force=yes"), 400, "invalid_request")
    with queue.park() as client, Events(server, queue) as events:
        equal(server.request("DELETE", f"{queue.path}?force=true").status, 204)
        answer = client.recv(1000)
        check(answer.startswith(b"HTTP/1.1 200") and b'{"jobs":[]}' in answer, answer)
        equal([events.next()[0] for _ in range(2)], ["deleted", "removed"])
    equal(queue.ack([job["lease_id"]])["lost"], [job["lease_id"]])
    equal(queue.show()["settings"]["max_jobs"], None)
    equal(queue.add("a").status, 201)
    equal(server.request("DELETE", queue.path).status, 204)


def test_a_job_is_found_by_its_key(server):
    queue = Queue(server)
    put(queue, max_attempts=1)

    def found(key):
        return server.get(f"{queue.path}/jobs?key={key}").json()["jobs"]

    equal(found("x%20y"), [])
    (first,) = kill(queue, "x y")
    queue.add("x")
    equal([(job["id"], job["state"]) for job in found("x%20y")], [(first, "dead")])
    second = queue.add("x y", delay_ms=60_000).json()["id"]
    equal([(job["id"], job["state"]) for job in found("x+y")],
          [(second, "delayed"), (first, "dead")])
    equal(server.get(f"{queue.path}/jobs?key=x+y&limit=1").json().keys(), {"jobs"})
    problem(server.get(f"{queue.path}/jobs?key=x&state=dead"), 400, "invalid_request")
    queue = Queue(server)  # a key may be empty
    queue.add("other")
    equal(server.get(f"{queue.path}/jobs?key=").json()["jobs"], [])
    equal(queue.add("").json()["key"], "")
    equal([job["id"] for job in server.get(f"{queue.path}/jobs?key=").json()["jobs"]], ["2"])


if __name__ == "__main__":
    with RotaHttp(*sys.argv[1:]) as it:
        run_tests(globals(), it)
