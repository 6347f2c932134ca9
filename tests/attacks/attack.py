"""What the attacks on rota-http share: clients that misbehave, and what must hold afterwards."""

import contextlib
import os
import select
import socket
import struct
import time

from programs import PATIENCE_S, check, equal, eventually
from rota_http import RotaHttp

# What two workers keep of any load: receive buffers that have been in use (4 MiB for a worker),
# strings to use again (2 MiB for a thread, 4 MiB between them), and what malloc cannot give back.
WORKERS = "2"
KEPT_BYTES = 48 << 20
BRIEF = "ROTA_TEST_BRIEF" in os.environ  # what takes long has been tried in another way
GET = b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n"


def best_answer_s(server, rounds=10):
    """How long an ordinary request takes at best. Limits of a second may strike an ordinary client,
    too, where nobody runs for a second: then it asks again."""
    times = []

    def answered():
        begin = time.monotonic()
        try:
            answer = server.get("/plaintext")
        except (OSError, ValueError):
            return False
        if answer.status != 200:
            return False
        equal(answer.body, b"Hello, World!")
        times.append(time.monotonic() - begin)
        return len(times) == rounds

    eventually(answered, "an ordinary request is answered")
    return min(times)


def ask(server, function):
    """What `function` of the server gives, which asks it something; None if it does not answer."""
    try:
        return function()
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Before:
    """The figures of a server at rest."""

    def __init__(self, server):
        self.best_s = best_answer_s(server)
        eventually(lambda: ask(server, lambda: server.request("POST", "/echo", b"x" * 100_000)),
                   "content is echoed")
        eventually(lambda: ask(server, server.connections) == 1, "nobody is connected")
        self.routines = eventually(lambda: ask(server, server.routines), "routines are counted")
        self.descriptors = server.descriptors()
        self.rss = server.rss_bytes()

    def check_all_back(self, server):
        """Nothing is left of an attack: an ordinary request is answered at once, and connections,
        routines, descriptors and memory are as before."""
        best = best_answer_s(server)
        limit = 20 * self.best_s + 0.2
        check(best <= limit, f"an ordinary request takes {best:.4f} s, {self.best_s:.4f} s before")
        eventually(lambda: ask(server, server.connections) == 1, "all connections are closed")
        eventually(lambda: (ask(server, server.routines) or 1 << 30) <= self.routines,
                   "all routines have ended")
        # The connection that asked is closed a moment after its answer.
        eventually(lambda: server.descriptors() <= self.descriptors, "all descriptors are closed")
        if "ROTA_TEST_SANITIZED" not in os.environ:  # then what is freed stays
            eventually(lambda: server.rss_bytes() <= self.rss + KEPT_BYTES,
                       f"memory is back at {self.rss >> 10} KiB")


@contextlib.contextmanager
def attack(server):
    """With the server as it was before, whatever happens in between."""
    before = Before(server)
    yield
    check(server.process.poll() is None, "the server runs")
    before.check_all_back(server)


@contextlib.contextmanager
def attacked(program, options, *more, **popen):
    """A server of its own for one attack."""
    workers = [] if "--workers" in more else ["--workers", WORKERS]
    with RotaHttp(program, *workers, *more, *options, **popen) as server:
        with attack(server):
            yield server


def kernel_sockets(server):
    """How many TCP sockets the kernel has for the server's port, but for the listening one and
    those that only wait for late packets: also those that no program has any more."""
    listening, waiting = "0A", "06"
    rows = [row.split() for row in open("/proc/net/tcp", encoding="ascii").readlines()[1:]]
    return sum(1 for row in rows if row[1].endswith(f":{server.port:04X}")
               and row[3] not in (listening, waiting))


def connect(server, count):
    return [server.connect() for _ in range(count)]


@contextlib.contextmanager
def parked(server, count):
    """So many clients whose requests are at work: they wait for jobs, until the end of the scope,
    however long it takes to get there."""
    path = "/v1/queues/parked"
    content = b'{"wait_ms":60000}'
    take = b"POST %s/take HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
        path.encode(), len(content), content)
    equal(server.request("PUT", path, b"{}").status, 200)
    clients = connect(server, count)
    for client in clients:
        client.sendall(take)
    eventually(lambda: server.blocked("jobs::take") == count, "all of them are at work")
    yield clients
    for client in clients:
        reset(client)
    equal(server.request("DELETE", path).status, 204)


def close_all(clients):
    for client in clients:
        client.close()


def reset(client):
    """Closes it so that the other side gets a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def send_some(client, data):
    """False if the other side has gone."""
    try:
        client.sendall(data)
        return True
    except OSError:
        return False


def receive_all(client):
    """What comes until the end, of which a reset is one kind."""
    pieces = []
    try:
        while piece := client.recv(262_144):
            pieces.append(piece)
    except ConnectionError:
        pass
    return b"".join(pieces)


def is_over(client):
    """Whether the other side has something to say, or has gone."""
    return bool(select.select([client], [], [], 0)[0])


def drip(clients, pieces, pause_s=0.05):
    """Sends every client a small piece at a time until all have been answered or cut off."""
    left = list(clients)
    until = time.monotonic() + PATIENCE_S
    for piece in pieces:
        for client in left:
            send_some(client, piece)
        time.sleep(pause_s)
        left = [client for client in left if not is_over(client)]
        if not left:
            return
        check(time.monotonic() < until, f"{len(left)} clients may go on for ever")
