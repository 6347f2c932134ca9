#!/usr/bin/env python3
"""The wall clock jumps: no wait is longer or shorter for it, and Date follows.

usage: clock_test.py <library that lets the clock jump> <rota-http> [options of rota-http...]
"""

import email.utils
import mmap
import os
import struct
import sys
import tempfile
import time

from attack import GET, WORKERS, attack
from programs import check, equal, run_tests
from rota_http import RotaHttp, read_answer

DAY_S = 86_400
JUMPS_S = (DAY_S, -DAY_S, 3_600, -20 * 365 * DAY_S, 10 * 365 * DAY_S, -1, 0)


def check_date(head, jump_s):
    line = next(line for line in head.split(b"\r\n") if line.startswith(b"Date: "))
    date = email.utils.parsedate_to_datetime(line[6:].decode()).timestamp()
    check(abs(date - time.time() - jump_s) < DAY_S / 48, f"{line} after a jump of {jump_s} s")


def test_time_jumps(library, program, options):
    with tempfile.NamedTemporaryFile(prefix="rota-clock-") as file:
        file.write(bytes(8))
        file.flush()
        environment = {**os.environ, "ROTA_CLOCK_FILE": file.name, "LD_PRELOAD": library}
        with mmap.mmap(file.fileno(), 8) as ahead, \
                RotaHttp(program, "--workers", WORKERS, "--header-timeout", "30s",
                         "--idle-timeout", "30s", *options, env=environment) as server, \
                attack(server), server.connect() as kept, server.connect() as half, \
                server.connect() as sleeper:
            half.sendall(GET[:-2])
            for jump_s in JUMPS_S:
                sleeper.sendall(b"GET /sleep/100 HTTP/1.1\r\nHost: x\r\n\r\n")
                ahead[:] = struct.pack("=q", jump_s)
                kept.sendall(GET)  # its time to be idle has not ended
                head, _ = read_answer(kept)
                check(head.startswith(b"HTTP/1.1 200 "), head)
                check_date(head, jump_s)
                equal(read_answer(sleeper)[1], b"slept 100 ms\n")
            half.sendall(GET[-2:])  # nor had the time for a head
            check(read_answer(half)[0].startswith(b"HTTP/1.1 200 "), "half a head is completed")


def test_a_drain_ends_in_time_after_a_jump(library, program, options):
    """A deadline that is near stays near when the clock is set back."""
    with tempfile.NamedTemporaryFile(prefix="rota-clock-") as file:
        file.write(bytes(8))
        file.flush()
        environment = {**os.environ, "ROTA_CLOCK_FILE": file.name, "LD_PRELOAD": library}
        with mmap.mmap(file.fileno(), 8) as ahead, \
                RotaHttp(program, "--drain-timeout", "500ms", *options, env=environment) as server:
            with server.connect() as client:
                client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
                server.process.terminate()
                server.wait_for("draining")
                ahead[:] = struct.pack("=q", -DAY_S)
                equal(server.wait(), 0)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2], sys.argv[3:])
