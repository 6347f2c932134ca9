#!/usr/bin/env python3
"""Handlers that throw anything, before the answer and within it, and handlers that block.

usage: handlers_test.py <rota-http with bad handlers> [options of it...]
"""

import os
import select
import signal
import sys

from attack import GET, attacked, close_all, connect, is_over, receive_all
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer

WHAT = ("exception", "int", "text", "bare", "nested", "pointer", "no-memory", "cancelled",
        "timed-out", "reset")


def ask_for(client, path):
    client.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode())


def test_thrown_before_the_answer(program, options):
    """The client gets a 500 without details, and the connection goes on."""
    with attacked(program, options, "--workers", "2") as server:
        with server.connect() as client:
            for _ in range(5):
                for what in WHAT:
                    for how in ("at-once", "later"):
                        ask_for(client, f"/throw/{how}/{what}")
                        head, body = read_answer(client)
                        check(head.startswith(b"HTTP/1.1 50"), (how, what, head))
                        check(b"failed" not in body and b"around" not in body, body)
                ask_for(client, "/throw/middleware/plaintext")
                check(read_answer(client)[0].startswith(b"HTTP/1.1 500 "), "middleware")
                client.sendall(b"POST /throw/unread/int HTTP/1.1\r\nHost: x\r\n"
                               b"Content-Length: 10000\r\n\r\n" + b"x" * 10_000)
                check(read_answer(client)[0].startswith(b"HTTP/1.1 500 "), "content left unread")
                client.sendall(GET)
                equal(read_answer(client)[1], b"Hello, World!")
        server.wait_for("a handler has failed")


def test_thrown_within_the_answer(program, options):
    """It can only be cut, and the client can tell: there is no last chunk, or not all of it."""
    with attacked(program, options) as server:
        for _ in range(5):
            for what in WHAT:
                for how in ("stream", "sized"):
                    with server.connect() as client:
                        ask_for(client, f"/throw/{how}/{what}")
                        client.sendall(GET)  # is not answered: nobody could tell where it begins
                        answer = receive_all(client)
                    check(answer.startswith(b"HTTP/1.1 200 "), (how, what, answer))
                    check(answer.count(b"a piece of an answer\n") == 10, answer)
                    check(b"\r\n0\r\n" not in answer and b"Hello" not in answer, answer)


def test_thrown_by_many_at_once(program, options):
    with attacked(program, options) as server:
        for _ in range(5):
            clients = connect(server, 50)
            for i, client in enumerate(clients):
                how = ("at-once", "later", "stream", "sized")[i % 4]
                ask_for(client, f"/throw/{how}/{WHAT[i % len(WHAT)]}")
            for i, client in enumerate(clients):
                if i % 4 < 2:
                    check(read_answer(client)[0].startswith(b"HTTP/1.1 50"), "an error answer")
                else:
                    check(receive_all(client).startswith(b"HTTP/1.1 200 "), "cut")
            close_all(clients)


def served_while_held(clients):
    """Asks on every connection, until some have been answered while a handler was held. The others
    have asked, too, and are yet to be answered."""
    asking = list(clients)
    served = []
    for client in clients:
        ask_for(client, "/held")

    def found():
        for client in select.select(asking, [], [], 0)[0]:
            if read_answer(client)[1] == b"1":
                asking.remove(client)
                served.append(client)
            else:
                ask_for(client, "/held")
        return len(served) >= 5

    eventually(found, "clients of other workers are served")
    return served


def test_a_blocked_worker(program, options):
    """A handler holds one worker of four: those on the other three are served meanwhile, and those
    on the same one when it has been released."""
    with attacked(program, options, "--workers", "4") as server:
        for _ in range(3):
            eventually(lambda: server.connections() == 1, "the last ones have gone")
            clients = []
            for _ in range(40):  # one after another, so that every worker gets some of them
                clients += connect(server, 1)
                clients[-1].sendall(GET)
                read_answer(clients[-1])
            holding = clients.pop()
            ask_for(holding, "/hold")
            served = served_while_held(clients)
            check(not is_over(holding), "it is still held")
            ask_for(served[0], "/release")
            equal(read_answer(served[0])[1], b"one may go\n")
            equal(read_answer(holding)[1], b"released\n")
            for client in clients:
                if client not in served:
                    check(read_answer(client)[1] in (b"0", b"1"), "answered in the end")
            close_all([holding, *clients])


AWAITS_OF_A_STEP = 512 + 16  # budget::awaits_max, which is looked at every so many


def test_a_handler_that_never_has_to_wait(program, options):
    """It goes on by awaits that complete at once; its neighbours on the only worker are answered
    between two of its steps, none of which is longer than its budget."""
    with attacked(program, options, "--workers", "1") as server:
        with server.connect() as looping, server.connect() as neighbour:
            def told(path):
                ask_for(neighbour, path)
                return map(int, read_answer(neighbour)[1].split())

            ask_for(looping, "/loop")
            eventually(lambda: any(told("/loop/told")), "the loop has begun")
            for _ in range(100):
                awaits_before, turns_before = told("/loop/told")
                ask_for(neighbour, "/plaintext")
                equal(read_answer(neighbour)[1], b"Hello, World!")
                awaits, turns = told("/loop/told")
                check(turns > turns_before, "it had turns between two answers")
                check(awaits - awaits_before <= (turns - turns_before + 1) * AWAITS_OF_A_STEP,
                      f"{awaits - awaits_before} awaits in {turns - turns_before} turns")
            check(not is_over(looping), "it still loops")
            told("/loop/end")
            awaits, turns = map(int, read_answer(looping)[1].split())
            print(f"  {awaits} awaits in {turns} turns", flush=True)


def test_the_end_does_not_wait_for_a_blocked_handler(program, options):
    """Neither the deadline of the drain nor a second signal waits for it, on any worker."""
    # It ends without joining its threads, on purpose; all else that a sanitizer finds still counts.
    thread_sanitizer = os.environ.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0"
    environment = {**os.environ, "TSAN_OPTIONS": thread_sanitizer}
    for drain_timeout, signals in (("100ms", 1), ("10m", 2)):
        with RotaHttp(program, "--workers", "2", "--drain-timeout", drain_timeout,
                      "--stall-limit", "100ms", *options, env=environment) as server:
            clients = connect(server, 2)
            for client in clients:
                ask_for(client, "/hold")
            server.wait_for("holds worker")
            for said in ("draining", "cancelling")[:signals]:
                server.signal(signal.SIGTERM)
                server.wait_for(said)
            equal(server.wait(), 1, "exit code")
            server.wait_for("does not let go of its thread")
            close_all(clients)


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
