"""What is asked of the server: the same bytes in the same order, every time."""

import contextlib
import os
import re
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from error import InstructionsError

ANSWER_SECONDS = 20.0
STATE_SECONDS = 5.0
ANSWER_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Case:
    """`connections` send `depth` requests each, then wait for the answers; that is one turn.

    With `close` each turn has new connections, which the server closes behind the answer.
    """

    name: str
    request: bytes
    connections: int = 1
    depth: int = 1
    turns: int = 1000  # that the long run has more than the short one
    other: bytes | None = None  # asks every other time, with an answer as long
    close: bool = False
    slack: float | None = None  # how far it may be above the baseline, if not as all others

    @property
    def requests_per_turn(self):
        return self.connections * self.depth

    @property
    def piece(self):
        """What a connection sends in a turn."""
        if self.other is None:
            return self.request * self.depth
        return (self.request + self.other) * (self.depth // 2)


def get(path, fields=""):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode()


def post(path, body):
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


CASES = (
    Case("plaintext", get("/plaintext")),
    # A run takes one of several courses, in steps of 6%, by which worker is how far when.
    Case("plaintext, 16 connections", get("/plaintext"), connections=16, turns=100, slack=0.15),
    # A routine's turn has a time, which is over earlier in a batch the slower valgrind gets on.
    Case("plaintext, 16 requests deep", get("/plaintext"), depth=16, turns=200, slack=0.15),
    # A head is compared with the one before it: these are read.
    Case("plaintext, no two alike", get("/plaintext"), other=get("/plaintext?"), depth=16,
         turns=200, slack=0.15),
    Case("json", get("/json")),
    Case("echo of 1 KiB", post("/echo", b"x" * 1024)),
    Case("connection per request", get("/plaintext", "Connection: close\r\n"), close=True),
)


def read_exactly(connection, count):
    """Reads `count` bytes, no more and no fewer."""
    while count:
        piece = connection.recv(min(count, 65536))
        if not piece:
            raise InstructionsError("the server closed a connection")
        count -= len(piece)


def answer_length(connection, request):
    """Sends one request; the bytes of its answer, which those that follow must have too."""
    connection.sendall(request)
    data = b""
    while True:
        head, blank, body = data.partition(b"\r\n\r\n")
        if blank:
            length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
            if not head.startswith(b"HTTP/1.1 200 ") or not length:
                raise InstructionsError(f"an unexpected answer: {head[:80]!r}")
            if len(body) == int(length[1]):
                return len(data)
        piece = connection.recv(65536)
        if not piece or len(data) > ANSWER_BYTES_MAX:
            raise InstructionsError("the server closed a connection within an answer")
        data += piece


def parse_state(text):
    """The letter for the state of a thread, from /proc/PID/task/TID/stat."""
    return text.rsplit(")", 1)[1].split()[0]


def states(pid):
    """The states of all threads of a process."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            found.append(parse_state(path.read_text()))
    return found


def wait_until(pid, state):
    """Until all threads of the server are in that state: S sleeps, T is stopped."""
    deadline = time.monotonic() + STATE_SECONDS
    while any(one != state for one in states(pid)):
        if time.monotonic() > deadline:
            raise InstructionsError(f"the server does not come to rest (state {state})")


@contextlib.contextmanager
def stopped(pid):
    """The server is stopped while requests are put in place, so that it finds all at once."""
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(pid, "T")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def connect(port):
    return socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)


def play_closing(case, pid, port, turns):
    """A connection for each request, one at a time."""
    for _ in range(turns):
        wait_until(pid, "S")
        with connect(port) as connection:
            answer_length(connection, case.request)
            if connection.recv(1):
                raise InstructionsError(f"{case.name}: bytes behind the answer")


def play(case, pid, port, turns):
    """Runs the script of `case` against the server that listens on `port`."""
    if case.close:
        play_closing(case, pid, port, turns)
        return
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(port)) for _ in range(case.connections)]
        lengths = {answer_length(connection, case.request) for connection in connections}
        if len(lengths) != 1:
            raise InstructionsError(f"{case.name}: answers of different lengths")
        length = lengths.pop() * case.depth
        batch = case.piece
        together = stopped if case.connections > 1 else lambda _: contextlib.nullcontext()
        for _ in range(turns):
            wait_until(pid, "S")  # else it depends on the clock who finds the next request
            with together(pid):
                for connection in connections:
                    connection.sendall(batch)
            for connection in connections:
                read_exactly(connection, length)
