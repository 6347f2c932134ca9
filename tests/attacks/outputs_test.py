#!/usr/bin/env python3
"""What the log is written to is closed, full, or read by nobody: it is the log that goes without.

Descriptors that are closed at the start, and a pipe whose reader stops or goes, are also tested by
tests/apps/http/process_test.py.

usage: outputs_test.py <rota-http> [options of rota-http...]
"""

import os
import subprocess
import sys

from attack import attacked, close_all, connect, reset
from programs import check, equal, run_tests
from rota_http import RotaHttp, read_answer

LINES = 3_000


def much_to_log(server):
    connection = server.session()
    for _ in range(LINES):
        equal(server.get("/plaintext", over=connection).status, 200)
    connection.close()
    clients = connect(server, 50)
    for client in clients:
        client.sendall(b"GET / HTTP/9.9\r\n\r\n")
    for client in clients[::2]:
        check(read_answer(client)[0].startswith(b"HTTP/1.1 505 "), "refused")
    for client in clients[1::2]:
        reset(client)
    close_all(clients)


def test_no_room_on_the_disk(program, options):
    with open("/dev/full", "w", encoding="ascii") as full:
        with attacked(program, options, "--access-log", stdout=full, stderr=full) as server:
            much_to_log(server)


def test_closed_at_the_start(program, options):
    shell = ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', program]
    with attacked(shell, options, "--access-log", mute=True) as server:
        much_to_log(server)


def test_the_reader_goes_away(program, options):
    read_end, write_end = os.pipe()
    with attacked(program, options, "--access-log", stdout=write_end, stderr=write_end) as server:
        os.close(write_end)
        much_to_log_of_nobody = os.read(read_end, 16)
        check(much_to_log_of_nobody, "there was a reader")
        os.close(read_end)
        much_to_log(server)


def test_the_reader_stops(program, options):
    with subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE) as reader:
        try:
            with attacked(program, options, "--access-log", stderr=reader.stdin) as server:
                much_to_log(server)
        finally:
            reader.kill()


def test_no_room_for_the_port_file(program, options):
    """It cannot say where it serves, so it does not."""
    run = subprocess.run([program, "--port", "0", "--port-file", "/dev/null/port",
                          "--store", "memory", *options],
                         capture_output=True, text=True, timeout=60, check=False)
    equal(run.returncode, 1)
    check("cannot write /dev/null/port" in run.stderr, run.stderr)


def test_two_servers_at_one_port(program, options):
    """The second one says so and ends; the first one serves on."""
    with attacked(program, options) as server:
        for _ in range(3):
            run = subprocess.run([program, "--port", str(server.port), "--store",
                                  "memory", *options],
                                 capture_output=True, text=True, timeout=60, check=False)
            equal(run.returncode, 1)
            check("in use" in run.stderr, run.stderr)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
