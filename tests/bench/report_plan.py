#!/usr/bin/env python3
"""The plans of the report: how long they take, and that all is asked for that targets need."""

import json
import re
import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH / "report"))
sys.dont_write_bytecode = True

import peers  # noqa: E402
import plan as plans  # noqa: E402
import targets  # noqa: E402

MINUTE = 60


class Time(unittest.TestCase):
    def test_the_whole_takes_less_than_20_minutes(self):
        plan = plans.load("full")
        self.assertLess(plan.estimate(), plan.budget_seconds)
        self.assertLess(plan.budget_seconds, 20 * MINUTE)

    def test_the_quick_one_takes_less_than_3_minutes(self):
        plan = plans.load("quick")
        self.assertLess(plan.estimate(), plan.budget_seconds)
        self.assertLess(plan.budget_seconds, 3 * MINUTE)

    def test_estimate_of_a_row(self):
        row = plans.Row("a", "plaintext:64", ("x", "y"), seconds=2, rounds=3)
        self.assertAlmostEqual(row.round_seconds(), 2 * 2.3)
        self.assertGreater(row.estimate(), 3 * 2 * 2.3)
        mix = plans.Row("b", "mix", ("x", "y"), seconds=2, rounds=3)
        self.assertAlmostEqual(mix.round_seconds(), 2 * 2 * 2.3)

    def test_repeats_only_where_there_is_time(self):
        row = plans.Row("a", "plaintext:64", ("x", "y"), seconds=1, rounds=3)
        self.assertEqual(plans.repeats(row, -100), 0)
        self.assertEqual(plans.repeats(row, 3 * 2 * 2.7), 2)
        self.assertEqual(plans.repeats(row, 10_000), 3)


class Content(unittest.TestCase):
    def test_servers_are_known(self):
        known = peers.known()
        for name in ("full", "quick"):
            for row in plans.load(name).rows:
                self.assertEqual(set(row.servers) - set(known), set(), row.id)
                self.assertIn(row.baseline, row.servers)

    def test_every_peer_of_http_1_is_asked(self):
        table = json.loads((BENCH / "peers/peers.json").read_text())
        peers = {row["name"] for row in table if "HTTP/1.1" in row.get("speaks", ["HTTP/1.1"])}
        asked = {name for row in plans.load("full").rows for name in row.servers}
        self.assertEqual(peers - asked, set())

    def test_targets_have_their_figures(self):
        rows = {row.id: row for row in plans.load("full").rows}
        for goal in targets.GOALS:
            self.assertIn(goal.subject, rows[goal.row].servers, goal)
            if goal.other not in (None, targets.PEERS):
                self.assertIn(goal.other, rows[goal.row].servers, goal)

    def test_names_are_unique(self):
        names = [row.id for row in plans.load("full").rows]
        self.assertEqual(len(names), len(set(names)))

    def test_packages_of_all_peers_are_installed(self):
        script = (BENCH.parent / "tools/packages.sh").read_text()
        listed = set(re.search(r"packages_peers=\(([^)]*)\)", script)[1].split())
        listed |= {"g++", "pkg-config"}  # of packages_build
        for row in json.loads((BENCH / "peers/peers.json").read_text()):
            self.assertEqual(set(row["packages"]) - listed, set(), row["name"])

    def test_arguments(self):
        row = plans.Row("a", "spin20", ("x", "y"), pinned=False, baseline="y")
        words = row.arguments()
        self.assertIn("--no-pin", words)
        self.assertEqual(words[words.index("--servers") + 1], "x,y")
        self.assertEqual(row.without(["x", "z"]).servers, ("y",))


if __name__ == "__main__":
    unittest.main()
