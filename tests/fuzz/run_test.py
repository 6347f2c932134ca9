#!/usr/bin/env python3
"""run.py with programs that behave like targets: what they find is told, kept, and the exit code.

usage: run_test.py <run.py>
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = sys.argv[1]

FINDS_NOTHING = """#!/bin/sh
printf 'stat::number_of_executed_units: 123\\n' >&2
"""
# As libFuzzer does: the same input has the same name each time.
FINDS_ONE = """#!/bin/sh
for argument; do
    case $argument in -artifact_prefix=*) prefix=${argument#*=} ;; esac
done
echo input > "${prefix}crash-1"
echo "not so: what has to hold" >&2
echo "artifact_prefix='$prefix'; Test unit written to ${prefix}crash-1" >&2
exit 77
"""
IS_KILLED = """#!/bin/sh
kill -9 $$
"""


class Fuzz(unittest.TestCase):
    def run_targets(self, rounds=1, **targets):
        """(exit code, output of the last of so many rounds, build folder)"""
        folder = tempfile.TemporaryDirectory(prefix="rota-test-")
        self.addCleanup(folder.cleanup)
        programs = Path(folder.name) / "tests/fuzz"
        programs.mkdir(parents=True)
        for name, text in targets.items():
            program = programs / f"fuzz_{name}"
            program.write_text(text)
            program.chmod(0o755)
        for _ in range(rounds):
            done = subprocess.run([sys.executable, RUN, folder.name, folder.name, "2"],
                                  capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr, Path(folder.name)

    def test_nothing_found(self):
        code, output, _ = self.run_targets(lines=FINDS_NOTHING, urls=FINDS_NOTHING)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"lines +123 executions in 2 s: nothing found")
        self.assertIn("2 targets, 0 with findings", output)

    def test_a_finding_is_told_and_kept_each_time(self):
        for rounds in (1, 2):
            code, output, folder = self.run_targets(rounds, lines=FINDS_NOTHING, urls=FINDS_ONE)
            kept = folder / "findings/urls/crash-1"
            self.assertEqual(code, 1, output)
            self.assertIn("not so: what has to hold", output)
            self.assertIn(f"to replay: {folder}/tests/fuzz/fuzz_urls {kept}", output)
            self.assertIn("2 targets, 1 with findings", output)
            self.assertEqual(kept.read_text(), "input\n")

    def test_a_target_that_is_killed_has_failed(self):
        code, output, _ = self.run_targets(lines=IS_KILLED)
        self.assertEqual(code, 1, output)
        self.assertIn("FAILED", output)

    def test_no_targets(self):
        self.assertEqual(self.run_targets()[0], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
