#!/usr/bin/env python3
"""The soak: its verdict on samples, and a short one against the real program.

usage: soak.py [rota-http]
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOAK = Path(__file__).resolve().parent
sys.path.insert(0, str(SOAK))
sys.dont_write_bytecode = True

import client  # noqa: E402
import jobs  # noqa: E402
import requests  # noqa: E402
import samples  # noqa: E402
from server import Server  # noqa: E402
from world import World  # noqa: E402

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else None
MINUTES = 0.35
MIB = samples.MIB


def series(seconds, **figures):
    """Samples of 40 moments; a figure is a function of the share of the time that has passed."""
    flat = {"rss_bytes": 20 * MIB, "descriptors": 50, "routines": 50, "connections": 50}
    taken = []
    for i in range(41):
        values = {name: figures[name](i / 40) if name in figures else value
                  for name, value in flat.items()}
        taken.append(samples.Sample(seconds * i / 40, requests=i, cpu_seconds=0, **values))
    return taken


class Verdict(unittest.TestCase):
    def test_flat(self):
        self.assertEqual(samples.growth_problems(series(3600)), [])
        self.assertEqual(samples.growth_problems(series(24)), [])

    def test_growth_while_it_warms_up_is_none(self):
        grown = series(3600, rss_bytes=lambda share: (10 if share < 0.2 else 60) * MIB)
        self.assertEqual(samples.growth_problems(grown), [])

    def test_a_leak_of_memory(self):
        grown = series(3600, rss_bytes=lambda share: round((20 + 6 * share) * MIB))
        self.assertIn("rss_bytes is not flat", "".join(samples.growth_problems(grown)))
        self.assertEqual(samples.growth_problems(grown, memory=False), [])

    def test_a_leak_in_a_short_run(self):
        grown = series(24, rss_bytes=lambda share: round((20 + 300 * share) * MIB))
        self.assertIn("rss_bytes is not flat", "".join(samples.growth_problems(grown)))

    def test_a_leak_of_descriptors(self):
        for seconds, more in ((3600, 20), (24, 200)):
            grown = series(seconds, descriptors=lambda share, more=more: 50 + round(more * share))
            self.assertIn("descriptors is not flat", "".join(samples.growth_problems(grown)))

    def test_too_few_samples(self):
        self.assertIn("too few", "".join(samples.growth_problems(series(3600)[:7])))

    def test_a_quarter_without_samples(self):
        hole = [one for one in series(3600) if not 800 < one.seconds < 1900]
        self.assertIn("without a sample", "".join(samples.growth_problems(hole)))

    def test_what_is_left(self):
        before, after = series(3600)[:2]
        self.assertEqual(samples.left_problems(before, after), [])
        after.routines += 1
        self.assertEqual(samples.left_problems(before, after),
                         ["routines: 51 at the end, 50 before"])


class Answers(unittest.TestCase):
    """What the clients make of an answer."""

    def read(self, data, *wanted):
        async def run():
            reader = asyncio.StreamReader()
            reader.feed_data(data)
            reader.feed_eof()
            return await client.Client(reader, None).expect(*wanted)

        return asyncio.run(run())

    def test_right(self):
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        self.assertEqual(self.read(whole, 200, b"ok").fields, {"content-length": "2"})
        self.read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
                  client.chunked(b"0123456789", 3), 200, b"0123456789")

    def test_wrong(self):
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        for wanted in ((404, b"ok"), (200, b"no"), (200, b"ok ")):
            with self.assertRaises(client.Wrong):
                self.read(whole, *wanted)
        with self.assertRaises(EOFError):
            self.read(whole[:-1], 200, b"ok")

    def test_failures_are_counted(self):
        async def wrong(_world, _rng, _kind):
            raise client.Wrong("not that")

        world = World(0, 1, pace=100)
        asyncio.run(world.run([("liar", wrong, 2)], 0.5))
        self.assertGreaterEqual(world.wrong, 2)
        self.assertIn("not that", world.failures[0])


@unittest.skipUnless(PROGRAM, "no program given")
class Short(unittest.TestCase):
    def soak(self, *options, rota=PROGRAM):
        command = [sys.executable, "-B", SOAK, "--rota", rota, *options]
        if "ROTA_TEST_SANITIZED" in os.environ:
            command.append("--no-memory")
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)

    def test_short_soak(self):
        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            told = Path(folder) / "soak.json"
            run = self.soak(str(MINUTES), "--json", told, "--log", Path(folder) / "log")
            print(run.stdout, run.stderr, flush=True)
            self.assertEqual(run.returncode, 0)
            self.assertIn("**passed**", run.stdout)
            document = json.loads(told.read_text())
        self.assertEqual((document["wrong"], document["problems"]), (0, []))
        for kind, _, _ in requests.CAST[:2]:
            self.assertGreater(document["right"][kind], 0)

    def test_wrong_answers_fail(self):
        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            other = Path(folder) / "rota-http"  # refuses content that has to be taken
            other.write_text(f'#!/bin/bash\nexec {PROGRAM} "${{@/{requests.BODY_MAX}/1024}}"\n')
            other.chmod(0o700)
            run = self.soak("0.1", rota=other)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("large content, after ", run.stdout)
        self.assertIn("**failed**", run.stdout)

    def test_a_job_that_waits_is_waited_for(self):
        """One that has failed is neither queued nor in progress while it is held back."""

        async def fail_and_settle(port):
            world = World(port, 1)
            world.ledger = jobs.Ledger()
            await jobs.prepare(world)
            async with await world.client() as ours:
                world.ledger.added = 1
                await jobs.ask(ours, f"{jobs.WORK}/jobs", {"payload": 1}, status=201)
                for _ in range(4):
                    wish = {"wait_ms": 10_000}
                    taken = (await jobs.ask(ours, f"{jobs.WORK}/take", wish))["jobs"]
                    retries = [{"lease_id": taken[0]["lease_id"]}]
                    await jobs.ask(ours, f"{jobs.WORK}/ack", {"retries": retries})
            await jobs.settle(world)

        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            server = Server(argparse.Namespace(log=None, rota=PROGRAM, option=[]), folder)
            try:
                asyncio.run(fail_and_settle(server.port))
            finally:
                code = server.end()
        self.assertEqual(code, 0)

    def test_no_server(self):
        run = self.soak("0.1", "--option=--nonsense")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("the server does not start", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
