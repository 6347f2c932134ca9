#!/usr/bin/env python3
"""The job queues of rota-http, over HTTP.

usage: api_test.py <rota-http> [options of rota-http...]
"""

import itertools
import json
import signal
import sys
import threading

from programs import check, equal, eventually, run_tests
from rota_http import JSON, RotaHttp, read_answer

names = (f"queue-{i}" for i in itertools.count())


class Queue:
    """A queue of its own for each test."""

    def __init__(self, server):
        self.server = server
        self.name = next(names)
        self.path = f"/v1/queues/{self.name}"

    def add(self, payload, **more):
        return self.server.post_json(f"{self.path}/jobs", {"payload": payload, **more})

    def take(self, **order):
        answer = self.server.post_json(f"{self.path}/take", order)
        equal(answer.status, 200, answer.body)
        return answer.json()["jobs"]

    def ack(self, acks=(), retries=()):
        answer = self.server.post_json(f"{self.path}/ack", {
            "acks": [{"lease_id": lease} for lease in acks],
            "retries": [{"lease_id": lease} for lease in retries]})
        equal(answer.status, 200, answer.body)
        return answer.json()

    def show(self):
        answer = self.server.get(self.path)
        equal(answer.status, 200)
        return answer.json()

    def list(self, state):
        answer = self.server.get(f"{self.path}/jobs?state={state}&limit=1000")
        equal(answer.status, 200)
        return answer.json()["jobs"]

    def keys(self):
        return [[job["key"] for job in self.list(state)] for state in ("queued", "in_progress")]

    def park(self, **order):
        """A take that waits, on a raw connection; returns when it is seen to wait."""
        before = self.server.blocked("jobs::take")
        client = self.server.connect()
        body = json.dumps({"wait_ms": 60000, **order}).encode()
        client.sendall(b"POST %s/take HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (self.path.encode(), len(body), body))
        eventually(lambda: self.server.blocked("jobs::take") == before + 1,
                   "the take waits")
        return client


def test_add_take_acknowledge(server):
    queue = Queue(server)
    answer = queue.add({"to": "ann"}, key="k")
    equal((answer.status, answer.json()), (201, {"id": "1", "key": "k", "state": "queued"}))
    equal(answer.headers["Content-Type"], "application/json")
    (job,) = queue.take()
    equal({name: job[name] for name in ("id", "key", "payload", "attempt")},
          {"id": "1", "key": "k", "payload": {"to": "ann"}, "attempt": 1})
    equal(queue.keys(), [[], ["k"]])
    equal(queue.ack([job["lease_id"]]), {"acked": 1, "retried": 0, "lost": []})
    equal(queue.keys(), [[], []])
    equal(queue.ack([job["lease_id"]]), {"acked": 0, "retried": 0, "lost": [job["lease_id"]]})


def test_a_job_is_there_once(server):
    queue = Queue(server)
    queue.add("first", key="k")
    queue.add("other")
    for state in ("queued", "in_progress"):
        answer = queue.add("second", key="k")
        equal(answer.status, 409)
        equal(answer.headers["Content-Type"], "application/problem+json")
        problem = answer.json()
        equal([problem[name] for name in ("status", "code", "existing_id", "state")],
              [409, "duplicate", "1", state])
        jobs = queue.take(max=1) if state == "queued" else []
        if jobs:
            equal(jobs[0]["payload"], "first")
            lease = jobs[0]["lease_id"]
    queue.ack([lease])
    equal(queue.add("third", key="k").status, 201)
    equal(queue.keys(), [["other", "k"], []])
    equal(queue.show()["counts"]["duplicates"], 2)


def test_the_payload_is_the_key(server):
    queue = Queue(server)
    equal(queue.add({"b": [1, 2], "a": None}).json()["key"], '{"a":null,"b":[1,2]}')
    equal(queue.add({"a": None, "b": [1, 2]}).status, 409)
    equal(queue.add("text").json()["key"], "text")
    for payload in (0, 1.5, True, None, [], {}, "", "é"):
        equal(queue.add(payload).status, 201, repr(payload))
    payloads = [job["payload"] for job in queue.take(max=100)]
    equal(payloads, [{"b": [1, 2], "a": None}, "text", 0, 1.5, True, None, [], {}, "", "é"])


def test_order_and_put_back(server):
    queue = Queue(server)
    for i in range(6):
        queue.add(i)
    first = queue.take(max=3)
    equal([job["payload"] for job in first], [0, 1, 2])
    equal(queue.ack([first[1]["lease_id"]], [first[2]["lease_id"], first[0]["lease_id"]]),
          {"acked": 1, "retried": 2, "lost": []})
    again = queue.take(max=10)
    equal([(job["payload"], job["attempt"]) for job in again],
          [(0, 2), (2, 2), (3, 1), (4, 1), (5, 1)])
    check(not {job["lease_id"] for job in again} & {job["lease_id"] for job in first},
          "each delivery has a lease of its own")


def test_take_waits_for_one_never_to_fill(server):
    queue = Queue(server)
    equal(queue.take(max=5), [])
    equal(queue.take(max=5, wait_ms=30), [])
    with queue.park(max=5) as client:
        queue.add("one")
        _, body = read_answer(client)
        equal([job["payload"] for job in json.loads(body)["jobs"]], ["one"])
    queue.add("two")
    equal([job["payload"] for job in queue.take(max=5, wait_ms=60000)], ["two"])


def test_consumers_are_served_in_order(server):
    queue = Queue(server)
    clients = [queue.park() for _ in range(5)]
    for i in range(5):
        queue.add(i)
    for i, client in enumerate(clients):
        equal(json.loads(read_answer(client)[1])["jobs"][0]["payload"], i)
        client.close()


def test_a_take_whose_client_has_gone_takes_nothing(server):
    queue = Queue(server)
    waiting = server.blocked("jobs::take")
    queue.park(max=10).close()
    eventually(lambda: server.blocked("jobs::take") == waiting, "nobody waits")
    queue.add("job")
    equal(queue.keys(), [["job"], []])
    (job,) = queue.take()
    equal(job["attempt"], 1)


def test_an_answer_that_cannot_be_written_returns_its_jobs(server):
    queue = Queue(server)
    for i in range(50):
        queue.add("x" * 200_000, key=str(i))
    with server.connect() as client:
        body = b'{"max": 1000}'
        client.sendall(b"POST %s/take HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (queue.path.encode(), len(body), body))
        client.recv(1)  # the answer has begun; the rest does not fit in what the kernel holds
        equal(queue.show()["counts"]["in_progress"], 50)
    eventually(lambda: queue.show()["counts"]["queued"] == 50, "the jobs are back")
    equal([job["key"] for job in queue.take(max=3)], ["0", "1", "2"])


def test_leases_end(server):
    with RotaHttp(*server.started_as, "--lease", "300ms") as hasty:
        queue = Queue(hasty)
        for i in range(3):
            queue.add(i)
        leases = [job["lease_id"] for job in queue.take(max=2)]
        eventually(lambda: len(queue.keys()[0]) == 3, "the jobs come back")
        equal(queue.keys()[0], ["0", "1", "2"])
        equal(queue.ack(leases[:1], leases[1:])["lost"], leases)
        equal([(job["payload"], job["attempt"]) for job in queue.take(max=3)],
              [(0, 2), (1, 2), (2, 1)])
        # Whoever waits gets what comes back.
        (job,) = queue.take(max=1, wait_ms=60000)
        equal((job["payload"], job["attempt"]), (0, 3))
        check(f'rota_job_leases_expired_total{{queue="{queue.name}"}} 0'
              not in hasty.get("/metrics").body.decode(),
              "ended leases are counted")


def test_a_drain_ends_takes_that_wait(server):
    with RotaHttp(*server.started_as, "--drain-timeout", "60s") as ending:
        queue = Queue(ending)
        clients = [queue.park() for _ in range(3)]
        ending.signal(signal.SIGTERM)
        for client in clients:
            head, body = read_answer(client)
            check(b"\r\nConnection: close" in head, head)
            equal(json.loads(body), {"jobs": []})
            client.close()
        equal(ending.wait(), 0)


def test_what_is_wrong_is_told(server):
    queue = Queue(server)

    def problem(status, code, path, body, headers=None):
        answer = server.request("POST", path, body, JSON if headers is None else headers)
        equal(answer.headers["Content-Type"], "application/problem+json", answer.body)
        told = answer.json()
        equal((answer.status, told["status"], told["code"]), (status, status, code), answer.body)
        check(told["detail"] and told["title"], told)

    jobs, take, ack = (f"{queue.path}/{what}" for what in ("jobs", "take", "ack"))
    for body in ("", "{", "nonsense", '{"payload":1} x', "\xff".encode("latin1"), "[" * 200_000):
        problem(400, "bad_json", jobs, body)
    for body in ("[]", "1", "{}", '{"key":"k"}', '{"payload":1,"key":1}', '{"payload":1,"kye":""}',
                 json.dumps({"payload": 1, "key": "k" * 513})):
        problem(400, "invalid_request", jobs, body)
    for body in ("[]", '{"max":0}', '{"max":1001}', '{"max":"1"}', '{"wait_ms":60001}',
                 '{"wait_ms":-1}', '{"maximum":1}'):
        problem(400, "invalid_request", take, body)
    for body in ("{}", '{"retries":[{"lease_id":"x","delay_ms":-1}]}', '{"acks":1}',
                 '{"acks":[1]}', '{"acks":[{"lease_id":1}]}'):
        problem(400, "invalid_request", ack, body)
    problem(413, "payload_too_large", jobs, json.dumps({"payload": "x" * 262_145}))
    problem(413, "content_too_large", jobs, "x" * 1_048_577)
    problem(415, "unsupported_media_type", take, "{}", {"Content-Type": "application/x-ndjson"})
    problem(400, "bad_queue_name", "/v1/queues/a%20b/take", "{}")
    equal(server.get("/v1/queues/a%2Fb").status, 400)
    for query in ("limit=0", "state=other", "cursor=x"):
        equal(server.get(f"{jobs}?{query}").status, 400, query)
    equal(server.request("PATCH", jobs).status, 405)
    equal(queue.keys(), [[], []])
    equal(queue.add("x" * 262_144).status, 201)


def test_json_is_taken_under_any_name(server):
    queue = Queue(server)
    for i, name in enumerate(("text/plain", "application/x-www-form-urlencoded")):
        body = json.dumps({"payload": i})
        answer = server.request("POST", f"{queue.path}/jobs", body, {"Content-Type": name})
        equal(answer.status, 201, answer.body)
    for i, name in enumerate(("application/ndjson", "application/jsonl")):
        body = json.dumps({"payload": -i}) + "\n"
        answer = server.request("POST", f"{queue.path}/jobs", body, {"Content-Type": name})
        equal(answer.headers["Content-Type"], "application/x-ndjson", answer.body)


def test_charset_and_case_of_the_type_do_not_matter(server):
    queue = Queue(server)
    for kind in ("application/json; charset=utf-8", "Application/JSON ;x=y"):
        equal(server.request("POST", f"{queue.path}/take", "{}", {"Content-Type": kind}).status,
              200, kind)


def test_a_queue_exists_from_first_use(server):
    queue = Queue(server)
    shown = queue.show()
    equal((shown["queue"], shown["paused"], shown["oldest_age_ms"]), (queue.name, False, None))
    equal(set(shown["counts"].values()), {0})
    equal(queue.keys(), [[], []])
    listed = [each["queue"] for each in server.get("/v1/queues").json()["queues"]]
    check(queue.name not in listed, "looking makes no queue")
    queue.add(1)
    listed = [each["queue"] for each in server.get("/v1/queues").json()["queues"]]
    check(queue.name in listed, listed)
    check(f'rota_jobs{{queue="{queue.name}",state="queued"}} 1'
          in server.get("/metrics").body.decode(), "the gauge")


def test_a_full_queue_refuses(server):
    with RotaHttp(*server.started_as, "--max-jobs", "2") as small:
        queue = Queue(small)
        queue.add(1)
        queue.add(2)
        equal(queue.add(1).status, 409)
        answer = queue.add(3)
        equal((answer.status, answer.json()["code"]), (429, "queue_full"))
        equal(answer.headers["Retry-After"], "1")
        (job,) = queue.take()
        equal(queue.add(3).status, 429)  # in progress counts
        queue.ack([job["lease_id"]])
        equal(queue.add(3).status, 201)


def test_many_producers_and_consumers(server):
    queue = Queue(server)
    done = []
    lock = threading.Lock()

    def produce():
        connection = server.session()
        for i in range(100):
            body = json.dumps({"payload": i})
            answer = server.request("POST", f"{queue.path}/jobs", body, JSON, over=connection)
            check(answer.status in (201, 409), answer.body)
        connection.close()

    def consume():
        while True:
            jobs = queue.take(max=7, wait_ms=500)
            if not jobs:
                return
            with lock:
                done.extend(job["payload"] for job in jobs)
            equal(queue.ack([job["lease_id"] for job in jobs])["lost"], [])

    producers = [threading.Thread(target=produce) for _ in range(4)]
    consumers = [threading.Thread(target=consume) for _ in range(4)]
    for thread in producers + consumers:
        thread.start()
    for thread in producers + consumers:
        thread.join()
    counts = queue.show()["counts"]
    equal((counts["queued"], counts["in_progress"]), (0, 0))
    equal(len(done), counts["added"])
    equal(set(done), set(range(100)))
    equal(counts["added"] + counts["duplicates"], 400)


if __name__ == "__main__":
    with RotaHttp(*sys.argv[1:]) as it:
        run_tests(globals(), it)
