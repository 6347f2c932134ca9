#!/usr/bin/env python3
"""What the server needs runs out: descriptors, room in its rings, memory.

usage: shortages_test.py <program that keeps io_uring from others> <rota-http> [options of it...]
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys

from attack import GET, attacked, close_all, connect, reset, send_some
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer


def test_no_descriptors_are_left(_, program, options):
    """Clients wait meanwhile; when some have gone, or there are more again, they are served."""
    with attacked(program, options) as server:
        before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        for _ in range(2):
            room = server.descriptors() + 20
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (room, before[1]))
            # An accept that was armed before goes by the limit of that time: the first client ends
            # it, the others come when there is another.
            clients = connect(server, 200)
            for client in clients:
                client.sendall(GET)
            left = list(clients)
            while len(left) > 100:  # 20 at a time, as others go
                for client in select.select(left, [], [], 60)[0]:
                    check(read_answer(client)[0].startswith(b"HTTP/1.1 200 "), "a whole answer")
                    client.close()
                    left.remove(client)
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
            for client in left:
                check(read_answer(client)[0].startswith(b"HTTP/1.1 200 "), "a whole answer")
            close_all(left)


def test_full_rings(launcher, program, options):
    """Rings of 16 entries, and everything at once: submissions that do not fit, completions that
    overflow. Without io_uring it is the same with what epoll has."""
    with attacked([launcher, "ENOMEM", "--above", "16", program], options) as server:
        for _ in range(3):
            clients = connect(server, 300)
            eventually(lambda: server.connections() == 301, "all are connected")
            server.signal(signal.SIGSTOP)
            for i, client in enumerate(clients):
                client.sendall(GET * (1 + i % 5) + b"GET /bytes/100000 HTTP/1.1\r\nHost: x\r\n\r\n")
            late = connect(server, 200)
            for i, client in enumerate(late):
                send_some(client, GET)
                if i % 2:
                    reset(client)
            server.signal(signal.SIGCONT)
            for i, client in enumerate(clients):
                data = b""
                while len(data) < 100_000 or not data.endswith(b"x" * 1000):
                    piece = client.recv(262_144)
                    check(piece, f"client {i} is cut")
                    data += piece
                equal(data.count(b"Hello, World!"), 1 + i % 5, f"answers to client {i}")
                equal(data.count(b"x" * 100_000), 1, f"content for client {i}")
            for client in late[::2]:
                equal(read_answer(client)[1], b"Hello, World!")
            close_all(clients + late)


def test_no_memory_for_what_clients_send(_, program, options):
    """Every allocation beyond a point fails: clients may lose their connections, but nobody else,
    and the server goes on."""
    if "ROTA_TEST_SANITIZED" in os.environ:
        return
    flood = memoryview(GET * 20_000)
    with attacked(program, options) as server:
        for room in (1 << 20, 8 << 20):
            clients = connect(server, 300)
            for client in clients:
                client.sendall(b"GET /sleep/3000 HTTP/1.1\r\nHost: x\r\n\r\n")
            eventually(lambda: server.asleep(clients) == 300, "all of them are at work")
            before = resource.prlimit(server.pid, resource.RLIMIT_AS)
            with open(f"/proc/{server.pid}/statm", encoding="ascii") as statm:
                mapped = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.prlimit(server.pid, resource.RLIMIT_AS, (mapped + room, before[1]))
            for client in clients:
                client.setblocking(False)
                send_some(client, flood)
            while select.select([], clients, [], 0.5)[1]:
                for client in select.select([], clients, [], 0)[1]:
                    if not send_some(client, flood[:65_536]):
                        client.close()
                clients = [client for client in clients if client.fileno() >= 0]
            check(server.process.poll() is None, "the server runs")
            resource.prlimit(server.pid, resource.RLIMIT_AS, before)
            for client in clients:
                reset(client)


def test_the_memory_ceiling(_, program, options):
    """Clients that make it keep much: while that is more than it may be, requests are refused, and
    those at work go on. Once it is gone requests are taken again."""
    if "ROTA_TEST_SANITIZED" in os.environ:  # a sanitizer keeps memory itself
        return
    begin = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6000000\r\n\r\n"
    with attacked(program, options, "--max-memory", "80M", "--max-body", "8M") as server:
        for _ in range(2):
            clients = connect(server, 30)
            early = server.connect()
            early.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                          b"Expect: 100-continue\r\n\r\n")
            check(early.recv(100).startswith(b"HTTP/1.1 100 "), "it is at work")
            for client in clients:  # content without its end
                client.setblocking(False)
            left = {client: begin + b"x" * 5_900_000 for client in clients}

            def refused():
                for client in select.select([], list(left), [], 0)[1]:
                    left[client] = left[client][client.send(left[client][:1 << 20]):]
                    if not left[client]:
                        del left[client]
                answer = server.get("/plaintext")
                if answer.status == 200:
                    return False
                equal(answer.status, 503)
                equal(answer.headers["Retry-After"], "1")
                equal(answer.headers["Connection"], "close")
                return True

            eventually(refused, "requests are refused")
            server.check_memory(300 << 20)
            early.sendall(b"abcde")
            equal(read_answer(early)[1], b"abcde", "what was at work goes on")
            early.close()
            for client in clients:
                reset(client)
            eventually(lambda: server.get("/plaintext").status == 200, "requests are taken again")
        server.wait_for("requests are refused", 2)


# How it begins, what it is made of, its end if it has one, and how it is refused.
NEVER_ENDING = {
    "JSON": (b"POST /v1/queues/q/jobs HTTP/1.1\r\nHost: localhost\r\n"
             b"Content-Length: 1000000\r\n\r\n", b" ", b"", b"HTTP/1.1 503 "),
    "lines": (b"POST /v1/queues/q/jobs HTTP/1.1\r\nHost: localhost\r\n"
              b"Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n{",
              b" ", b"\n", b"service_unavailable"),
    "a chat": (b"GET /ws/chat?room=a HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
               b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
               b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
               b"x", b"", b"\x03\xf5"),
}


def test_content_that_never_ends(_, program, options):
    """What is kept until it is whole has a bound over all clients; small content is taken on, and
    large content once they have gone."""
    if "ROTA_TEST_SANITIZED" in os.environ:
        return
    clients_max = 300
    small = json.dumps({"payload": "x" * 10_000}).encode()
    large = json.dumps({"payload": "x" * 200_000}).encode()
    for kind, (head, letter, end, refusal) in NEVER_ENDING.items():
        with attacked(program, options, "--max-memory", "160M", "--body-timeout", "10m") as server:
            def add(content):
                return server.request("POST", "/v1/queues/q/jobs", content).status

            clients = connect(server, clients_max)
            for client in clients:
                client.sendall(head)
                if kind == "a chat":
                    check(client.recv(4096).startswith(b"HTTP/1.1 101 "), "it is one")
                    client.sendall(b"\x81\xff" + (1_000_000).to_bytes(8, "big") + b"\0\0\0\0")
            left = {client: letter * 900_000 + end for client in clients}
            refused = set()

            def most_are_refused():
                readable, writable, _ = select.select(set(clients) - refused, list(left), [], 1)
                for client in readable:
                    if refusal in client.recv(65_536):
                        refused.add(client)
                for client in writable:
                    client.setblocking(False)
                    with contextlib.suppress(OSError):
                        left[client] = left[client][client.send(left[client][:1 << 17]):]
                    client.setblocking(True)
                    if client in refused or not left[client]:
                        del left[client]
                return not left and len(refused) > clients_max / 2

            eventually(most_are_refused, f"{kind}: most are refused")
            # A quarter, twice as it grows; 16 KiB and 128 KiB unread each; the program, and what
            # its allocator has left over.
            server.check_memory((80 << 20) + clients_max * (144 << 10) + (64 << 20))
            equal(add(small), 201, kind)
            for client in clients:
                reset(client)
            eventually(lambda: add(large) in (201, 409), f"{kind}: large content is taken again")


def test_echoes_that_nobody_reads(_, program, options):
    """/echo keeps 128 MiB for all together, however many send and do not read."""
    if "ROTA_TEST_SANITIZED" in os.environ:
        return
    clients_max = 100
    request = memoryview(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                         % (8 << 20) + b"x" * (8 << 20))
    with attacked(program, options, "--header-timeout", "10m", "--send-timeout", "10m",
                  "--max-memory", "4G") as server:
        clients = connect(server, clients_max)
        left = {}
        for client in clients:
            client.setblocking(False)
            left[client] = request

        def nothing_more():
            """Nobody takes anything any more: what is sent back has filled up everything."""
            writable = select.select([], list(left), [], 1)[1]
            for client in writable:
                left[client] = left[client][client.send(left[client][:1 << 18]):]
                if not left[client]:
                    del left[client]
            return not writable

        eventually(nothing_more, "the server takes no more")
        # Beside it: 64 KiB that are free, 128 KiB unread, 256 KiB and a piece unsent; the program,
        # and what its allocator has left over.
        server.check_memory((128 << 20) + clients_max * (640 << 10) + (64 << 20))
        for client in clients:
            reset(client)


def test_jobs_in_memory(_, program, options):
    """Jobs take up half of the ceiling at most: who would take them away is still answered."""
    if "ROTA_TEST_SANITIZED" in os.environ:
        return

    def call(what, body):
        answer = server.request("POST", f"/v1/queues/q/{what}", json.dumps(body).encode())
        return answer.status, answer.json()

    with RotaHttp(program, "--workers", "2", "--max-memory", "240M", *options) as server:
        added = 0
        while (answer := call("jobs", {"key": str(added), "payload": "x" * 200_000}))[0] == 201:
            added += 1
        equal((answer[0], answer[1]["code"]), (429, "queue_full"))
        check(500 < added < 700, added)
        status, taken = call("take", {"max": 10})
        equal((status, len(taken["jobs"])), (200, 10))
        acks = [{"lease_id": job["lease_id"]} for job in taken["jobs"]]
        status, done = call("ack", {"acks": acks})
        equal((status, done), (200, {"acked": 10, "retried": 0, "lost": []}))
        equal(call("jobs", {"payload": "room again"})[0], 201)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2], sys.argv[3:])
