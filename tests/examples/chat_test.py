#!/usr/bin/env python3
"""Many clients in a room, one of which does not read: the others get every line, in order.

usage: chat_test.py <chat> [library that counts allocations]
       CHAT_CLIENTS=10000 for as many clients as that, if descriptors allow
"""

import os
import resource
import select
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import PATIENCE_S, Program, check, equal, eventually, run_tests

WELCOME = b"welcome\n"
BATCH = 16  # lines on their way at once: within what an outbox holds
LINE = 1000
WARM_UP = 10  # batches, until every client has had its share of memory
DEAF_BYTES = 4 << 20  # what an outbox, the server's queue and the kernel keep of one at most
SANITIZED = bool(os.environ.get("ROTA_TEST_SANITIZED"))


def clients_wanted():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    few = 100 if SANITIZED else 500
    return min(int(os.environ.get("CHAT_CLIENTS", few)), most - 200)


def resident_bytes(program):
    pages = Path(f"/proc/{program.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


class Crowd:
    """Clients that read whatever comes; each has got `total[i]` bytes."""

    def __init__(self, where, count):
        self.where = where
        self.selector = selectors.EpollSelector()
        self.clients = []
        self.total = []
        self.wrong = 0
        for _ in range(count):
            self.add()

    def add(self):
        client = socket.create_connection(self.where, timeout=PATIENCE_S)
        equal(read_exactly(client, len(WELCOME)), WELCOME, "the greeting")
        client.setblocking(False)
        self.selector.register(client, selectors.EVENT_READ, len(self.clients))
        self.clients.append(client)
        self.total.append(0)

    def read_until_all_have(self, stream, upto, but=()):
        """Everyone has got the first `upto` bytes of `stream`, and nothing else."""
        missing = {i for i in range(len(self.clients)) if i not in but and self.total[i] < upto}
        while missing:
            ready = self.selector.select(PATIENCE_S)
            check(ready, f"{len(missing)} clients wait for a line")
            for key, _ in ready:
                piece = key.fileobj.recv(1 << 20)
                check(piece, "a client that reads is cut off")
                at = self.total[key.data]
                self.wrong += stream[at : at + len(piece)] != piece
                self.total[key.data] = at + len(piece)
                if self.total[key.data] >= upto:
                    missing.discard(key.data)
        equal(self.wrong, 0, "pieces that are not what was said")

    def close(self):
        self.selector.close()
        for client in self.clients:
            client.close()


def read_exactly(client, count):
    got = b""
    while len(got) < count:
        piece = client.recv(count - len(got))
        check(piece, "the server closes a connection")
        got += piece
    return got


def line(number):
    return (b"%d " % number).ljust(LINE - 1, b"x") + b"\n"


def enter(where, room=None):
    client = socket.socket()
    if room is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    client.settimeout(PATIENCE_S)
    client.connect(where)
    equal(read_exactly(client, len(WELCOME)), WELCOME, "the greeting")
    return client


def test_a_wrong_address(program, *_):
    run = subprocess.run([program, "nowhere"], capture_output=True, text=True, timeout=PATIENCE_S,
                         check=False)
    equal(run.returncode, 1)
    check("nowhere" in run.stdout + run.stderr, "the address is named")


def test_one_that_does_not_read(program, *_):
    with Program(program, "127.0.0.1:0") as chat:
        where = chat.address()
        crowd = Crowd(where, clients_wanted())
        speaker = enter(where)
        said = bytearray()

        def say_some():
            begin = len(said)
            for number in range(BATCH):
                said.extend(line(begin // LINE + number))
            speaker.sendall(memoryview(said)[begin:])
            crowd.read_until_all_have(said, len(said))

        for _ in range(WARM_UP):
            say_some()
        before = resident_bytes(chat)
        deaf = enter(where, room=4096)
        cut = select.poll()
        cut.register(deaf, 0)  # tells of an error only
        begin = len(said)
        while not cut.poll(0):
            say_some()
            check(len(said) - begin < 2 * DEAF_BYTES, "one that does not read is cut off")
        grown = resident_bytes(chat) - before
        print(f"{len(crowd.clients)} clients, {len(said) - begin} bytes to one that does not read: "
              f"the server has grown by {grown}")
        if not SANITIZED:
            # On a busy machine the others may have a whole batch on its way for the first time.
            most = DEAF_BYTES + 2 * BATCH * LINE * len(crowd.clients)
            check(grown < most, f"memory grows by {grown}, not below {most}")
        begin = len(said)
        said += line(0)  # and it goes on
        speaker.sendall(line(0))
        crowd.read_until_all_have(said, len(said))
        deaf.close()
        speaker.close()
        crowd.close()


def test_many_lines_at_once_cut_off_none_that_read(program, *_):
    with Program(program, "127.0.0.1:0") as chat:
        crowd = Crowd(chat.address(), 4)
        speaker = enter(chat.address())
        said = b"".join(b"%d\n" % number for number in range(5000))
        speaker.sendall(said)
        crowd.read_until_all_have(said, len(said))
        speaker.close()
        crowd.close()


def test_an_allocation_is_of_a_message_not_of_a_receiver(program, *counter):
    if not counter:
        return
    with tempfile.NamedTemporaryFile(prefix="rota-allocations-") as count:
        count.write(bytes(8))
        count.flush()
        os.environ["ROTA_ALLOCATIONS_FILE"] = count.name
        os.environ["LD_PRELOAD"] = counter[0]
        try:
            chat = Program(program, "127.0.0.1:0")
        finally:
            del os.environ["LD_PRELOAD"]
        with chat:
            where = chat.address()
            crowd = Crowd(where, 200)
            speaker = enter(where)
            said = bytearray()

            def allocations_for(lines):
                before = struct.unpack("=Q", Path(count.name).read_bytes())[0]
                for number in range(lines):
                    text = (b"%d" % number).rjust(99, b" ") + b"\n"
                    said.extend(text)
                    speaker.sendall(text)
                    crowd.read_until_all_have(said, len(said))
                return struct.unpack("=Q", Path(count.name).read_bytes())[0] - before

            lines = 50
            allocations_for(lines)

            def few():
                """In one of several stretches: other threads do something of their own."""
                each = allocations_for(lines) / lines
                print(f"{each} allocations for a line to 200 receivers")
                return each <= 4

            eventually(few, "allocations are of the message")
            speaker.close()
            crowd.close()


if __name__ == "__main__":
    run_tests(dict(globals()), *sys.argv[1:])
