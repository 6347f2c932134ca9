#!/usr/bin/env python3
"""How long each endpoint of the job queues takes with many jobs in a PostgreSQL of its own.

The jobs are put into the database by SQL; a hundredth of them each is delayed, in progress, dead.
Then clients ask one endpoint after the other, each the next as soon as it has its answer. Prints a
Markdown document; ends with 1 if a p99 is above --limit, an answer is none of those that the
endpoint is asked for, or /debug/live falls silent.
"""

import argparse
import itertools
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / part) for part in ("tests/apps", "tests/apps/jobs", "bench/load")]
from postgres import Postgres  # noqa: E402
from procfs import machine  # noqa: E402
from programs import eventually  # noqa: E402
from rota_http import RotaHttp  # noqa: E402

LEASE_MS = 3_600_000
LIVE_S = 10
FILLING_S = 900
STATES = ("queued", "delayed", "in_progress", "dead")
# Job i: its place in a round over all queues decides its state.
STATE = "CASE (i / {queues}) % 100 WHEN 1 THEN 1 WHEN 2 THEN 2 WHEN 3 THEN 3 ELSE 0 END"


def fill(server, database, jobs, queues):
    """What rota-http would have written. Ids, keys and times go up."""
    server.psql(f"""
        INSERT INTO rota_queues (number, name)
            SELECT nextval('rota_queue_numbers'), 'queue-' || i
            FROM generate_series(0, {queues - 1}) i;
        INSERT INTO rota_jobs (queue, id, state, rank, attempts, duplicates, added_at, since, due,
                queued_ms, in_progress_ms, digest, token, key, payload)
            SELECT q.number, i, {STATE.format(queues=queues)}, 9, 1, 0, at + i, at + i,
                CASE WHEN {STATE.format(queues=queues)} IN (1, 2) THEN at + 86400000 + i ELSE 0 END,
                0, 0, sha256(convert_to('key-' || i, 'UTF8')),
                CASE WHEN {STATE.format(queues=queues)} = 2
                     THEN convert_to(lpad(i::text, 20, '0'), 'UTF8') END,
                convert_to('key-' || i, 'UTF8'), convert_to('"' || repeat('x', 100) || '"', 'UTF8')
            FROM generate_series(1, {jobs}) i
            JOIN rota_queues q ON q.name = 'queue-' || (i % {queues}),
            (SELECT (extract(epoch FROM now()) * 1000)::bigint - {jobs} AS at) t;
        INSERT INTO rota_keys (queue, digest, id)
            SELECT queue, digest, id FROM rota_jobs WHERE state < 3 ORDER BY id;
        SELECT setval('rota_job_ids', {jobs});
        INSERT INTO rota_counts (queue, shard, queued, delayed, in_progress, dead, added, completed,
                failures, expired, duplicates, queued_ms, in_progress_ms)
            SELECT queue, 0, count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1),
                count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 3),
                count(*), 0, 0, 0, 0, 0, 0 FROM rota_jobs GROUP BY queue;
        """, database, FILLING_S)


class Client:
    """One connection, with one request on its way."""

    def __init__(self, port, source, selector):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.source = source
        selector.register(self.socket, selectors.EVENT_READ, self)

    def send(self):
        """False if there is nothing more to ask."""
        request = next(self.source, None)
        if request is None:
            return False
        method, path, body = request
        lines = isinstance(body, list)
        content = (b"" if body is None else
                   b"".join(json.dumps(line).encode() + b"\n" for line in body) if lines else
                   json.dumps(body).encode())
        kind = "x-ndjson" if lines else "json"
        self.data = bytearray()
        self.head = None
        self.begin = time.perf_counter()
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
                            f"Content-Type: application/{kind}\r\nContent-Length: {len(content)}"
                            "\r\n\r\n".encode() + content)
        return True

    def receive(self):
        """(status, seconds) once the answer is whole."""
        piece = self.socket.recv(1 << 20)
        if not piece:
            raise RuntimeError(f"closed by the server: {self.data[:300]}")
        self.data += piece
        if self.head is None and not self.has_head():
            return None
        if self.length is None:
            if not self.data.endswith(b"\r\n0\r\n\r\n"):
                return None
        elif len(self.data) < self.length:
            return None
        return int(self.head.split(b" ", 2)[1]), time.perf_counter() - self.begin

    def has_head(self):
        """Reads it once: what this takes is taken from what is measured."""
        head, there, _ = bytes(self.data).partition(b"\r\n\r\n")
        if there:
            self.head = head
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            chunked = fields.get(b"transfer-encoding") == b"chunked"
            self.length = None if chunked else (
                len(head) + len(there) + int(fields.get(b"content-length", 0)))
        return bool(there)


def measure(port, source, clients, seconds):
    """The times of all answers, and their statuses."""
    selector = selectors.DefaultSelector()
    everyone = [Client(port, source, selector) for _ in range(clients)]
    times, statuses = [], {}
    end, waiting = time.perf_counter() + seconds, sum(client.send() for client in everyone)
    while waiting:
        for key, _ in selector.select():
            answer = key.data.receive()
            if answer is None:
                continue
            status, took = answer
            times.append(took)
            statuses[status] = statuses.get(status, 0) + 1
            if time.perf_counter() >= end or not key.data.send():
                waiting -= 1
    for client in everyone:
        client.socket.close()
    return sorted(times), statuses


def leases_of(app, queues, count):
    """(queue, lease) of jobs that are taken for this."""
    taken = []
    for i in itertools.count():
        queue = f"queue-{i % queues}"
        answer = app.post_json(f"/v1/queues/{queue}/take",
                               {"max": min(1000, count), "lease_ms": LEASE_MS}).json()
        taken += [(queue, job["lease_id"]) for job in answer["jobs"]]
        if len(taken) >= count:
            return taken


def pairs(first, second):
    """`first` of each number, and, some requests later, `second`."""
    apart = 4 * 16  # requests between two that belong together: the first has been answered
    begun, ended = itertools.count(), itertools.count()
    return (first(next(begun)) if i % 2 == 0 or i < apart else second(next(ended))
            for i in itertools.count())


def endpoints(app, jobs, queues, enough):
    """(name, requests, the statuses that are right). What uses jobs up has `enough` of them."""
    count = itertools.count

    # Jobs of a state, each once, as fill() has them; those of the first queues are for `bulk`.
    bulk = queues // 5

    def of_state(number, first=0):
        return (i for r in range(jobs // queues // 100) for i in
                range((100 * r + number) * queues, (100 * r + number + 1) * queues)
                if i > 0 and i % queues >= first)

    def at(i, rest=""):
        return f"/v1/queues/queue-{i % queues}{rest}"

    def get(name, paths):
        return f"GET {name}", (("GET", path, None) for path in paths), {200}

    for path in ("/readyz", "/debug/tasks", "/metrics", "/v1/queues", "/v1/queues?limit=20"):
        yield get(path, itertools.repeat(path))
    yield get("/v1/queues/{q}", (at(i) for i in count()))
    for state in STATES:
        yield get(f"…/jobs?state={state}", (at(i, f"/jobs?state={state}") for i in count()))
    yield get("…/jobs?cursor=", (at(i, f"/jobs?cursor=0-{jobs // 2}") for i in count()))
    yield get("…/jobs?key=", (at(i, f"/jobs?key=key-{i}") for i in itertools.cycle(
        range(1, jobs, 7))))
    yield get("…/dead", (at(i, "/dead") for i in count()))
    yield get("…/jobs/{id}", (at(i, f"/jobs/{i}") for i in itertools.cycle(range(1, jobs, 7))))
    yield "POST …/jobs", (("POST", at(i, "/jobs"), {"payload": f"new-{i}"}) for i in count()), {201}
    yield "POST …/jobs, a duplicate", (
        ("POST", at(i, "/jobs"), {"payload": 1, "key": f"key-{i}"}) for i in
        itertools.cycle(of_state(0))), {200, 409}
    yield "POST …/jobs, ten lines", (
        ("POST", at(i, "/jobs"), [{"payload": f"line-{i}-{n}"} for n in range(10)])
        for i in count()), {200}
    take = {"lease_ms": LEASE_MS}
    yield "POST …/take", (("POST", at(i, "/take"), take) for i in count()), {200}
    yield "POST …/take of 100", (
        ("POST", at(i, "/take"), take | {"max": 100}) for i in count()), {200}
    yield "POST …/jobs, POST …/take that waits", (
        ("POST", "/v1/queues/fed/" + ("take" if i % 2 else "jobs"),
         take | {"wait_ms": 5_000} if i % 2 else {"payload": i}) for i in count()), {200, 201}
    taken = leases_of(app, queues, 3 * enough)
    yield "POST …/extend", (("POST", f"/v1/queues/{q}/extend", {"leases": [lease]})
                            for q, lease in itertools.cycle(taken)), {200}
    some = iter(taken)
    yield "POST …/ack", (
        ("POST", f"/v1/queues/{q}/ack", {"acks": [lease]}) for q, lease in some), {200}
    yield "POST …/ack with retries", (
        ("POST", f"/v1/queues/{q}/ack", {"retries": [lease]}) for q, lease in some), {200}
    yield "DELETE …/jobs/{id}", (
        ("DELETE", at(i, f"/jobs/{i}"), None) for i in of_state(1)), {204}
    yield "POST …/dead/{id}/retry", (
        ("POST", at(i, f"/dead/{i}/retry"), None) for i in of_state(3, bulk)), {200}
    for i, what in enumerate(("retry", "delete")):
        yield f"POST …/dead/{what}, a hundred each", (
            ("POST", at(q, f"/dead/{what}"), None) for q in range(i, bulk, 2)), {200}
    yield "PUT /v1/queues/{q}", (("PUT", at(i), {"lease_ms": 60_000}) for i in count()), {200}
    yield "POST …/pause, …/resume", (
        ("POST", at(i // 2, "/resume" if i % 2 else "/pause"), None) for i in count()), {200}
    yield "PUT, DELETE /v1/queues/{q}", pairs(
        lambda n: ("PUT", f"/v1/queues/new-{n}", {}),
        lambda n: ("DELETE", f"/v1/queues/new-{n}", None)), {200, 204}
    yield "POST …/purge of a queue with one job", pairs(
        lambda n: ("POST", f"/v1/queues/small-{n % 200}/jobs", {"payload": n}),
        lambda n: ("POST", f"/v1/queues/small-{n % 200}/purge", None)), {200, 201}
    yield f"POST …/jobs beside a purge of {jobs // queues}", itertools.chain(
        [("POST", at(queues - 1, "/purge"), None)],
        (("POST", at(i % (queues - 1), "/jobs"), {"payload": f"beside-{i}"})
         for i in count())), {200, 201}


def live_events(app, seconds):
    """How many events /debug/live sends."""
    with app.connect() as client:
        client.sendall(b"GET /debug/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.settimeout(0.5)
        end, data = time.monotonic() + seconds, b""
        while time.monotonic() < end:
            try:
                data += client.recv(1 << 20)
            except TimeoutError:
                pass
    return data.count(b"data: ")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="rota-http")
    for name, usual, of in (("jobs", 1_000_000, int), ("queues", 100, int), ("clients", 16, int),
                            ("seconds", 2.0, float), ("limit", 50.0, float)):
        parser.add_argument(f"--{name}", type=of, default=usual,
                            help="ms of a p99; default: %(default)s" if name == "limit"
                            else "default: %(default)s")
    parser.add_argument("--only", default="", help="endpoints whose names have this in them")
    parser.add_argument("--no-analyze", action="store_true",
                        help="the server has not counted the rows when it is asked")
    return parser.parse_args()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = parse_arguments()
    program = options.program.resolve()
    os.chdir(tempfile.gettempdir())
    usual = {"shared_buffers": "128MB"} | ({"autovacuum": "off"} if options.no_analyze else {})
    with Postgres(durable=True, settings=usual) as server:
        url = server.create("bench")
        start = ("--store", url, "--log-level", "warning")
        with RotaHttp(program, *start) as app:  # makes the tables
            eventually(lambda: app.get("/v1/queues").status == 200, "the store is there")
        begin = time.monotonic()
        fill(server, "bench", options.jobs, options.queues)
        if not options.no_analyze:
            server.psql("VACUUM ANALYZE", "bench", FILLING_S)
        server.psql("CHECKPOINT", "bench", FILLING_S)  # what was filled in is not written meanwhile
        print(f"filled in {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        describe(server, options)
        wrong = []
        with RotaHttp(program, *start) as app:
            enough = int(4_000 * options.seconds)
            for name, source, right in endpoints(app, options.jobs, options.queues, enough):
                if options.only not in name:
                    continue
                times, statuses = measure(app.port, source, options.clients, options.seconds)
                p50, p99 = (1e3 * times[int(len(times) * part)] for part in (0.5, 0.99))
                if p99 > options.limit:
                    wrong.append(f"{name}: {p99:.0f} ms")
                if not right.issuperset(statuses):
                    wrong.append(f"{name}: {statuses}")
                told = ", ".join(f"{status}: {n}" for status, n in sorted(statuses.items()))
                print(f"| {name} | {len(times):,} | {p50:.2f} | {p99:.2f} | "
                      f"{1e3 * times[-1]:.2f} | {told} |", flush=True)
            events = live_events(app, LIVE_S)
            print(f"\n/debug/live: {events} events in {LIVE_S} s", flush=True)
            if events < LIVE_S / 2:
                wrong.append("/debug/live is silent")
    print(f"\nNot met: {'; '.join(wrong)}." if wrong else
          f"\nEach p99 is below {options.limit:g} ms.")
    return 1 if wrong else 0


def describe(server, options):
    version = server.psql("SHOW server_version", "bench")[0][0].split()[0]
    here = machine()
    print(f"""# Each endpoint beside many jobs

Written by `python3 bench/jobs/endpoints.py build/apps/http/rota-http`, {time.strftime("%Y-%m-%d")}.

- {here["cpu"]}, {here["cores"]} cores, {here["kernel"]}; PostgreSQL {version}, durable
- {options.jobs:,} jobs in {options.queues} queues; a hundredth each is delayed, in progress, dead
- {options.clients} clients ask {options.seconds:g} s each, the next as soon as they have an answer

| endpoint | answers | p50 ms | p99 ms | most ms | statuses |
|---|---:|---:|---:|---:|---|""", flush=True)


if __name__ == "__main__":
    sys.exit(main())
