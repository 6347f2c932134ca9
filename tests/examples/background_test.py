#!/usr/bin/env python3
"""Orders by curl, figures every second, and an end by SIGTERM that loses no order.

usage: background_test.py <background>
"""

import re
import signal
import subprocess
import sys
import threading

from programs import PATIENCE_S, Program, check, equal, eventually, run_tests

END = r"(?m)^the end: (\d+) accepted, (\d+) packed$"


def curl(where, path, *options):
    """The status and the body of an answer; (0, "") if there is none."""
    words = ["curl", "-s", "-m", str(PATIENCE_S), "-w", "\n%{http_code}", *options]
    done = subprocess.run(
        [*words, f"http://{where[0]}:{where[1]}{path}"],
        capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S,
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status or 0), body


def order(where, text):
    return curl(where, "/orders", "-d", text)[0]


def test_orders_are_packed_and_figures_come(program):
    with Program(program, "127.0.0.1:0") as server:
        where = server.address()
        for number in range(5):
            equal(order(where, f"order {number}"), 202, "an order")
        eventually(lambda: curl(where, "/packed")[1] == "5\n", "all are packed")
        server.wait_for(r"(?m)^5 accepted, 5 packed$", 2)  # again and again
        server.signal(signal.SIGTERM)
        equal(server.wait(), 0, "exit code")
        equal(re.findall(END, server.output()), [("5", "5")], "the last line")


def test_an_end_in_the_middle_loses_nothing(program):
    with Program(program, "127.0.0.1:0") as server:
        where = server.address()
        accepted = []
        some = threading.Event()

        def send():
            number = 0
            while True:
                number += 1
                status = order(where, f"order {number}")
                if status == 0:
                    return
                if status == 202:
                    accepted.append(number)
                if len(accepted) > 10:
                    some.set()

        clients = [threading.Thread(target=send) for _ in range(3)]
        for each in clients:
            each.start()
        check(some.wait(PATIENCE_S), "orders are accepted")
        server.signal(signal.SIGTERM)
        for each in clients:
            each.join(2 * PATIENCE_S)
        equal(server.wait(), 0, "exit code")
        check("cancelling" not in server.output(), "nothing that was accepted is cancelled")
        ((taken, packed),) = re.findall(END, server.output())
        equal(packed, taken, "what was accepted is packed")
        check(int(taken) >= len(accepted), "all that clients were told is there")


if __name__ == "__main__":
    run_tests(globals(), *sys.argv[1:])
