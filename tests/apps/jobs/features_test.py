#!/usr/bin/env python3
"""What the job queues of rota-http can do besides adding, taking and acknowledging.

usage: features_test.py <rota-http> [options of rota-http...]
"""

import email
import json
import re
import sys

from api_test import Queue
from programs import check, equal, eventually, run_tests
from rota_http import JSON, Answer, RotaHttp, read_answer

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def problem(answer, status, code):
    equal((answer.status, answer.json()["code"]), (status, code), answer.body)
    equal(answer.headers["Content-Type"], "application/problem+json")


def post(queue, what, value):
    return queue.server.post_json(f"{queue.path}/{what}", value)


def put(queue, **settings):
    answer = queue.server.request("PUT", queue.path, json.dumps(settings), JSON)
    equal(answer.status, 200, answer.body)
    return answer.json()


def test_priorities(server):
    queue = Queue(server)
    for i, priority in enumerate((0, 9, 5, 9, 0)):
        queue.add(i, priority=priority)
    equal([job["payload"] for job in queue.take(max=9)], [1, 3, 2, 0, 4])
    problem(queue.add(1, priority=10), 400, "invalid_request")


def test_a_job_as_it_is_given_out(server):
    queue = Queue(server)
    queue.add({"a": 1}, key="k")
    (job,) = queue.take()
    equal(sorted(job), ["attempt", "id", "key", "lease_expires_at", "lease_id", "payload"])
    check(TIME.fullmatch(job["lease_expires_at"]), job)


def test_delays(server):
    queue = Queue(server)
    equal(queue.add("late", delay_ms=300).json()["state"], "delayed")
    equal(queue.add("late").json()["state"], "delayed")
    equal([job["key"] for job in queue.list("delayed")], ["late"])
    (job,) = queue.take(wait_ms=60000)  # woken by the end of the delay
    equal(job["payload"], "late")
    answer = post(queue, "ack", {"retries": [{"lease_id": job["lease_id"], "delay_ms": 600_000,
                                              "error": "no route"}]})
    equal(answer.json()["retried"], 1)
    (job,) = queue.list("delayed")
    equal((job["error"], job["attempts"]), ("no route", 1))
    check(TIME.fullmatch(job["due_at"]), job)


def test_leases_of_ones_own_length_and_extensions(server):
    queue = Queue(server)
    queue.add("job")
    (job,) = queue.take(lease_ms=600_000)
    answer = post(queue, "extend", {"leases": [{"lease_id": job["lease_id"]}, {"lease_id": "x"}],
                                    "lease_ms": 1_200_000}).json()
    equal(answer["lost"], ["x"])
    check(answer["extended"][0]["lease_expires_at"] > job["lease_expires_at"], answer)
    post(queue, "extend", {"leases": [{"lease_id": job["lease_id"]}], "lease_ms": 1})
    (again,) = queue.take(wait_ms=60000)
    equal(again["attempt"], 2)
    equal(post(queue, "extend", {"leases": [{"lease_id": job["lease_id"]}]}).json()["lost"],
          [job["lease_id"]])
    problem(post(queue, "extend", {}), 400, "invalid_request")


def test_settings(server):
    queue = Queue(server)
    shown = put(queue, max_jobs=2, max_attempts=5, lease_ms=7_000, payload_bytes_max=10)
    usual = {"after": None, "initial_ms": None, "factor": None, "max_ms": None}
    equal(shown["settings"], {"max_jobs": 2, "max_attempts": 5, "lease_ms": 7000,
                              "payload_bytes_max": 10, "paused": False, "backoff": usual})
    problem(queue.add("x" * 11), 413, "payload_too_large")
    queue.add("x" * 10)
    queue.add(2)
    answer = queue.add(3)
    problem(answer, 429, "queue_full")
    equal(answer.headers["Retry-After"], "1")
    equal(put(queue)["settings"]["max_jobs"], None)
    equal(queue.add(3).status, 201)
    problem(server.request("PUT", queue.path, '{"max_jobs":0}', JSON), 400, "invalid_request")


def test_pause_resume_purge(server):
    queue = Queue(server)
    queue.add(1)
    equal(post(queue, "pause", None).json()["paused"], True)
    equal(queue.take(), [])
    with queue.park() as client:
        equal(post(queue, "resume", None).json()["paused"], False)
        check(client.recv(100).startswith(b"HTTP/1.1 200"), "who waited is served")
    queue.add(2)
    queue.add(3, delay_ms=600_000)
    eventually(lambda: queue.show()["counts"]["queued"] + queue.show()["counts"]["in_progress"]
               == 2, "the first is where it belongs")
    post(queue, "pause", None)
    check(post(queue, "purge", None).json()["purged"] >= 2, "what is not in progress goes")
    equal(queue.list("queued") + queue.list("delayed"), [])


def test_queues_are_listed_in_pages(server):
    names = [Queue(server).name for _ in range(5)]
    for name in names:
        server.request("PUT", f"/v1/queues/{name}", "{}", JSON)
    whole = server.get("/v1/queues").json()
    equal(list(whole), ["queues"], "all of them, and no more to come")
    seen, cursor = [], ""
    while cursor is not None:
        page = server.get(f"/v1/queues?limit=2&cursor={cursor}").json()
        check(0 < len(page["queues"]) <= 2, page)
        seen += page["queues"]
        cursor = page.get("next_cursor")
    listed = [queue["queue"] for queue in seen]
    equal(listed, [queue["queue"] for queue in whole["queues"]])
    check(set(names) <= set(listed), "those that were made are listed")
    for wrong in ("limit=0", "limit=10001", "limit=x", "cursor=a%20b", "after=a"):
        problem(server.get(f"/v1/queues?{wrong}"), 400, "invalid_request")


def test_settings_that_were_shown_can_be_put_back(server):
    queue = Queue(server)
    post(queue, "pause", None)
    put(queue, max_jobs=2, max_attempts=5, paused=True)
    shown = queue.show()
    equal(put(queue, **{**shown["settings"], "lease_ms": 9})["paused"], True)
    equal(put(queue, **shown["settings"]), shown)


def test_one_job(server):
    queue = Queue(server)
    path = f"{queue.path}/jobs/{queue.add('k').json()['id']}"
    job = server.get(path).json()
    equal((job["key"], job["state"], job["attempts"]), ("k", "queued", 0))
    equal(server.request("DELETE", path).status, 204)
    for method in ("GET", "DELETE"):
        problem(server.request(method, path), 404, "unknown_job")
    for wrong in ("0", "x", "999999999999999", "99999999999999999999"):
        problem(server.get(f"{queue.path}/jobs/{wrong}"), 404, "unknown_job")
    equal(queue.take(), [])


def test_lists_have_cursors(server):
    queue = Queue(server)
    for i in range(7):
        queue.add(i, priority=i % 2)
    seen, cursor = [], ""
    while cursor is not None:
        page = server.get(f"{queue.path}/jobs?limit=2{cursor and '&cursor=' + cursor}").json()
        seen += [job["payload"] for job in page["jobs"]]
        cursor = page.get("cursor")
        if len(seen) == 4:
            queue.take(max=4)
    equal(seen, [1, 3, 5, 0, 2, 4, 6])


def test_an_idempotency_key(server):
    queue = Queue(server)

    def add(payload, token):
        return server.request("POST", f"{queue.path}/jobs", json.dumps({"payload": payload}),
                              {**JSON, "Idempotency-Key": token})

    first = add("a", "one")
    equal((first.status, first.headers["Idempotency-Replayed"]), (201, None))
    again = add("a", "one")
    equal((again.status, again.headers["Idempotency-Replayed"]), (201, "true"))
    equal(again.body, first.body)
    problem(add("b", "one"), 422, "idempotency_key_reused")
    problem(add("a", "two"), 409, "duplicate")
    problem(add("a", "t w"), 400, "invalid_request")
    problem(server.request("POST", f"{queue.path}/jobs", "{}\n", {
        "Content-Type": "application/x-ndjson", "Idempotency-Key": "x"}), 400, "invalid_request")
    equal(queue.keys()[0], ["a"])


def test_fields_that_are_there_twice(server):
    queue = Queue(server)
    answers = []

    def add(*fields, method="POST", what="jobs", body=b'{"payload":1}'):
        lines = [f"{method} {queue.path}/{what} HTTP/1.1", "Host: localhost",
                 f"Content-Length: {len(body)}", "Connection: close", *fields]
        with server.connect() as client:
            client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            data = b""
            while piece := client.recv(65536):
                data += piece
        answers.append(data)
        found = re.search(rb'"code":"(\w+)"', data)
        return int(data[9:12]), found and found[1].decode()

    twice = (400, "invalid_request")
    for fields in (("Content-Encoding: identity", "Content-Encoding: gzip"),
                   ("Content-Encoding:", "Content-Encoding: gzip"),
                   ("Content-Encoding: identity, br",)):
        equal(add(*fields), (415, "unsupported_media_type"), fields)
        check(b"\r\nAccept-Encoding: identity\r\n" in answers[-1], answers[-1])
        equal(add(*fields, "Content-Type: application/x-ndjson"), (415, "unsupported_media_type"))
    for fields in (("Content-Type: application/json", "content-type: application/x-ndjson"),
                   ("Content-Type: application/x-ndjson", "Content-Type: application/x-ndjson"),
                   ("Idempotency-Key: a", "Idempotency-Key: a"),
                   ("Idempotency-Key:", "Idempotency-Key: a")):
        equal(add(*fields), twice, fields)
    equal(add("Content-Type: application/json", "Content-Type: text/plain", what="take",
              body=b"{}"), twice)
    equal(add("Last-Event-ID: 1", "Last-Event-ID: 2", method="GET", what="events", body=b""), twice)
    for what in ("pause", "purge", "dead/1/retry"):  # which read none of them
        equal(add("Idempotency-Key: a", "Idempotency-Key: b", what=what, body=b""), twice, what)
    equal(queue.keys()[0], [])
    for fields in (("Content-Encoding: Identity",), ("Content-Encoding: identity, identity",),
                   ("Content-Encoding:",), ("Content-Encoding: identity", "content-encoding: ,")):
        equal(add(*fields)[0], 201, fields)
        equal(queue.take()[0]["payload"], 1)
        queue = Queue(server)


class Events:
    """Server-sent events, one at a time."""

    def __init__(self, server, queue, last_id=None):
        self.connection = server.session()
        headers = {} if last_id is None else {"Last-Event-ID": last_id}
        self.connection.request("GET", f"{queue.path}/events", headers=headers)
        self.answer = self.connection.getresponse()
        equal(self.answer.status, 200)
        equal(self.answer.headers["Content-Type"], "text/event-stream")
        equal(self._block(), {"retry": "1000"})

    def _block(self):
        fields = {}
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if not line:
                return fields
            name, _, value = line.partition(": ")
            fields[name] = value

    def next(self):
        while True:
            fields = self._block()
            if "event" in fields:
                return fields["event"], json.loads(fields["data"]), fields.get("id")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.connection.close()


def test_events(server):
    queue = Queue(server)
    with Events(server, queue) as events:
        ids = []
        queue.add("a")
        (job,) = queue.take()
        queue.ack([job["lease_id"]])
        for kind in ("added", "taken", "completed"):
            name, data, event_id = events.next()
            equal((name, data["type"], data["id"]), (kind, kind, job["id"]))
            ids.append(event_id)
    with Events(server, queue, ids[0]) as events:
        equal([events.next()[2], events.next()[2]], ids[1:])
    with Events(server, queue, "1-1") as events:
        equal(events.next()[0], "reset")
        equal(events.next()[2], ids[0])
    with Events(server, queue, ids[2]) as events:
        for _ in range(255):  # two events each; 500 are kept
            server.request("POST", f"{queue.path}/pause")
            server.request("POST", f"{queue.path}/resume")
        equal([events.next()[0] for _ in range(510)], ["paused", "resumed"] * 255)
    for last_id in ("1-1", "0", "none", ids[0]):
        with Events(server, queue, last_id) as events:
            equal(events.next()[0], "reset", last_id)
            equal([events.next()[0] for _ in range(500)], ["paused", "resumed"] * 250, last_id)
    with Events(server, queue, "") as events:  # as if there were none
        queue.add("z")
        equal(events.next()[0], "added")


def watched(server):
    """How many clients of events are watched for their end."""
    return sum(task["name"] == "events: is the client there"
               for task in server.get("/debug/tasks").json()["blocked"])


def test_a_client_of_events_that_goes_is_noticed(server):
    queue = Queue(server)
    eventually(lambda: watched(server) == 0, "those of other tests have gone")
    with Events(server, queue):
        eventually(lambda: watched(server) == 1, "a receive is armed")
        queue.add("a")
        equal(watched(server), 1)
    eventually(lambda: watched(server) == 0 and server.blocked("jobs::events") == 0, "it has gone")


def test_events_end_with_a_drain(server):
    with RotaHttp(*server.started_as, "--drain-timeout", "60s") as ending:
        queue = Queue(ending)
        with Events(ending, queue) as events:
            ending.signal(15)
            equal(events.answer.read(), b"")
        equal(ending.wait(), 0)


def raw(server, text, more=b""):
    """The answer to bytes that http.client would not send."""
    with server.connect() as client:
        client.sendall(text.replace("\n", "\r\n").encode() + more)
        head, body = read_answer(client)
    fields = email.message_from_bytes(head.partition(b"\r\n")[2])
    return Answer(int(head.split()[1]), fields, body)


def test_content_that_cannot_be_read_is_a_problem(server):
    queue = Queue(server)
    for what in ("take", "jobs"):
        head = f"POST {queue.path}/{what} HTTP/1.1\nHost: localhost\n"
        problem(raw(server, head + "Content-Length: 1048577\n\n"), 413, "content_too_large")
        chunked = head + "Transfer-Encoding: chunked\n\n"
        problem(raw(server, chunked + "x\n"), 400, "bad_request")
        problem(raw(server, chunked + "100001\n"), 413, "content_too_large")
        problem(raw(server, chunked + "0\n" + "a: b\n" * 100_000), 431,
                "request_header_fields_too_large")
    with RotaHttp(*server.started_as, "--body-timeout", "100ms") as hasty:
        problem(raw(hasty, head + "Content-Length: 10\n\n"), 408, "request_timeout")


def test_what_is_no_request_is_a_problem(server):
    line = "GET /v1/queues HTTP/1.1\n"
    for status, code, text in (
            (400, "bad_request", line + "\n"),
            (400, "bad_request", line.replace("queues", "%zz") + "Host: localhost\n\n"),
            (417, "expectation_failed", line + "Host: localhost\nExpect: all\n\n"),
            (431, "request_header_fields_too_large", line + "a: b\n" * 100_000),
            (501, "not_implemented", "FETCH /v1/queues HTTP/1.1\nHost: localhost\n\n"),
            (505, "http_version_not_supported", "GET /v1/queues HTTP/3.0\nHost: localhost\n\n")):
        problem(raw(server, text), status, code)
    for status, text in ((400, "?\n"), (414, f"GET /v1/{'q' * 100_000}"),
                         (501, "FETCH /v1x HTTP/1.1\nHost: localhost\n\n")):
        answer = raw(server, text)
        equal((answer.status, answer.headers["Content-Type"]),
              (status, "text/plain; charset=utf-8"), answer.body)


if __name__ == "__main__":
    with RotaHttp(*sys.argv[1:]) as it:
        run_tests({name: value for name, value in globals().items() if name != "Queue"}, it)
