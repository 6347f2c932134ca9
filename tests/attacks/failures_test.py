#!/usr/bin/env python3
"""What rota-http does when an allocation, the start of a thread or a system call fails: the first,
the second, and so on to the last of a script. No failure may end the process, wedge it or leave
anything behind; an ordinary request afterwards is answered.

usage: failures_test.py <fail_calls.so> <rota-http> [whole] [options of rota-http...]

Without `whole` only each n-th is tried, beginning with another one each time.
"""

import functools
import itertools
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attack import BRIEF, ask, best_answer_s, send_some
from failing_starts import try_starts
from http2_frames import (DATA, END_STREAM, GOAWAY, RST_STREAM, WINDOW_UPDATE, Http2, frame,
                          number)
from leaks import check_no_leaks
from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp

ALLOCATIONS, THREADS, CALLS = KINDS = range(3)
NAMES = ("allocation", "thread start", "system call")
LIMITS = ("--header-timeout", "5s", "--body-timeout", "5s", "--idle-timeout", "5s",
          "--send-timeout", "5s", "--workers", "2", "--request-id")
# Tries of one kind in the suite, which bounds its time.
TRIES = 40 if BRIEF else 60
STARTS = 20 if BRIEF else 40
# Each from there to the end is tried: threads and routines are at work.
LAST_OF_A_START = 50 if BRIEF else 100
SCRIPTS_S = 30  # on a busy machine fewer are tried
BLOCKS_KEPT = 2_000  # in caches that fill with time
REPEATED = 2  # numbers of a kind that fail again and again


class Control:
    """The file in which fail_calls.cpp is told what is to fail."""

    FORMAT = struct.Struct("<II3QqII32Q")

    def __init__(self, folder):
        self.path = Path(folder) / "fail"
        self.path.write_bytes(bytes(self.FORMAT.size))
        with open(self.path, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), self.FORMAT.size)

    def read(self):
        which, left, a, t, c, blocks, failed, depth, *where = self.FORMAT.unpack(self.shared[:])
        return {"which": which, "left": left, "seen": (a, t, c), "blocks": blocks,
                "failed": failed, "where": where[:depth]}

    def arm(self, kind, count):
        self.shared[4:8] = struct.pack("<I", 0)
        self.shared[:4] = struct.pack("<I", kind)
        self.shared[4:8] = struct.pack("<I", count)

    def environment(self, library):
        return {**os.environ, "LD_PRELOAD": library, "ROTA_FAIL_FILE": str(self.path)}


def places(program, maps, addresses):
    """Function names for return addresses, for whoever reads the log of a failure."""
    base = next((int(line.split("-")[0], 16) for line in maps.splitlines()
                 if line.endswith(os.path.basename(program))), 0)
    relative = [hex(a - base - 1) for a in addresses if a > base]
    found = subprocess.run(["addr2line", "-fCe", program, *relative], capture_output=True,
                           text=True, check=False).stdout.splitlines()
    return " < ".join(name[:90] for name in found[::2] if name != "??")


# --- The script: each piece gets what it wants, or an error, or the end of its connection ---

def talk(server, *pieces, until=None):
    """Sends the pieces over one connection; what comes back until it ends or `until` has come."""
    data = b""
    try:
        with server.connect() as client:
            for piece in pieces:
                client.sendall(piece)
            if until is None:
                client.shutdown(socket.SHUT_WR)
            while until is None or until not in data:
                piece = client.recv(65536)
                if not piece:
                    break
                data += piece
                if until is not None and re.match(rb"HTTP/1.1 [45]", data):
                    break
    except TimeoutError as error:
        raise AssertionError(f"stuck: {pieces!r:.200} got {data!r:.200}") from error
    except OSError:  # the end of the connection
        pass
    return data


def get(path):
    return b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n"


def post(path, body, more=b""):
    return (b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(body) + more +
            b"\r\n" + body)


def talk_http2(server):
    """Streams of all kinds over one connection, which ends behind them."""
    begin = time.monotonic()
    try:
        with server.connect() as over:
            client = Http2(over, wishes=b"\0\4" + number(1 << 20))
            client.send(frame(WINDOW_UPDATE, 0, 0, number(1 << 20)))
            client.ask(1, "/plaintext")
            client.ask(3, "/echo", method="POST", last=False)
            client.send(frame(DATA, 0, 3, b"x" * 16_000))
            client.send(frame(DATA, END_STREAM, 3, b"x" * 4_000))
            client.ask(5, "/bytes/300000")
            client.ask(7, "/sleep/1")
            client.ask(9, "/stream?lines=3&interval_ms=1")
            client.ask(11, "/ws/echo", (":protocol", "websocket"), ("sec-websocket-version", "13"),
                       method="CONNECT", last=False)
            client.send(frame(DATA, 0, 11, b"\x81\x82mask\x05\x08"))  # "hi"
            client.send(frame(DATA, END_STREAM, 11, b"\x88\x80mask"))
            client.ask(13, "/sleep/300")
            client.send(frame(RST_STREAM, 0, 13, number(8)))
            client.send(frame(GOAWAY, 0, 0, number(0) + number(0)))
            while not client.gone:
                client.read()
    except OSError:  # the end of the connection
        pass
    check(time.monotonic() < begin + PATIENCE_S, "a connection of HTTP/2 is stuck")


def script(server, tag):
    """About everything the server does, once."""
    talk(server, get(b"/plaintext") * 3 + get(b"/json") + get(b"/hello/x") + get(b"/nothing"))
    talk(server, post(b"/echo", b"x" * 20_000))
    talk(server, b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
         b"5\r\nhello\r\n", b"0\r\n\r\n")
    talk(server, get(b"/bytes/300000"))
    talk(server, get(b"/sleep/1") + get(b"/stream?lines=3&interval_ms=1"))
    talk(server, b"GET / HTTP/9.9\r\n\r\n")
    talk(server, b"GET /pla")
    jobs = b"/v1/queues/q" + tag
    talk(server, post(jobs + b"/jobs", b'{"payload":1}'))
    talk(server, post(jobs + b"/jobs", b'{"payload":2}\n{"payload":3}\nnonsense\n',
                      b"Content-Type: application/x-ndjson\r\n"))
    taken = talk(server, post(jobs + b"/take", b'{"max":2,"lease_ms":60000}'))
    leases = b",".join(b'"%s"' % lease for lease in re.findall(rb'"lease_id":"(\w+)"', taken))
    talk(server, post(jobs + b"/ack", b'{"acks":[%s]}' % leases))
    parked = talk(server, post(jobs + b"/take", b'{"max":9,"wait_ms":1}') +
                  post(jobs + b"/take", b'{"max":9,"wait_ms":1}'))
    check(b"HTTP/1.1" in parked or not parked, parked)
    talk(server, get(jobs) + get(jobs + b"/jobs") + post(jobs + b"/purge", b""))
    talk(server, get(jobs + b"/events"), until=b"\n\n")
    talk(server, get(b"/debug/tasks") + get(b"/metrics") + get(b"/healthz") + get(b"/readyz"))
    talk_http2(server)
    with server.connect() as client:  # that is reset
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        send_some(client, get(b"/sleep/300"))


class Served:
    """rota-http with calls that fail, and what is known of it."""

    def __init__(self, library, program, options, folder):
        self.control = Control(folder)
        self.program = program
        self.server = RotaHttp(program, *LIMITS, *options, "--log-level", "info",
                               store=("--store", f"sqlite:{folder}/jobs.db"),
                               env=self.control.environment(library))
        self.maps = Path(f"/proc/{self.server.pid}/maps").read_text()

    def where(self):
        return places(self.program, self.maps, self.control.read()["where"])

    def rest(self):
        """What is there at rest."""
        eventually(lambda: ask(self.server, self.server.connections) == 1, "all clients are gone")
        return ask(self.server, self.server.routines), self.server.descriptors()

    def blocks(self):
        """At rest."""
        self.rest()
        return self.control.read()["blocks"]

    def alive(self, what):
        check(self.server.process.poll() is None,
              f"{what} ends the process with {self.server.process.poll()}: {self.where()}\n"
              f"{self.server.output()[-3000:]}")
        for _ in range(3):  # the one that fails may be the first of these
            answer = talk(self.server, get(b"/plaintext"))
            if answer.endswith(b"Hello, World!"):
                return
        raise AssertionError(f"after {what} nobody is answered: {answer!r}: {self.where()}")


def fail_once(served, kind, number):
    """One more run of the script. False: it was too short to fail."""
    control = served.control
    failed = control.read()["failed"]
    control.arm(kind, number)
    what = f"{NAMES[kind]} {number} of the script"
    try:
        script(served.server, b"%d" % (number % 10))
    except Exception as error:
        served.alive(what)
        raise AssertionError(f"{what}: {error}: {served.where()}") from error
    has_failed = control.read()["failed"] != failed
    control.arm(kind, 0)
    served.alive(what)
    return has_failed


def numbers_to_try(seen, tries, whole, last=0):
    if whole:
        return range(1, 1 << 30)
    step = max(1, seen // tries)
    offset = int(time.time()) % step
    print(f"  every {step}th of {seen}, from number {1 + offset} on", flush=True)
    if last:
        print(f"  and each from {max(1, seen - last)} on", flush=True)
    begin = max(1, seen - last) if last else 1 << 30
    return itertools.chain(range(1 + offset, begin, step), range(begin, 1 << 30))


def fail_script(library, program, whole, options, kind):
    """Goes on with another server behind what is wrong, so that all of that is told."""
    wrong = []
    numbers = None
    failed = 0
    begin = time.monotonic()
    while True:
        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            served = Served(library, program, options, folder)
            try:
                with served.server as server:
                    for _ in range(3):
                        script(server, b"0")
                    before = served.rest()
                    seen = -served.control.read()["seen"][kind]
                    script(server, b"0")
                    seen += served.control.read()["seen"][kind]
                    blocks = served.control.read()["blocks"]
                    check(seen > 0 or kind == THREADS, f"no {NAMES[kind]} is seen")
                    numbers = numbers or iter(numbers_to_try(seen, TRIES, whole))
                    while fail_once(served, kind, number := next(numbers)):
                        failed += 1
                        if not whole and time.monotonic() > begin + SCRIPTS_S:
                            print(f"  out of time at number {number} of {seen}", flush=True)
                            break
                    check(failed > 0 or seen == 0, f"no {NAMES[kind]} has failed")
                    best_answer_s(server)
                    eventually(lambda: leq(served.rest(), before), f"all is as before: {before}")
                    kept = served.control.read()["blocks"] - blocks
                    check(kept < BLOCKS_KEPT, f"{kept} blocks are kept")
                    said = server.output().count("accept: ")
                    check(said <= failed + 1, f"it says {said} times that it cannot accept")
                    print(f"  {kept} blocks more than before", flush=True)
                    if seen > 0:
                        check_no_leaks(functools.partial(fail_once, served, kind), served.blocks,
                                       seen, REPEATED)
                    break
            except AssertionError as error:
                print(f"  {error!s:.1000}", flush=True)
                wrong.append(str(error)[:200])
                if len(wrong) > 30:
                    break
    print(f"  {failed} have failed, {time.monotonic() - begin:.0f} s", flush=True)
    equal(wrong, [])


def leq(now, before):
    return now[0] is not None and all(a <= b for a, b in zip(now, before))


def fail_start(library, program, options, kind, number):
    """Starts it with one failure on the way, or none if that is number 0. Whether it has failed."""
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        control = Control(folder)
        control.arm(kind, number)
        port_file = Path(folder) / "port"
        log = Path(folder) / "log"
        command = [program, *LIMITS, *options, "--port", "0", "--port-file", str(port_file),
                   "--store", f"sqlite:{folder}/jobs.db"]
        what = f"{NAMES[kind]} {number} of the start"
        with open(log, "wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out,
                                       env=control.environment(library))
        maps = ""

        def has_started():
            nonlocal maps
            maps = maps or read_maps(process.pid)
            return process.poll() is not None or port_file.exists()

        def where():
            return places(program, maps, control.read()["where"])

        try:
            try:
                eventually(has_started, "it serves or ends")
            except AssertionError as error:
                raise AssertionError(f"{what}: it hangs: {where()}") from error
            served = port_file.exists()
            if served and not answered(port_file):
                # It may have failed just behind saying where it listens, and then says so.
                served = False
                check(ends(process), f"after {what} nobody is answered: {where()}")
            if served:
                process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired as error:
                raise AssertionError(f"{what}: it does not end") from error
            text = log.read_text(errors="replace")
            why = f"{what}: {where()}\n{text}"
            equal(code, 0 if served else 1, why)
            if not served:
                lines = [line for line in text.splitlines() if line.startswith("rota-http: ")]
                equal(len(lines), 1, why)
            return control.read()["failed"] != 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def read_maps(pid):
    try:
        return Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ""


def ends(process):
    try:
        process.wait(PATIENCE_S)
        return True
    except subprocess.TimeoutExpired:
        return False


def answered(port_file):
    try:
        port = int(port_file.read_text())
    except FileNotFoundError:  # it has ended
        return False
    for _ in range(3):  # the one that fails may be the first of these
        try:
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
                client.sendall(b"GET /plaintext HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                data = b""
                while piece := client.recv(65536):
                    data += piece
                if data.endswith(b"Hello, World!"):
                    return True
        except TimeoutError:
            return False
        except ConnectionError:
            pass
    return False


def fail_starts(library, program, whole, options, kind):
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        served = Served(library, program, options, folder)
        with served.server:
            seen = served.control.read()["seen"][kind]
    try_starts(functools.partial(fail_start, library, program, options, kind),
               numbers_to_try(seen, STARTS, whole, LAST_OF_A_START))


def test_no_destructors_of_threads(_, program, *__):
    """To note what is to be destroyed at the end of a thread the C library allocates, and where it
    cannot it ends the process (rota/thread_end.hpp)."""
    imported = subprocess.run(["nm", "-DC", "--undefined-only", program], capture_output=True,
                              text=True, check=True).stdout
    check("malloc" in imported or "operator new" in imported, imported)
    check("thread_atexit" not in imported, imported)


def test_allocations(*how):
    fail_script(*how, ALLOCATIONS)


def test_calls(*how):
    fail_script(*how, CALLS)


def test_threads(*how):
    fail_script(*how, THREADS)


def test_allocations_of_the_start(*how):
    fail_starts(*how, ALLOCATIONS)


def test_calls_of_the_start(*how):
    fail_starts(*how, CALLS)


def test_threads_of_the_start(*how):
    fail_starts(*how, THREADS)


if __name__ == "__main__":
    so, rota_http, *rest = sys.argv[1:]
    everything = "whole" in rest
    only = [word for word in rest if word.startswith("test_")]
    given = [word for word in rest if word != "whole" and word not in only]
    tests = {name: value for name, value in globals().items()
             if name.startswith("test_") and (not only or name in only)}
    run_tests(tests, so, rota_http, everything, given)
