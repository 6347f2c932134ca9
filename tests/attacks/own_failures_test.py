#!/usr/bin/env python3
"""What a program by http::serve() does when an allocation, the start of a thread or a system call
fails, as failures_test.py has it for rota-http: each of them in turn, of its start and of a script.

usage: own_failures_test.py <fail_calls.so> <own_server> [words of own_server...]
"""

import functools
import itertools
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attack import send_some
from failing_starts import try_starts
from failures_test import (ALLOCATIONS, CALLS, Control, NAMES, THREADS, get, places,
                           post, read_maps, talk)
from leaks import check_no_leaks
from programs import LISTENING, PATIENCE_S, check, equal, eventually, run_tests

TRIES_S = 60  # of one kind; on a busy machine fewer are tried
REPEATED = 2  # numbers of a kind that fail again and again
BLOCKS_KEPT = 1000  # in caches of threads


class OwnServer:
    """One of them, with a failure on its way or none (number 0)."""

    def __init__(self, library, program, words, kind=ALLOCATIONS, number=0):
        self.folder = tempfile.TemporaryDirectory(prefix="rota-test-")
        self.control = Control(self.folder.name)
        self.control.arm(kind, number)
        self.program = program
        self.log = Path(self.folder.name) / "log"
        self.maps = ""
        self.port = None
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen([program, *words], stdout=out, stderr=out,
                                            env=self.control.environment(library))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def output(self):
        return self.log.read_text(errors="replace")

    def wait_until_it_listens(self):
        """False if it has ended instead."""
        def has_begun():
            if self.process.poll() is not None:
                return True
            self.maps = self.maps or read_maps(self.process.pid)
            found = LISTENING.findall(self.output())
            if found:
                self.port = int(found[0].rpartition(":")[2])
            return bool(found)

        try:
            eventually(has_begun, "it listens or ends")
        except AssertionError as error:
            raise AssertionError(f"it hangs: {self.where()}") from error
        return self.port is not None

    def where(self):
        return places(self.program, self.maps, self.control.read()["where"])

    def connect(self, timeout=PATIENCE_S):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def answers(self):
        """Whether it answers an ordinary request: the one that fails may be the first of these."""
        return any(talk(self, get(b"/plaintext")).endswith(b"Hello, World!") for _ in range(3))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


def script(server):
    talk(server, get(b"/plaintext") * 3 + get(b"/hello/x") + get(b"/nothing"))
    talk(server, post(b"/echo", b"x" * 40_000))
    talk(server, b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
         b"5\r\nhello\r\n", b"0\r\n\r\n")
    talk(server, get(b"/sleep/1") + get(b"/sleep/x"))
    talk(server, b"GET / HTTP/9.9\r\n\r\n")
    talk(server, b"GET /pla")
    with server.connect() as client:  # that is reset
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        send_some(client, get(b"/sleep/100"))


def fail_once(server, kind, number):
    """One more run of the script. False: it was too short to fail."""
    failed = server.control.read()["failed"]
    server.control.arm(kind, number)
    try:
        script(server)
        has_failed = server.control.read()["failed"] != failed
        server.control.arm(kind, 0)
        check(server.answers(), "nobody is answered")
    except Exception as error:
        raise AssertionError(f"{NAMES[kind]} {number} of the script: {error}: "
                             f"{server.process.poll()}: {server.where()}\n"
                             f"{server.output()[-2000:]}") from error
    return has_failed


def fail_script(library, program, words, kind):
    with OwnServer(library, program, words) as server:
        check(server.wait_until_it_listens(), server.output())
        before = server.descriptors()
        for _ in range(5):
            script(server)
        eventually(lambda: server.descriptors() <= before, "all connections are closed")

        def blocks():
            eventually(lambda: server.descriptors() <= before, "all descriptors are closed")
            return server.control.read()["blocks"]

        at_first = blocks()
        begin = time.monotonic()
        count = 0
        for number in itertools.count(1):
            if not fail_once(server, kind, number):
                break
            count += 1
            if time.monotonic() > begin + TRIES_S:
                print("  out of time", flush=True)
                break
        print(f"  {count} have failed, {time.monotonic() - begin:.0f} s", flush=True)
        check(count > 0, "nothing has failed")
        kept = blocks() - at_first
        check(kept < BLOCKS_KEPT, f"{kept} blocks are kept")
        check_no_leaks(functools.partial(fail_once, server, kind), blocks, count, REPEATED)
        equal(server.end(), 0, "exit code")


# glibc 2.41 ends the process by itself when a thread's first object with a destructor finds no
# memory: of the log's, here. Nobody can catch that.
ENDS_IN_LIBC = "Fatal glibc error: failed to register TLS destructor"


def fail_start(library, program, words, kind, number):
    """Whether it has failed."""
    with OwnServer(library, program, words, kind, number) as server:
        serves = server.wait_until_it_listens() and server.answers()
        try:
            # It may have failed behind saying where it listens, and then ends by itself.
            code = server.end() if serves else server.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"it does not end: {server.where()}") from error
        why = f"{server.where()}\n{server.output()}"
        if ENDS_IN_LIBC in server.output():
            return True
        equal(code, 0 if serves else 1, why)
        said = [line for line in server.output().splitlines() if "[critical]" in line]
        equal(len(said), 0 if serves else 1, why)
        return server.control.read()["failed"] != 0


def fail_starts(library, program, words, kind):
    try_starts(functools.partial(fail_start, library, program, words, kind), itertools.count(1))


def test_allocations(*how):
    fail_script(*how, ALLOCATIONS)


def test_calls(*how):
    fail_script(*how, CALLS)


def test_allocations_of_the_start(*how):
    fail_starts(*how, ALLOCATIONS)


def test_calls_of_the_start(*how):
    fail_starts(*how, CALLS)


def test_threads_of_the_start(*how):
    fail_starts(*how, THREADS)


if __name__ == "__main__":
    so, own_server, *rest = sys.argv[1:]
    run_tests(globals(), so, own_server, rest)
