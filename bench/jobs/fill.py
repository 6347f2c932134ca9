"""Puts many jobs into a queue, by few large requests."""

import http.client
import json
import socket

from error import BenchError

AT_ONCE = 1_000
LEASE_MS = 3_600_000
PATIENCE_S = 300


def keys(first, count):
    return [f"job-{number:016}" for number in range(first, first + count)]


def fill(queue, count, payload, first=0):
    """`count` jobs with keys of 20 bytes and so large payloads."""
    (fill_http if queue.dialect == "http" else fill_redis)(queue, count, "x" * payload, first)


def ask(connection, path, body, kind="application/json"):
    connection.request("POST", f"/v1/queues/bench/{path}", body, {"Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise BenchError(f"{path}: {answer.status} {text[:300]!r}")
    return text


def fill_http(queue, count, payload, first):
    connection = http.client.HTTPConnection("127.0.0.1", queue.port, timeout=PATIENCE_S)
    for done in range(0, count, AT_ONCE):
        some = keys(first + done, min(AT_ONCE, count - done))
        body = "".join(f'{{"key":"{key}","payload":"{payload}"}}\n' for key in some)
        text = ask(connection, "jobs", body, "application/x-ndjson")
        summary = json.loads(text.splitlines()[-1])["summary"]
        if summary["enqueued"] != len(some):
            raise BenchError(f"{queue.name}: {summary}")
    connection.close()


def take_http(queue, count):
    """Takes so many and holds them."""
    connection = http.client.HTTPConnection("127.0.0.1", queue.port, timeout=PATIENCE_S)
    held = 0
    while held < count:
        wanted = {"max": min(AT_ONCE, count - held), "lease_ms": LEASE_MS}
        got = ask(connection, "take", json.dumps(wanted)).count(b'"lease_id":')
        if not got:
            raise BenchError(f"{queue.name}: only {held} of {count} jobs can be taken")
        held += got
    connection.close()


def fill_redis(queue, count, payload, first):
    lines = 2 if queue.dialect == "stream" else 1  # of a reply
    with socket.create_connection(("127.0.0.1", queue.port), PATIENCE_S) as server:
        for done in range(0, count, AT_ONCE):
            some = keys(first + done, min(AT_ONCE, count - done))
            if queue.dialect == "list":
                commands = [f'LPUSH bench "{key} {payload}"\r\n' for key in some]
            else:
                commands = [f"XADD bench * key {key} payload {payload}\r\n" for key in some]
            server.sendall("".join(commands).encode())
            replies = b""
            while replies.count(b"\r\n") < lines * len(some):
                piece = server.recv(65536)
                if not piece or b"-ERR" in piece:
                    raise BenchError(f"{queue.name}: {piece[:200]!r}")
                replies += piece
