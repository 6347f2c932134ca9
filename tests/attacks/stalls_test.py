#!/usr/bin/env python3
"""What an operator sees while a handler holds a worker: the report of it, and the list of routines
that a signal asks for, which needs no worker.

usage: stalls_test.py <rota-http with bad handlers> [options of it...]
"""

import re
import signal
import sys

from attack import GET, close_all, connect, is_over
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer


def ask_for(client, path):
    client.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode())


def dump(server):
    """What a signal adds to the log."""
    heading = r"tasks: \d+ routines, \d+ running, \d+ blocked"
    before = len(server.output())
    dumped = len(re.findall(heading, server.output()))
    server.signal(signal.SIGUSR1)
    server.wait_for(heading, dumped + 1)
    return server.output()[before:]


def held_and_reported(server):
    """(name, worker) of a routine that a dump has as running and that was reported to hold on."""
    running = re.search(r"  (client#\d+) on worker (\d+): running", dump(server))
    if running and f"routine {running[1]} holds worker {running[2]} for " in server.output():
        return running.groups()
    return None


def test_a_dump_while_a_worker_is_held(program, options):
    with RotaHttp(program, "--workers", "2", "--stall-limit", "100ms", *options) as server:
        clients = connect(server, 16)
        for client in clients:  # each has its worker now
            client.sendall(GET)
            read_answer(client)
        holding = clients.pop()
        ask_for(holding, "/hold")
        name, held = eventually(lambda: held_and_reported(server), "the holder is reported")
        check(not is_over(holding), "it is held meanwhile")
        for client in clients:
            ask_for(client, "/release")
        eventually(lambda: any(is_over(client) for client in clients),
                   "a client of the other worker is served")
        equal(read_answer(holding)[1], b"released\n")
        server.wait_for(rf"routine {name} has held worker {held} for \d+ ms and goes on")
        for client in clients:
            equal(read_answer(client)[1], b"one may go\n")
        close_all([holding, *clients])


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
