#!/usr/bin/env python3
"""usage: idle.py [rota-http rota-crowd]

How the benchmark of idle connections shares them out and writes its figures; with the programs, a
small run of it too. No figure is judged.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

IDLE = Path(__file__).resolve().parents[2] / "bench/idle"
sys.path.insert(0, str(IDLE))
sys.dont_write_bytecode = True

import plan  # noqa: E402
import table  # noqa: E402

PROGRAMS = sys.argv[1:3]
MIB = 1024
GIB = 1024 * MIB


class Plan(unittest.TestCase):
    def test_capacity(self):
        self.assertEqual(plan.capacity(20_000), 19_000)
        self.assertEqual(plan.capacity(1_024), 512)
        self.assertEqual(plan.capacity(1), 1)

    def test_groups_are_few_and_even(self):
        groups = plan.groups(100_000, 19_000)
        self.assertEqual([group.connections for group in groups], [16_667] * 4 + [16_666] * 2)
        self.assertEqual([group.first for group in groups], [1, 2, 3, 4, 5, 6])
        self.assertEqual(plan.groups(100_000, 1_047_576), [plan.Group(100_000, 1)])
        self.assertEqual(plan.groups(3, 1, 7), [plan.Group(1, number) for number in (8, 9, 10)])

    def test_addresses_stay_within_loopback(self):
        for group in plan.groups(1_000, 1):
            self.assertTrue(1 <= group.first <= 250)

    def room(self, **changes):
        room = {"available_kib": 64 * GIB, "floor_kib": 4 * GIB, "descriptors": 10_000_000,
                "groups": 244}
        return plan.Room(**{**room, **changes})

    def test_step_doubles(self):
        self.assertEqual(plan.next_step(100_000, 10.0, self.room(), 19_000), (100_000, None))
        self.assertEqual(plan.next_step(200, 10.0, self.room(), 19_000), (200, None))

    def test_step_ends_at_the_floor(self):
        room = self.room(available_kib=5 * GIB)
        more, why = plan.next_step(100_000, 20.0, room, 19_000)
        self.assertEqual(why, "memory")
        self.assertLess(more * 20.0, 1 * GIB)
        self.assertGreater(more * 20.0, 0.9 * GIB)
        self.assertEqual(plan.next_step(100_000, 20.0, self.room(available_kib=4 * GIB), 19_000),
                         (0, "memory"))
        self.assertEqual(plan.next_step(100_000, 20.0, self.room(available_kib=3 * GIB), 19_000),
                         (0, "memory"))

    def test_step_does_not_believe_in_free_connections(self):
        room = self.room(available_kib=5 * GIB)
        more, _ = plan.next_step(10_000_000, -3.0, room, 1_000_000)
        self.assertLess(more * plan.PAIR_KIB_LEAST, 1 * GIB)

    def test_step_ends_with_descriptors_and_addresses(self):
        more, why = plan.next_step(100_000, 10.0, self.room(descriptors=150_000), 19_000)
        self.assertEqual((more, why), (50_000, "descriptors of the system (fs.file-max)"))
        more, why = plan.next_step(100_000, 10.0, self.room(groups=2), 19_000)
        self.assertEqual((more, why), (38_000, "source addresses"))

    def test_what_the_kernel_tells(self):
        text = "MemTotal:  9000 kB\nMemAvailable:   5000 kB\nSUnreclaim:  700 kB\nHugePages: 0\n"
        self.assertEqual(plan.parse_meminfo(text), (5000, 700))
        self.assertEqual(plan.parse_free_descriptors("929\t4\t2465610\n"), 2464685)
        text = "1000-2000 ---p 0 00:00 0   [rollup]\nRss: 9 kB\nPrivate_Clean: 1 kB\n"
        text += "Private_Dirty: 2 kB\n"
        self.assertEqual(plan.parse_private_kib(text), 3)
        text += "Pss_Anon: 40 kB\nPss_File: 500 kB\nPss_Shmem: 2 kB\n"
        self.assertEqual(plan.parse_private_kib(text), 42)


class Table(unittest.TestCase):
    def result(self, name):
        load = {"p50_us": 100.4, "p99_us": 2345.6, "requests_per_second": 40_000.0}
        return {"name": name, "held": 100_000, "lost": 0, "servers": 6, "before_kib": 8 * MIB,
                "idle_kib": 100 * MIB, "bytes_each": 942.3, "whole_bytes_each": 1024.4,
                "kernel_kib_each": 7.25, "available_kib": 6 * GIB, "cpu_percent": 1.25,
                "cpu_percent_per_100k": 1.25, "alone": load, "beside": load, "at_once": 10_000,
                "at_once_seconds": 0.25, "drain_seconds": 1.54}

    def test_a_column_for_each_server(self):
        lines = table.result_lines([self.result("rota"), self.result("nginx")], 10.0)
        self.assertEqual(lines[1], "| | rota | nginx |")
        self.assertEqual({line.count("|") for line in lines[1:]}, {4})
        self.assertIn("| user-space bytes for each | 942 | 942 |", lines)
        self.assertIn("| ... beside the idle ones: p50 / p99, us | 100 / 2,346 | 100 / 2,346 |",
                      lines)

    def test_most(self):
        step = self.result("rota")
        text = "\n".join(table.most_lines(
            {"held": 100_000, "lost": 3, "why": "memory", "steps": [step]}))
        self.assertIn("| 100,000 | 6 | 942 | 7.2 | 6,144 |", text)
        self.assertIn("100,000 connections held, 3 of them lost; no more for lack of: memory.",
                      text)

    def test_heading_says_why_there_are_many_servers(self):
        document = {"machine": {"cpu": "x", "cores": 2, "memory_mib": 1, "kernel": "Linux 6"},
                    "when": "now", "load_average": 0.5, "versions": {"rota": "1", "nginx": None},
                    "descriptors_per_process": 20_000, "servers": 6, "connections": 100_000,
                    "remarks": ["nginx is not there"]}
        text = "\n".join(table.heading_lines(document))
        self.assertIn("20,000 descriptors a process: 6 servers", text)
        self.assertIn("it would be one", text)
        self.assertIn("- nginx is not there", text)
        text = "\n".join(table.heading_lines({**document, "servers": 1}))
        self.assertNotIn("it would be one", text)


@unittest.skipUnless(len(PROGRAMS) == 2, "no programs given")
class Small(unittest.TestCase):
    def command(self, *options, crowd=None):
        rota, held_by = PROGRAMS
        return [sys.executable, "-B", str(IDLE), "--rota", rota, "--crowd", crowd or held_by,
                "--connections", "200", "--seconds", "1", "--warm", "20", "--floor", "0.5",
                "--no-nginx", *options]

    @unittest.skipUnless(shutil.which("wrk"), "wrk is not there")
    def test_run(self):
        self.run_with("--ping-after", "30s")

    @unittest.skipUnless(shutil.which("wrk"), "wrk is not there")
    def test_run_with_websockets_that_answer_pings(self):
        self.run_with("--websockets", "--ping-after", "3s")

    def run_with(self, *options):
        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            told = Path(folder) / "idle.json"
            run = subprocess.run(self.command("--json", told, *options), capture_output=True,
                                 text=True, timeout=1200, check=False)
            print(run.stdout, run.stderr, flush=True)
            self.assertEqual(run.returncode, 0)
            document = json.loads(told.read_text())
        (result,) = document["results"]
        self.assertEqual((result["held"], result["lost"]), (200, 0))
        self.assertGreater(result["beside"]["requests"], 0)
        self.assertEqual(result["at_once"], 200)
        self.assertIn("| connections held | 200 |", run.stdout)

    @unittest.skipUnless(shutil.which("wrk"), "wrk is not there")
    def test_failure_leaves_no_process(self):
        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            parent = Path(folder) / "parent"
            broken = Path(folder) / "rota-crowd"
            broken.write_text(f"#!/bin/sh\necho $PPID >{parent}\necho no way >&2\nexit 1\n")
            broken.chmod(0o700)
            run = subprocess.Popen(self.command(crowd=str(broken)), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
            _, said = run.communicate(timeout=1200)
            self.assertEqual(parent.read_text(), f"{run.pid}\n")
        self.assertEqual(run.returncode, 1, said)
        self.assertIn("bench: error: no way", said)
        with self.assertRaises(ProcessLookupError):  # nobody is left in its session
            os.killpg(run.pid, signal.SIGTERM)

    def test_bad_words(self):
        for option in ("--connections", "--seconds", "--floor", "--minutes", "--warm"):
            run = subprocess.run(self.command(option, "0"), capture_output=True, text=True,
                                 timeout=60, check=False)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(f"error: {option}: from ", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
