#!/usr/bin/env python3
"""What the count of touched lines reads, compares and shows; nothing is counted here."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH / "touched"), str(BENCH / "instructions")]
sys.dont_write_bytecode = True

import callgrind  # noqa: E402
import cases  # noqa: E402
import figures  # noqa: E402
import lines  # noqa: E402
from error import InstructionsError  # noqa: E402

DUMP = """\
# callgrind format
version: 1
part: 2

desc: I1 cache: 67108864 B, 64 B, 16-way associative

events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
summary: 18446744073709544884 1 2 3 4 5 6 7 8

fn=(1) main
12 1 2

totals: 12437 3349 1872 686 190 83 686 190 83
"""


class Lines(unittest.TestCase):
    def test_totals(self):
        self.assertEqual(lines.parse_totals(DUMP), (190 + 83, 3349 + 1872))
        with self.assertRaises(InstructionsError):
            lines.parse_totals(DUMP.partition("totals")[0])

    def test_nginx_is_told_its_port_and_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            command, _ = lines.nginx("/usr/sbin/nginx")
            self.assertIn(f"{folder}/nginx.conf", command(folder))
            text = Path(folder, "nginx.conf").read_text()
        self.assertIn(f"pid {folder}/nginx.pid;", text)
        self.assertRegex(text, r"listen 127\.0\.0\.1:\d+ ")

    def test_program_that_cannot_serve(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(InstructionsError):
            lines.measure(callgrind.rota_http("/bin/false"), cases.CASES, folder)

    def test_program_that_callgrind_does_not_run(self):
        """What asks callgrind for something says so when there is none."""
        counted = lines.Counted(None, "")
        counted.process = type("process", (), {"pid": os.getpid()})
        with self.assertRaises((InstructionsError, FileNotFoundError)):
            counted.control("dump")


class Figures(unittest.TestCase):
    def test_too_high(self):
        before = {"a": {"lines": 50.0, "references": 1000}}
        for now, worse in (((53.9, 1099), 0), ((54.1, 900), 1), ((10.0, 1101), 1), ((60, 2000), 2)):
            found = {"a": dict(zip(("lines", "references"), now)), "new": {"lines": 9}}
            self.assertEqual(len(figures.too_high(found, before)), worse)
        self.assertEqual(
            dict(figures.too_high({"a": {"lines": 60.0, "references": 1000}}, before))["a"],
            "a: 60.0 private lines for each connection (50.0 in the baseline, 4 more allowed)",
        )

    def test_lowest_of_several_attempts(self):
        first = {"a": {"lines": 9.0, "references": 70}, "b": {"lines": 5.0, "references": 60}}
        again = {"a": {"lines": 8.0, "references": 80}}
        self.assertEqual(
            figures.lowest(first, again),
            {"a": {"lines": 8.0, "references": 70}, "b": {"lines": 5.0, "references": 60}},
        )

    def test_table(self):
        mine = {"a": {"lines": 50.04, "references": 1000.4}, "b": {"lines": 7.0, "references": 8.0}}
        shown = figures.lines(mine, {"a": {"lines": 49.9, "references": 900}}, {})
        self.assertEqual(len({len(line) for line in shown}), 1)
        self.assertIn(" 50.0 |", shown[2])
        self.assertIn(" 49.9 |", shown[2])
        self.assertIn(" - |", shown[3])

    def test_document(self):
        mine = {"a": {"lines": 50.04, "references": 1000.4}}
        kept = figures.document({"compiler": "x"}, mine, {})
        self.assertEqual(kept["touched"], {"a": {"lines": 50.0, "references": 1000}})
        self.assertIn("nginx", figures.document({}, mine, mine))

    def test_committed_baseline_has_every_case(self):
        touched = json.loads((BENCH / "touched/baseline.json").read_text())["touched"]
        self.assertEqual(list(touched), [case.name for case in cases.CASES])

    def test_cases(self):
        self.assertEqual(len({case.name for case in cases.CASES}), len(cases.CASES))
        few, many = cases.CONNECTIONS
        self.assertLess(few, many)


if __name__ == "__main__":
    unittest.main()
