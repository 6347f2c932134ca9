#!/usr/bin/env python3
"""The server with work in its handlers: what it answers, and that it does the work.

usage: target.py <rota-target>
"""

import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM = sys.argv.pop(1)
PATIENCE_SECONDS = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Target(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        options = ["--port", str(cls.port), "--workers", "2", "--topology", "per_worker"]
        cls.process = subprocess.Popen([PROGRAM, *options], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while cls.process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", cls.port)) == 0:
                    return
            time.sleep(0.02)
        cls.process.kill()
        cls.process.wait(PATIENCE_SECONDS)
        raise AssertionError("it does not listen")

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        try:
            if cls.process.wait(PATIENCE_SECONDS) != 0:
                raise AssertionError(f"ended with {cls.process.returncode}")
        finally:
            cls.process.kill()
            cls.process.wait(PATIENCE_SECONDS)

    def get(self, path):
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            return answer.read()

    def cpu_ns(self):
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

    def test_pages(self):
        self.assertEqual(self.get("/plaintext"), b"Hello, World!")
        for us in (0, 1, 20, 10_000):
            self.assertEqual(self.get(f"/spin/{us}"), b"spun")
            self.assertEqual(self.get(f"/heavy/{us}"), b"spun")

    def test_no_number_or_too_much(self):
        for wrong in ("x", "-1", "1.5", "10001", "99999999999"):
            for kind in ("spin", "heavy"):
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    self.get(f"/{kind}/{wrong}")
                self.assertEqual(refused.exception.code, 400)
            refused.exception.close()

    def test_time_is_spent(self):
        if not Path(f"/proc/{self.process.pid}/schedstat").exists():
            self.skipTest("the kernel does not tell")
        before = self.cpu_ns()
        for _ in range(50):
            self.get("/spin/2000")
        self.assertGreaterEqual(self.cpu_ns() - before, 50 * 2_000_000)

    def test_wrong_arguments(self):
        for wrong in (["--port", "0"], ["--topology", "round"], ["--backend", "x"], ["y"]):
            done = subprocess.run([PROGRAM, *wrong], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(wrong[0], done.stderr)


if __name__ == "__main__":
    unittest.main()
