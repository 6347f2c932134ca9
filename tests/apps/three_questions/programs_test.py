#!/usr/bin/env python3
"""rota-three-questions on a console and over sockets.

usage: programs_test.py <rota-three-questions>
"""

import socket
import subprocess
import sys

from programs import PATIENCE_S, Program, check, equal, run_tests


def on_console(program, text):
    return subprocess.run([program], input=text, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)


def test_console_passes(program):
    run = on_console(program, "Lancelot\nThe grail\nBlue\n")
    equal(run.returncode, 0)
    check("across the bridge" in run.stdout, run.stdout)
    equal(run.stdout.count("> "), 3)


def test_console_falls(program):
    run = on_console(program, "Robin\nThe grail\nI do not know\n")
    equal(run.returncode, 1)
    check("gorge" in run.stdout, run.stdout)


def test_console_leaves(program):
    equal(on_console(program, "Robin\n").returncode, 1)


def ask(answers, line):
    answers.sendall(line.encode() + b"\n")


def test_two_clients_at_once(program):
    with Program(program, "--port", "0") as server:
        address = server.address()
        with socket.create_connection(address, PATIENCE_S) as king, \
                socket.create_connection(address, PATIENCE_S) as knight, \
                king.makefile("r") as to_king, knight.makefile("r") as to_knight:
            check("name" in to_king.readline(), "first question")
            check("name" in to_knight.readline(), "first question")
            ask(king, "Arthur")
            ask(knight, "Galahad")
            check("quest" in to_knight.readline(), "second question")
            check("quest" in to_king.readline(), "second question")
            ask(knight, "The grail")
            ask(king, "The grail")
            check("swallow" in to_king.readline(), "third question of a king")
            check("colour" in to_knight.readline(), "third question of a knight")
            ask(knight, "Blue, no, yellow")
            ask(king, "African or European?")
            check("gorge" in to_knight.read(), "the knight falls")
            check("keeper" in to_king.read(), "the keeper falls")
        equal(server.end(), 0)


def test_bad_options(program):
    for options in (["--port", "seventy"], ["--port", "70000"], ["--nonsense"]):
        with Program(program, *options) as server:
            equal(server.wait(), 2, str(options))
            equal(server.output().count("\n"), 1, "lines of the message")


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1])
