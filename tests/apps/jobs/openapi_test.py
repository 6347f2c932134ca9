#!/usr/bin/env python3
"""What the API's description (apps/jobs/api/openapi.json) says, against the running server.

usage: openapi_test.py <rota-http> [options of rota-http...]

Every request goes through Api.call(), which holds the answer against the description: its status,
type, fields and content have to be listed there. The last test looks whether every answer that is
listed has been seen. That every route is described, and nothing else: routes.cpp.
"""

import json
import re
import sys
from pathlib import Path

from json_schema import is_valid, resolve, violations, wrong_values
from openapi_document import problems
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp

# Answers that take more queues than a test should make, or a store that fails: full_disk_test.py.
NOT_SEEN_HERE = {(name, "429") for name in
                 ("configureQueue", "pauseQueue", "resumeQueue", "takeJobs", "watchQueue")}
BODY_BYTES_MAX = 1 << 20
LINES = "application/x-ndjson"


class Api:
    """The description, and a server that is held to it."""

    def __init__(self, server):
        self.server = server
        self.document = server.get("/v1/openapi.json").json()
        (where,) = self.document["servers"]
        self.prefix = where["url"]
        self.operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, item in self.document["paths"].items() for method, operation in item.items()}
        self.seen = set()

    def of(self, described):
        """The thing itself, where it is a reference."""
        return resolve(self.document, described["$ref"]) if "$ref" in described else described

    def parameters(self, operation):
        return [self.of(each) for each in operation.get("parameters", [])]

    def body_schema(self, operation, media_type="application/json"):
        return operation["requestBody"]["content"][media_type]["schema"]

    def path(self, template, values):
        return self.prefix + re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)

    def send(self, name, body=None, headers=None, query="", server=None, listed=None, **values):
        """The answer to a request, which has to be one that is listed, by its status if not
        otherwise."""
        method, template, operation = self.operations[name]
        path = self.path(template, {"queue": "q", "id": "1", **values}) + query
        answer = (server or self.server).request(method, path, body, headers)
        self.check(name, operation, answer, listed or str(answer.status))
        return answer

    def check(self, name, operation, answer, status):
        said = f"{name}: {answer.status} {answer.body[:200]!r}"
        check(status in operation["responses"], f"{said} is not listed")
        self.seen.add((name, status))
        listed = self.of(operation["responses"][status])
        for field, told in listed.get("headers", {}).items():
            value = answer.headers[field]
            check(value is not None or not told.get("required"), f"{said} without {field}")
            if value is not None:
                self.check_value(told["schema"], value, f"{said}, {field}")
        content = listed.get("content", {})
        if not content:
            equal(answer.body, b"", f"{said}, content")
            return
        media_type = answer.headers["Content-Type"].partition(";")[0]
        check(media_type in content, f"{said} as {media_type} is not listed")
        for value in self.values_of(media_type, answer.body):
            self.check_value(content[media_type]["schema"], value, said)
            if media_type == "application/problem+json":
                equal(value["status"], answer.status, said)

    def check_value(self, schema, value, said):
        wrong = list(violations(self.document, schema, value))
        check(not wrong, f"{said}: {wrong}")

    def check_problem(self, answer, status, code, said):
        """An answer that need not be listed."""
        equal(answer.headers["Content-Type"], "application/problem+json", said)
        refused(answer, status, code, said)
        equal(answer.json()["status"], status, said)
        self.check_value(self.document["components"]["schemas"]["Problem"], answer.json(), said)

    @staticmethod
    def values_of(media_type, body):
        text = body.decode()
        if media_type == LINES:
            return [json.loads(line) for line in text.splitlines()]
        return [json.loads(text)]

    def call(self, name, value=None, **more):
        """A request as it should be, with JSON as content if there is any."""
        _, _, operation = self.operations[name]
        if value is None:
            return self.send(name, **more)
        self.check_value(self.body_schema(operation), value, f"the request {name}")
        headers = {"Content-Type": "application/json", **more.pop("headers", {})}
        return self.send(name, json.dumps(value), headers, **more)

    def good(self, name, value=None, **more):
        answer = self.call(name, value, **more)
        check(answer.status < 300, f"{name}: {answer.status} {answer.body}")
        return answer.json() if answer.body else None


def refused(answer, status, code, said):
    equal((answer.status, answer.json()["code"]), (status, code), said)


def test_the_document_is_sound(api):
    equal(problems(api.document), [])
    equal(api.call("describeApi").json(), api.document)


def test_what_is_left_out_is_as_its_default(api):
    """Of these two there is none: it depends."""
    schemas = api.document["components"]["schemas"]
    retry = schemas["Acknowledgement"]["properties"]["retries"]["items"]["properties"]["delay_ms"]
    _, _, listing = api.operations["listJobs"]
    (state,) = (each["schema"] for each in api.parameters(listing) if each["name"] == "state")
    equal([schema.get("default") for schema in (retry, state)], [None, None])


def test_methods(api):
    """What OPTIONS tells of each path is what is listed."""
    for template, item in api.document["paths"].items():
        path = api.path(template, {"queue": "q", "id": "1"})
        answer = api.server.request("OPTIONS", path)
        listed = {method.upper() for method in item} | {"OPTIONS"}
        listed |= {"HEAD"} if "get" in item else set()
        equal(set(answer.headers["Allow"].split(", ")), listed, path)
        told = api.server.request("PATCH", path)
        api.check_problem(told, 405, "method_not_allowed", path)
        equal(told.headers["Allow"], answer.headers["Allow"], path)


def test_paths_that_there_are_not(api):
    for path in ("", "/", "/queue", "/queues/", "/queues/q/", "/queues/q/job", "/queues/q/jobs/1/2",
                 "/queues%2Fq", "/openapi.json/"):
        for method in ("GET", "POST", "OPTIONS"):
            answer = api.server.request(method, api.prefix + path)
            api.check_problem(answer, 404, "not_found", f"{method} {path}")
    equal(api.server.get(f"{api.prefix}x").headers["Content-Type"], "text/plain; charset=utf-8")


def test_a_job_from_its_first_day_to_its_last(api):
    q = {"queue": "life"}
    one = api.good("addJobs", {"payload": {"to": ["ann", 1.5, None]}}, **q)
    equal(api.call("addJobs", {"payload": {"to": ["ann", 1.5, None]}}, **q).status, 409)
    api.good("addJobs", {"payload": 2, "key": "zwei", "delay_ms": 600_000, "priority": 9}, **q)
    api.good("addJobs", {"payload": None}, **q)
    api.good("showJob", **q, id=one["id"])
    for state in ("queued", "delayed", "in_progress", "dead"):
        api.good("listJobs", **q, query=f"?state={state}")
    page = api.good("listJobs", **q, query="?limit=1")
    equal(len(api.good("listJobs", **q, query=f"?limit=1&cursor={page['cursor']}")["jobs"]), 1)
    equal(len(api.good("takeJobs", **q)["jobs"]), 1)  # without content
    (job,) = api.good("takeJobs", {"max": 1, "wait_ms": 60_000, "lease_ms": 60_000}, **q)["jobs"]
    api.good("listJobs", **q, query="?state=in_progress")
    leases = [{"lease_id": job["lease_id"]}, "lost"]
    equal(api.good("extendLeases", {"leases": leases, "lease_ms": 60_000}, **q)["lost"], ["lost"])
    api.good("acknowledgeJobs", {"retries": [{**leases[0], "delay_ms": 0, "error": "why"}]}, **q)
    (job,) = api.good("listJobs", **q)["jobs"]
    equal(job["error"], "why")
    api.good("deleteJob", **q, id=job["id"])
    done = api.good("acknowledgeJobs", {"acks": leases, "retries": [leases[1]]}, **q)
    equal(len(done["lost"]), 3)
    api.good("showQueue", **q)
    check(api.good("listQueues")["queues"], "the queue is there")
    equal(api.good("purgeQueue", **q)["purged"], 1)


def test_the_dead(api):
    queue = {"queue": "dead"}
    api.good("configureQueue", {"max_attempts": 1, "max_jobs": None, "lease_ms": 60_000,
                                "payload_bytes_max": 100, "paused": False,
                                "backoff": {"after": 0, "factor": 1.5, "max_ms": None}}, **queue)
    for payload in (1, 2):
        api.good("addJobs", {"payload": payload}, **queue)
        (job,) = api.good("takeJobs", {}, **queue)["jobs"]
        api.good("acknowledgeJobs", {"retries": [{"lease_id": job["lease_id"]}]}, **queue)
    page = api.good("listDeadJobs", **queue, query="?limit=1")
    check(api.good("listDeadJobs", **queue, query=f"?cursor={page['cursor']}")["jobs"], "two")
    api.good("retryDeadJob", **queue, id="1")
    equal(api.call("retryDeadJob", **queue, id="1").status, 404)
    api.good("addJobs", {"payload": 2}, **queue)
    equal(api.call("retryDeadJob", **queue, id="2").status, 409)
    check(api.good("listDeadJobs", **queue)["jobs"][0]["failed_at"], "when it failed")
    some = {"ids": ["2"], "cause": "failed", "before": "2100-01-01T00:00:00Z"}
    equal(api.good("retryDeadJobs", some, **queue), {"retried": 0, "duplicates": 1})
    equal(api.good("deleteDeadJobs", some, **queue), {"deleted": 1})
    equal(api.good("retryDeadJobs", **queue), {"retried": 0, "duplicates": 0})
    equal(api.good("deleteDeadJobs", {"ids": ["9" * 13]}, **queue), {"deleted": 0})
    equal(api.good("deleteDeadJobs", **queue), {"deleted": 0})
    check(api.good("listJobs", **queue, query="?key=2")["jobs"], "found by its key")
    api.good("takeJobs", {}, **queue)
    equal(api.call("removeQueue", **queue).status, 409)
    api.good("removeQueue", **queue, query="?force=true")
    equal(api.call("removeQueue", **queue).status, 404)


def test_pausing(api):
    equal(api.good("pauseQueue", queue="pausing")["paused"], True)
    equal(api.good("resumeQueue", queue="pausing")["paused"], False)


def test_lines(api):
    api.good("configureQueue", {"max_jobs": 2, "payload_bytes_max": 20}, queue="lines")
    lines = ['{"payload":1}', '{"payload":1}', "{", '{"payload":%s}' % json.dumps("x" * 30), "",
             '{"load":1}', '{"payload":2}', '{"payload":3}', "x" * BODY_BYTES_MAX + "x",
             '{"payload":"%s"}' % ("x" * (256 * 1024 + 1))]
    answer = api.send("addJobs", "\n".join(lines), {"Content-Type": LINES}, queue="lines")
    told = Api.values_of(LINES, answer.body)
    equal([each.get("code", each.get("reason", each.get("outcome"))) for each in told],
          ["enqueued", "duplicate", "bad_json", "payload_too_large", "invalid_request", "enqueued",
           "queue_full", "line_too_long", "payload_too_large", None])
    equal(told[-1]["summary"]["lines"], len(told) - 1)


def test_an_idempotency_key(api):
    for payload, key, status in ((1, "k", 201), (1, "k", 201), (2, "k", 422), (2, "a b", 400),
                                 (2, "x" * 256, 400)):
        answer = api.call("addJobs", {"payload": payload}, headers={"Idempotency-Key": key},
                          queue="idempotent")
        equal(answer.status, status, key)
    wrong = api.send("addJobs", "{}", {"Content-Type": LINES, "Idempotency-Key": "x"}, queue="i")
    refused(wrong, 400, "invalid_request", "a key for lines")


def test_events(api):
    _, template, operation = api.operations["watchQueue"]
    schema = operation["responses"]["200"]["content"]["text/event-stream"]["schema"]
    api.good("addJobs", {"payload": 1}, queue="events")
    api.good("pauseQueue", queue="events")
    connection = api.server.session()
    connection.request("GET", api.path(template, {"queue": "events"}),
                       headers={"Last-Event-ID": "none"})
    answer = connection.getresponse()
    equal((answer.status, answer.headers["Content-Type"]), (200, "text/event-stream"))
    kinds = []
    while len(kinds) < 3:
        line = answer.readline().decode().rstrip("\n")
        if line.startswith("event: "):
            kinds.append(line.removeprefix("event: "))
        elif line.startswith("data: ") and kinds[-1] != "reset":
            event = json.loads(line.removeprefix("data: "))
            api.check_value(schema, event, "an event")
            equal(event["type"], kinds[-1])
    equal(kinds, ["reset", "added", "paused"])
    connection.close()
    api.seen.add(("watchQueue", "200"))


def test_names_that_are_none(api):
    bodies = {"addJobs": {"payload": 1}, "acknowledgeJobs": {"acks": []},
              "extendLeases": {"leases": []}, "configureQueue": {}}
    for name, (_, _, operation) in api.operations.items():
        in_path = [each["name"] for each in api.parameters(operation) if each["in"] == "path"]
        names = ("a%20b", "x" * 129, "%C3%A4", "a%2Fb", ".", "..", "%2E%2e")
        for wrong in names if "queue" in in_path else ():
            answer = api.call(name, bodies.get(name), queue=wrong)
            refused(answer, 400, "bad_queue_name", f"{name} {wrong}")
        for wrong in ("0", "x", "01", "99999", "9" * 20, "%2F") if "id" in in_path else ():
            refused(api.send(name, id=wrong), 404, "unknown_job", f"{name} {wrong}")
        # Of several that are wrong the first, in the order of the path, the query and the content.
        body = b"{" if "requestBody" in operation else None
        wrong = {"body": body, "query": "?no-such=1", "id": "x"}
        if "queue" in in_path:
            refused(api.send(name, **wrong, queue="a%20b"), 400, "bad_queue_name", name)
        if "id" in in_path:
            refused(api.send(name, **wrong), 404, "unknown_job", name)


def test_codings_that_there_are_not(api):
    job = api.good("addJobs", {"payload": 1}, queue="coded")
    for name, (method, template, _) in api.operations.items():
        if method == "GET":
            path = api.path(template, {"queue": "coded", "id": job["id"]})
            answer = api.server.request("GET", path, None, {"Accept-Encoding": "identity;q=0, x"})
            api.check_problem(answer, 406, "not_acceptable", name)


def test_what_any_operation_may_answer(api):
    for name, (_, _, operation) in api.operations.items():
        wrong = api.send(name, headers={"Expect": "x"}, listed="default")
        refused(wrong, 417, "expectation_failed", name)
        if any(each["name"] == "queue" for each in api.parameters(operation)):
            refused(api.send(name, queue="a%00b", listed="default"), 404, "not_found", name)


def test_wrong_queries(api):
    wrong = {"limit": ("0", "1001", "x", "1.5"), "state": ("Queued", "done"),
             "force": ("yes", "1"), "key": ("x&state=dead", "x&cursor=9-1"),
             "cursor": ("x", "1", "10-1", "1-0", "-", "1-99999999999999",
                        "00-1", "009-1")}
    of_queues = {"limit": ("0", "10001", "x"), "cursor": ("a%20b", "%2F")}
    for name, (_, _, operation) in api.operations.items():
        for parameter in api.parameters(operation):
            if parameter["in"] != "query":
                continue
            listed = of_queues if name == "listQueues" else wrong
            for value in listed[parameter["name"]]:
                answer = api.send(name, query=f"?{parameter['name']}={value}")
                refused(answer, 400, "invalid_request", f"{name} {parameter['name']}={value}")
            equal(parameter["allowEmptyValue"], True)
            empty = api.send(name, query=f"?{parameter['name']}=")
            check(empty.status < 300 or name == "removeQueue", f"{name}: {empty.body}")
            check(empty.status != 400, f"{name}: {empty.body}")


def test_unknown_queries(api):
    """A parameter that is not listed is refused by name, and so is one that is there twice."""
    for name, (_, _, operation) in api.operations.items():
        known = [each["name"] for each in api.parameters(operation) if each["in"] == "query"]
        for wrong in ("statte=dead", "no-such-parameter", "State=queued", "", "%ff=1"):
            answer = api.send(name, query=f"?{wrong}&x=1")
            refused(answer, 400, "invalid_request", f"{name} {wrong}")
            told = answer.json()["detail"]
            check(f'"{wrong.partition("=")[0] or "x"}"' in told or "%" in wrong, told)
            check(all(f'"{each}"' in told for each in known), told)
        for each in known:
            twice = api.send(name, query=f"?{each}=&{each}=")
            refused(twice, 400, "invalid_request", f"{name} {each} twice")
            check(f'"{each}"' in twice.json()["detail"], twice.body)


def test_wrong_content(api):
    """Whatever the description does not allow is refused, and the other way round."""
    tried = 0
    job_id = api.document["components"]["schemas"]["JobId"]
    for text in ("1", "9" * 13, "0", "01", "x", "", "9" * 14, "9" * 23):
        answer = api.send("retryDeadJobs", json.dumps({"ids": [text]}))
        equal(answer.status, 200 if is_valid(api.document, job_id, text) else 400, text)
    for name, (_, _, operation) in api.operations.items():
        if "requestBody" not in operation:
            continue
        schema = api.body_schema(operation)
        for why, value in wrong_values(api.document, schema):
            check(not is_valid(api.document, schema, value), f"{name}: {why}: {value!r:.200}")
            refused(api.send(name, json.dumps(value)), 400, "invalid_request",
                    f"{name}: {why}: {value!r:.200}")
            tried += 1
        for text in ("{", "[1", "\xff", "{}{}", "nul"):
            refused(api.send(name, text.encode("latin-1")), 400, "bad_json", f"{name} {text}")
        if operation["requestBody"]["required"]:
            refused(api.send(name), 400, "bad_json", f"{name} without content")
        large = " " * BODY_BYTES_MAX + "{}"
        refused(api.send(name, large), 413, "content_too_large", name)
        for content in operation["requestBody"]["content"]:
            answer = api.send(name, "{}", {"Content-Type": content, "Content-Encoding": "gzip"})
            refused(answer, 415, "unsupported_media_type", f"{name}: gzip as {content}")
        if LINES not in operation["requestBody"]["content"]:
            answer = api.send(name, "{}", {"Content-Type": LINES})
            refused(answer, 415, "unsupported_media_type", name)
    check(tried > 60, f"{tried} wrong contents")
    large = api.send("addJobs", json.dumps({"payload": "x" * (256 * 1024 + 1)}))
    refused(large, 413, "payload_too_large", "a large payload")


def test_a_full_queue(api):
    with RotaHttp(*api.server.started_as, "--max-jobs", "1") as full:
        equal(api.call("addJobs", {"payload": 1}, server=full).status, 201)
        refused(api.call("addJobs", {"payload": 2}, server=full), 429, "queue_full", "one too many")


def test_who_may_ask(api):
    """Every answer of the guard, to every operation."""
    tokens = Path(api.server.folder.name) / "tokens"
    tokens.write_text("right\n")
    foreign = {"Origin": "http://elsewhere.example"}
    with RotaHttp(*api.server.started_as, "--token-file", tokens) as guarded:
        for name, (method, _, _) in api.operations.items():
            refused(api.send(name, headers={"Host": "elsewhere.example"}), 421,
                    "misdirected_request", name)
            if method != "GET":
                refused(api.send(name, headers=foreign), 403, "forbidden", name)
            refused(api.send(name, server=guarded), 401, "unauthorized", name)
            wrong = {"Authorization": "Bearer wrong"}
            refused(api.send(name, headers=wrong, server=guarded), 401, "unauthorized", name)


def test_a_server_without_memory(api):
    """It answers 503 to everything."""
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n"
    content = head + b"x" * 7_900_000
    with RotaHttp(*api.server.started_as, "--max-memory", "64M") as short:
        clients = []

        def is_short():
            if len(clients) < 12:
                clients.append(short.connect())
                try:
                    clients[-1].sendall(content)  # without its end: the server keeps it
                except OSError:  # it has refused before it had read all
                    pass
            return short.get("/healthz").status == 503

        eventually(is_short, "it refuses")
        for name in api.operations:
            refused(api.send(name, server=short), 503, "service_unavailable", name)
        for client in clients:
            client.close()


def test_everything_that_is_listed_has_been_seen(api):
    listed = {(name, status) for name, (_, _, operation) in api.operations.items()
              for status in operation["responses"]}
    equal(sorted(listed - api.seen - NOT_SEEN_HERE), [])
    equal(sorted(NOT_SEEN_HERE - listed), [])


if __name__ == "__main__":
    with RotaHttp(*sys.argv[1:]) as it:
        run_tests(globals(), Api(it))
