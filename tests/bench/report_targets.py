#!/usr/bin/env python3
"""The targets of the report, met and not, from made-up figures."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/report"))
sys.dont_write_bytecode = True

import compact  # noqa: E402
import plan as plans  # noqa: E402
import report_sample as sample  # noqa: E402
import targets  # noqa: E402

PLAN = plans.load("full")
ACROSS = targets.ACROSS
GOOD = {"rota": 1.0, "rota-per-worker": 1.0, "floor": 1.0, "nginx": 9.0, "asio": 2.0, "go": 3.0}
GOOD |= {"rota-dedicated": 1.0, "target": 1.0, "target-per-worker": 1.0}
BAD = {"rota": 9.0, "rota-per-worker": 9.0, "floor": 1.0, "nginx": 1.0, "asio": 8.0, "go": 3.0}
BAD |= {"rota-dedicated": 9.0, "target": 9.0, "target-per-worker": 1.0}


def evaluated(cpu, times=None, failed=None, disturbed=0):
    with tempfile.TemporaryDirectory() as name:
        sample.write(Path(name), PLAN, cpu, times, disturbed)
        session = {**sample.SESSION, "failed": failed or {}}
        return targets.evaluate(compact.document(Path(name), PLAN, session))


def times(mine):
    return {
        "spawn and join a routine": {"Rota": mine, "Go": 10, "Asio": 10},
        ACROSS: {"Rota": mine, "Go": 10, "Asio": 10},
    }


class Targets(unittest.TestCase):
    def test_all_met(self):
        for target in evaluated(GOOD, times(5)):
            self.assertIs(target["met"], True, target)

    def test_all_missed(self):
        for target in evaluated(BAD, times(20)):
            if target["what"] != "instructions per request":
                self.assertIs(target["met"], False, target)

    def test_none_measured(self):
        for target in evaluated({}, failed={"paced": "a made-up reason"}):
            self.assertIsNone(target["met"], target)
            self.assertIn("not measured", target["note"])
        notes = [target["note"] for target in evaluated({}, failed={"paced": "a reason"})]
        self.assertIn("not measured: a reason", notes)

    def test_who_is_missing_is_named(self):
        without = {name: cpu for name, cpu in GOOD.items() if name != "floor"}
        found = {(t["what"], t["target"]): t for t in evaluated(without)}
        target = found["CPU/request, 64 connections", "<= 1.10 x floor"]
        self.assertIsNone(target["met"])
        self.assertEqual(target["note"], "not measured: floor missing")
        target = found["CPU/request, 64 connections", "< 1.00 x each peer"]
        self.assertIn("the closest of 3: asio", target["note"])
        self.assertIn("without h2o, hyper", target["note"])

    def test_ratios_are_taken_within_rounds(self):
        found = {(t["what"], t["target"]): t for t in evaluated(GOOD)}
        target = found["CPU/request, 64 connections", "<= 0.80 x nginx"]
        for value in target["figure"]:
            self.assertAlmostEqual(value, 1 / 9, 3)
        deep = found["CPU/request, 16 deep: nginx's by rota's", ">= 8.00 x nginx"]
        self.assertAlmostEqual(deep["figure"][0], 9, 1)

    def test_disturbed_ones_say_so(self):
        measured = [t for t in evaluated(GOOD, disturbed=1) if t["figure"]]
        self.assertTrue(measured)
        for target in measured:
            self.assertIn("disturbed", target["note"])

    def test_what_is_not_clear(self):
        goal = targets.Goal("a", "plaintext-64", "rota", "p50_us", "<=", 1, "nginx")
        result = {"id": "plaintext-64", "disturbed": 0, "servers": {}, "missing": []}
        result["ratios"] = {"rota": {"nginx": {"p50_us": [0.9, 0.8, 1.1]}}}
        target = targets.evaluate_goal(goal, {"load": [result]})
        self.assertTrue(target["met"])
        self.assertEqual(target["note"], "rounds on both sides")


if __name__ == "__main__":
    unittest.main()
