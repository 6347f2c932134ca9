#!/usr/bin/env python3
"""The page of all figures: from made-up ones, whole and with holes. Nothing is measured here."""

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

REPORT = Path(__file__).resolve().parents[2] / "bench/report"
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(REPORT))
sys.dont_write_bytecode = True

import charts  # noqa: E402
import compact  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import plan as plans  # noqa: E402
import report_sample as sample  # noqa: E402

CPU = {"rota": 7.0, "rota-per-worker": 7.5, "nginx": 9.0, "floor": 6.5, "asio": 8.0, "go": 90.0}
CPU |= {"target": 1.2, "target-per-worker": 1.3}
TIMES = {
    "spawn and join a routine": {"Rota": 100, "Go": 150, "Asio": 90},
    "channel round trip between two workers on two cores": {"Rota": 10, "Go": 20, "Asio": 4000},
    "of ours only": {"Rota": 1},
}


class Page(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.raw = Path(self.place.name, "raw")
        self.out = Path(self.place.name, "out")
        self.raw.mkdir()

    def render(self, source=None, session=None):
        (self.raw / "session.json").write_text(json.dumps(session or sample.SESSION))
        command = [sys.executable, "-B", REPORT, "--from", source or self.raw, "--out", self.out]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.out / "README.md").read_text()

    def test_whole(self):
        sample.write(self.raw, plans.load("full"), CPU, TIMES)
        page = self.render()
        self.assertIn("a made-up machine, 2 cores, made-up 1.0; 2001-02-03", page)
        self.assertIn("- h2o: not built, needs apt-get install h2o", page)
        self.assertIn("1 more dropped for foreign load", page)
        self.assertNotIn("disturbed", page)
        self.assertIn("rota-per-worker", page)
        self.assertIn("| of ours only", page)
        self.assertIn("1,000", page)  # instructions
        for file in charts.files():
            self.assertIn(f"({file})", page)
            self.assertTrue((self.out / file).is_file(), file)

    def test_charts_are_xml_without_references(self):
        sample.write(self.raw, plans.load("full"), CPU, TIMES)
        self.render()
        for file in charts.files():
            text = (self.out / file).read_text()
            root = xml.etree.ElementTree.fromstring(text)
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertIn("prefers-color-scheme: dark", text)
            self.assertNotIn("href", text)
            self.assertNotIn("url(", text)
            self.assertEqual(text.count("http"), 1)  # the name of SVG itself

    def test_from_its_own_results(self):
        sample.write(self.raw, plans.load("full"), CPU, TIMES)
        first = self.render()
        picture = (self.out / "cpu-64.svg").read_text()
        self.assertEqual(self.render(self.out), first)
        self.assertEqual((self.out / "cpu-64.svg").read_text(), picture)

    def test_results_hold_no_single_rounds(self):
        sample.write(self.raw, plans.load("full"), CPU, TIMES)
        self.render()
        text = (self.out / "results.json").read_text()
        first = json.loads(text)["load"][0]
        self.assertEqual(first["rounds"], 3)
        self.assertEqual(first["servers"]["rota"]["cpu_us_per_request"], [7.07, 7.0, 7.14])
        self.assertIn("./dev bench load --workload plaintext:64 ", first["command"])
        self.assertLess(max(map(len, text.splitlines())), 300)

    def test_disturbed(self):
        sample.write(self.raw, plans.load("full"), CPU, TIMES, disturbed=2)
        page = self.render()
        self.assertIn("**2 kept though disturbed**", page)
        self.assertIn("not to be quoted**: plaintext-64", page)
        self.assertIn("DISTURBED", (self.out / "cpu-64.svg").read_text())

    def test_nothing_but_a_row(self):
        plan = plans.load("full")
        row = plan.rows[0]
        (self.raw / f"load-{row.id}.json").write_text(json.dumps(sample.load(row, {"rota": 7.0})))
        (self.raw / "load-json.json").write_text('{"half of')
        failed = {"json": "a made-up reason"}
        self.out.mkdir()
        (self.out / "micro.svg").write_text("of a run before")
        page = self.render(session={**sample.SESSION, "failed": failed})
        self.assertIn("- not measured: json: a made-up reason", page)
        self.assertIn("- not measured: plaintext-64x16, ", page)
        self.assertIn("Not here: rota-per-worker, rota-dedicated, nginx, floor, h2o", page)
        self.assertFalse((self.out / "micro.svg").exists())
        self.assertNotIn("## Primitives", page)

    def test_nothing_at_all(self):
        page = self.render()
        self.assertIn("0 met, 0 not met", page)

    def test_no_such_folder(self):
        command = [sys.executable, "-B", REPORT, "--from", self.raw, "--out", self.out]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("neither results.json nor session.json", done.stderr)


class Peers(unittest.TestCase):
    def test_what_the_build_says(self):
        said = "peers: asio: ready\npeers: h2o: not built, needs apt-get install h2o\nelse\n"
        self.assertEqual(
            peers.parse_build(said + "peers: go: could not be built, see above\n"),
            {
                "h2o": "not built, needs apt-get install h2o",
                "go": "could not be built, as its compiler said",
            },
        )

    def test_who_cannot_be_started(self):
        with tempfile.TemporaryDirectory() as folder:
            why = peers.absent(
                ["floor", "h2o", "nobody"], Path("/none"), Path(folder), {"h2o": "no package"}
            )
        self.assertEqual(
            why,
            {"floor": "rota-floor is not there", "h2o": "no package",
             "nobody": "in no table of servers"},
        )


class Calls(unittest.TestCase):
    def call(self, script, limit=20):
        return measure.call([sys.executable, "-c", script], limit)

    def test_that_end_well(self):
        self.assertIsNone(self.call("import sys; print('a round', file=sys.stderr)"))

    def test_that_fail(self):
        self.assertEqual(self.call("import sys; sys.exit('bench: error: mine: x')"),
                         "bench: error: mine: x")
        self.assertEqual(self.call("import sys; sys.exit(3)"), "ended with 3")

    def test_that_do_not_end(self):
        self.assertEqual(self.call("import time; time.sleep(60)", 0.2), "took longer than 0 s")

    def test_who_is_to_blame(self):
        self.assertEqual(measure.culprit("bench: error: go: http://x: no", ("asio", "go")), "go")
        self.assertEqual(measure.culprit("bench: error: go (a b): ended", ("go",)), "go")
        self.assertIsNone(measure.culprit("bench: error: wrk is not there", ("go",)))

    def test_a_row_goes_on_without_who_fails(self):
        plan = plans.load("quick")
        row = plan.rows[0]
        said = ["bench: error: go: /somewhere/raw ended", None]
        commands = []

        def call(command, _limit):
            commands.append(command)
            return said.pop(0)

        session = measure.Session(plan, Path("."), Path("/x/rota-http"), Path("/somewhere"), {})
        session.left = 0
        before, measure.call = measure.call, call
        self.addCleanup(setattr, measure, "call", before)
        self.assertIsNone(session.load(row))
        self.assertEqual(session.left_out, {"go (plaintext-64)": "failed: raw ended"})
        self.assertIn("rota,rota-per-worker,nginx,floor,asio", commands[1])


class Only(unittest.TestCase):
    def test_what_is_left_as_it_was_is_still_told_of(self):
        spec = importlib.util.spec_from_file_location("report_main", REPORT / "__main__.py")
        main = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(main)
        told = {"took_seconds": 2, "left_out": {"a": "now"}, "failed": {"micro": "now"}}
        before = {"took_seconds": 3, "left_out": {"a": "x", "b": "x"}, "failed": {"paced": "x"}}
        before["failed"]["json"] = "x"
        self.assertEqual(
            main.joined(told, before, ["micro", "json"]),
            {"took_seconds": 5, "left_out": {"a": "now", "b": "x"},
             "failed": {"micro": "now", "paced": "x"}},
        )


class Json(unittest.TestCase):
    def test_it_is_the_same(self):
        value = {"a": [1, 2.5, None], "b": {"c": ["long" * 20, "long" * 20]}, "d": {}, "e": "x"}
        self.assertEqual(json.loads(compact.compact_json(value)), value)

    def test_digits(self):
        self.assertEqual(compact.shorten(123456.7), 123457)
        self.assertEqual(compact.shorten(0.123456), 0.1235)


if __name__ == "__main__":
    unittest.main()
