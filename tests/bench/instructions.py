#!/usr/bin/env python3
"""What the count of instructions plays, reads and compares; nothing is counted here."""

import os
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/instructions"))
sys.dont_write_bytecode = True

import baseline  # noqa: E402
import callgrind  # noqa: E402
import script  # noqa: E402
from error import InstructionsError  # noqa: E402

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"


class Script(unittest.TestCase):
    def serve(self, answers, request_bytes):
        """A server on a thread: each whole request gets the next of `answers`; then it closes."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def work():
            client, _ = listener.accept()
            with client:
                for answer in answers:
                    left = request_bytes
                    while left and (piece := client.recv(left)):
                        left -= len(piece)
                    client.sendall(answer)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 5)
        return listener.getsockname()[1]

    def sleeper(self):
        """A process that sleeps, in place of a server that is idle."""
        pid = os.fork()
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, 9)
        return pid

    def test_batches(self):
        case = script.Case("x", b"12345", depth=4)
        port = self.serve([ANSWER] * 9, 5)
        script.play(case, self.sleeper(), port, 2)

    def test_server_that_leaves_early(self):
        port = self.serve([ANSWER] * 3, 5)
        with self.assertRaises((InstructionsError, OSError)):
            script.play(script.Case("x", b"12345"), self.sleeper(), port, 9)

    def test_answer_in_pieces_and_wrong_ones(self):
        for data, length in ((ANSWER, len(ANSWER)), (b"HTTP/1.1 404 No\r\n\r\n", None)):
            mine, other = socket.socketpair()
            with mine, other:
                other.sendall(data[:30])
                late = threading.Timer(0.02, other.sendall, [data[30:]])
                late.start()
                if length:
                    self.assertEqual(script.answer_length(mine, b"?"), length)
                else:
                    with self.assertRaises(InstructionsError):
                        script.answer_length(mine, b"?")
                late.join()

    def test_stopped_and_resting(self):
        pid = self.sleeper()
        script.wait_until(pid, "S")
        with script.stopped(pid):
            self.assertEqual(script.states(pid), ["T"])
        script.wait_until(pid, "S")
        self.assertEqual(script.parse_state("1 (a) S (b) R 7"), "R")

    def test_cases_differ_in_name(self):
        self.assertEqual(len({case.name for case in script.CASES}), len(script.CASES))


class Baseline(unittest.TestCase):
    def test_compilers(self):
        data = b"\0GCC: (Debian 12.2.0-14) 12.2.0\0GCC: (Debian 12.2.0-14) 12.2.0\0x"
        self.assertEqual(baseline.compilers_in(data), "gcc 12.2.0")
        self.assertEqual(
            baseline.compilers_in(data + b"Debian clang version 19.1.4 (1)\0"),
            "clang 19.1.4, gcc 12.2.0",
        )
        self.assertEqual(baseline.compilers_in(b"\x7fELF"), "unknown")

    def test_library(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "libllhttp.so.9.2").symlink_to(Path(folder, "libllhttp.so.9.2.1"))
            listing = f"\tlibc.so.6 => /lib/libc.so.6 (0x1)\n\tlibllhttp.so.9.2 => {folder}/"
            listing += "libllhttp.so.9.2 (0x2)\n"
            self.assertEqual(baseline.library_in(listing, "libllhttp"), "libllhttp.so.9.2.1")
        self.assertEqual(baseline.library_in("", "libllhttp"), "linked in")

    def test_five_percent(self):
        before = {"a": 1000.0, "b": 1000.0, "c": 1000.0}
        figures = {"a": 1049.0, "b": 1051.0, "c": 500.0, "new": 7.0}
        self.assertEqual(baseline.too_high(figures, before, {"b": 0.06}), [])
        self.assertEqual(len(baseline.too_high(figures, before, {"a": 0.04})), 2)
        worse = baseline.too_high(figures, before)
        self.assertEqual(
            worse,
            ["b: 1051 instructions per request, +5.1% (1000 in the baseline, 5% allowed)"],
        )

    def test_other_versions(self):
        self.assertEqual(baseline.differences({"a": "1"}, {"a": "1"}), [])
        self.assertEqual(
            baseline.differences({"a": "1", "b": "1"}, {"a": "2"}),
            ["a: 1 here, 2 there", "b: 1 here, None there"],
        )

    def test_store_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "baseline.json")
            self.assertIsNone(baseline.load(path))
            baseline.store(path, baseline.document({"compiler": "x"}, {"a": 1.26}))
            self.assertEqual(
                baseline.load(path),
                {"made_with": {"compiler": "x"}, "instructions_per_request": {"a": 1.3}},
            )

    def test_table(self):
        lines = baseline.table({"a": 1030.0, "new": 5.0}, {"a": 1000.0})
        self.assertEqual(len({len(line) for line in lines}), 1)
        self.assertIn("+3.0%", lines[2])
        self.assertIn(" - |", lines[3])

    def test_committed_baseline_has_every_script(self):
        path = Path(baseline.__file__).with_name("baseline.json")
        figures = baseline.load(path)["instructions_per_request"]
        self.assertEqual(list(figures), [case.name for case in script.CASES])


class Callgrind(unittest.TestCase):
    def test_program_that_cannot_serve(self):
        with self.assertRaises(InstructionsError):
            callgrind.collected(callgrind.rota_http("/bin/false"), script.CASES[0], 1)


if __name__ == "__main__":
    unittest.main()
