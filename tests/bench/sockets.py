#!/usr/bin/env python3
"""rota-sockets sends messages to rota-http, counts what comes back, and says what is wrong.

usage: sockets.py <rota-http> <rota-sockets>
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
sys.dont_write_bytecode = True
from rota_http import RotaHttp  # noqa: E402


class Sockets(unittest.TestCase):
    rota = sockets = None  # set by main

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(RotaHttp(cls.rota))

    def ask(self, *options):
        command = [self.sockets, "--port", self.server.port, "--seconds", 1, *options]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60,
                              check=False)

    def told(self, *options):
        run = self.ask(*options)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return json.loads(run.stdout)

    def test_echo(self):
        for options in ((), ("--connections", 3, "--depth", 16, "--bytes", 125)):
            told = self.told(*options)
            self.assertGreater(told["count"], 0)
            self.assertEqual(told["rate"], told["count"])
            self.assertLessEqual(told["p50_us"], told["p99_us"])
            self.assertLessEqual(told["p99_us"], told["max_us"])

    def test_chat(self):
        told = self.told("--chat", "--connections", 20, "--path", "/ws/chat?room=r")
        self.assertGreater(told["count"], 0)

    def test_no_web_socket(self):
        run = self.ask("--path", "/plaintext")
        self.assertEqual(run.returncode, 1)
        self.assertIn("rota-sockets: no upgrade: HTTP/1.1 200", run.stderr)

    def test_another_message(self):
        run = self.ask("--chat", "--connections", 2)  # what is echoed comes to nobody else
        self.assertEqual(run.returncode, 1)
        self.assertIn("rota-sockets: a message came twice, or back", run.stderr)

    def test_bad_words(self):
        for wrong in (("--bytes", 126), ("--connections", 0), ("--chat", "--connections", 1)):
            self.assertNotEqual(self.ask(*wrong).returncode, 0, wrong)


if __name__ == "__main__":
    Sockets.rota, Sockets.sockets = sys.argv[1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
