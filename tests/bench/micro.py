#!/usr/bin/env python3
"""rota-micro runs all of its cases, and what it prints and writes can be read.

usage: micro.py <rota-micro>
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=100
    )


class Micro(unittest.TestCase):
    def test_every_case(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'of "all".json'
            done = run("--quick", "--json", str(path))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            document = json.loads(path.read_text())
        self.assertIn(str(path), document["command"])
        figures = document["figures"]
        self.assertGreaterEqual(len(figures), 12)
        self.assertEqual(len({figure["name"] for figure in figures}), len(figures))
        for figure in figures:
            self.assertIn(f"| {figure['name']} ", done.stdout)
            self.assertLessEqual(figure["lowest"], figure["median"])
            self.assertLessEqual(figure["median"], figure["highest"])
            self.assertGreater(figure["median"], 0)

    def test_choice(self):
        lines = run("--quick", "--only", "uncontended").stdout.splitlines()
        self.assertEqual(sum("| ns" in line for line in lines), 1)

    def test_a_case_needs_no_other(self):
        for name in ("yield and unlock", "two workers contend", "start a routine that sleeps"):
            lines = run("--quick", "--only", name).stdout.splitlines()
            self.assertEqual(sum("| ns" in line for line in lines), 1, name)

    def test_what_it_does_not_understand(self):
        for wrong in (["--fast"], ["--only"], ["--quick", "--json", "/nowhere/at/all"]):
            done = run("--only", "no such case", *wrong)
            self.assertEqual(done.returncode, 1)
            self.assertIn("rota-micro: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
