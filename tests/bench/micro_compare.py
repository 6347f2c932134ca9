#!/usr/bin/env python3
"""The comparison of primitives: what it makes of figures, and what it does where peers are missing.

usage: micro_compare.py <rota-micro>
"""

import contextlib
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

PROGRAM = Path(sys.argv.pop(1)).resolve()
HERE = Path(__file__).resolve().parents[2] / "bench/micro"
spec = importlib.util.spec_from_file_location("compare", HERE / "compare.py")
compare = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(compare)


def call(*arguments):
    """(status, stdout, stderr) of the comparison with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = compare.main(["--rota", str(PROGRAM), *arguments])
    return status, out.getvalue(), err.getvalue()


class Figures(unittest.TestCase):
    def test_ratio_is_taken_within_rounds(self):
        self.assertEqual(compare.ratio([20, 300, 8], [10, 100, 4]), 2)
        self.assertEqual(compare.ratio([None, 30], [10, 10]), 3)
        self.assertIsNone(compare.ratio([None], [10]))

    def test_table(self):
        cases = {
            "both": {"unit": "ns", "values": {"Rota": [1.0, 2.0, 4.0], "Go": [3.0, 6.0, 12.0]}},
            "alone": {"unit": "ns", "values": {"Rota": [5.0]}},
        }
        compare.summarise(cases, ["Rota", "Go"])
        text = compare.table(cases, ["Rota", "Go"])
        self.assertIn("2.00 | 6.00 (3.00x)", text)
        self.assertNotIn("alone", text)
        self.assertEqual(cases["both"]["summary"]["Rota"]["highest"], 4)

    def test_programs_take_turns(self):
        begun = []

        def measure(name, _program, arguments):
            if "--quick" in arguments:
                begun.append(name)
            figure = {"name": "a case", "unit": "ns", "median": 1.0}
            return {"machine": {}, "figures": [figure] if "--quick" in arguments else []}

        with mock.patch.object(compare, "measure", measure), mock.patch.object(compare, "say"):
            _, cases = compare.collect({"a": None, "b": None, "c": None}, 3, "")
        self.assertEqual("".join(begun), "abcbcacab")
        self.assertEqual(cases["a case"]["values"]["b"], [1.0, 1.0, 1.0])


class Program(unittest.TestCase):
    def test_what_is_not_installed_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "figures.json"
            with mock.patch.object(compare, "missing", lambda packages: packages[:1]):
                status, out, err = call(
                    "--quick", "--only", "yield to", "--output", folder, "--json", str(path)
                )
            self.assertEqual(status, 0, err)
            document = json.loads(path.read_text())
        self.assertIn("Go is left out: needs apt-get install golang-go", out)
        self.assertEqual(set(document["left_out"]), {"Go", "Asio", "threads"})
        self.assertEqual([case["name"] for case in document["cases"]], ["yield to another routine"])
        self.assertGreater(document["cases"][0]["summary"]["Rota"]["median"], 0)

    def test_what_it_does_not_know(self):
        with tempfile.TemporaryDirectory() as folder:
            status, _, err = call("--output", folder, "--names", "Go,nobody")
        self.assertEqual(status, 1)
        self.assertIn("nobody", err)

    def test_failure_of_a_program(self):
        with self.assertRaisesRegex(compare.Failure, "not understood"):
            compare.measure("Rota", PROGRAM, ["--fast"])


class Peers(unittest.TestCase):
    def test_sources_are_there(self):
        for peer in json.loads((HERE / "peers/peers.json").read_text()):
            for source in peer["sources"]:
                self.assertTrue((HERE / source).is_file(), source)


if __name__ == "__main__":
    unittest.main()
