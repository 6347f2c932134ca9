#!/usr/bin/env python3
"""rota-sim as people call it: a seed goes the same way each time, and a failure says how to see it.

usage: sim_test.py <rota-sim>
"""

import subprocess
import sys
import unittest

PROGRAM = sys.argv[1]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


class Simulation(unittest.TestCase):
    def test_one_seed_goes_the_same_way_each_time(self):
        for seed in range(7, 13):
            first, second = run("--seed", str(seed)), run("--seed", str(seed))
            self.assertEqual(first.returncode, 0, first.stdout[-2000:])
            self.assertGreater(first.stdout.count("\n"), 20)
            self.assertEqual(first.stdout, second.stdout)

    def test_seeds_differ(self):
        self.assertNotEqual(run("--seed", "7").stdout, run("--seed", "9").stdout)

    def test_many_seeds_go_the_same_way_however_they_are_shared_out(self):
        one = run("--first", "500", "--seeds", "40", "--jobs", "1")
        three = run("--first", "500", "--seeds", "40", "--jobs", "3")
        self.assertEqual(one.returncode, 0, one.stdout)
        self.assertIn("40 seeds from 500 passed", one.stdout)
        self.assertEqual(one.stdout, three.stdout)

    def test_bad_arguments_are_refused(self):
        for arguments in [["--seed"], ["--seed", "x"], ["--jobs", "0"], ["--what", "1"]]:
            refused = run(*arguments)
            self.assertEqual(refused.returncode, 2, arguments)
            self.assertIn("usage: rota-sim", refused.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
