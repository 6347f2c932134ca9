#!/usr/bin/env python3
"""usage: jobs.py [rota-http rota-jobload]

How the benchmark of the job queue writes its figures; with the programs, a small run of it too,
with Redis and PostgreSQL where they are installed. No figure is judged.
"""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/jobs"), str(ROOT / "bench/load")]
sys.dont_write_bytecode = True

import queues  # noqa: E402
import table  # noqa: E402

PROGRAMS = sys.argv[1:3]
LIMIT_S = 240


def figure(value):
    return {"median": value, "min": value, "max": value}


def result(rate, foreign=0.0):
    names = ("p50_us", "p99_us", "cpu_us", "server_cores", "load_cores")
    return {"rate": figure(rate), "foreign_cores": figure(foreign),
            **{name: figure(1.0) for name in names}}


class Table(unittest.TestCase):
    def throughput(self, foreign=0.0):
        found = {"seconds": 2, "rounds": 5, "payload": 100, "pinned": True, "when": "today",
                 "durability": {"rota, memory": queues.MEMORY, "rota, sqlite": queues.DISK,
                                "Redis list": queues.MEMORY, "Redis list, everysec": queues.SECOND,
                                "Redis list, always": queues.DISK},
                 "clients": {"16": {}}}
        for name, rate in zip(found["durability"], (4000, 1000, 6000, 5000, 500)):
            found["clients"]["16"][name] = result(rate, foreign)
        return table.throughput_lines(found)

    def test_compared_with_what_promises_as_much(self):
        rows = {line.split("|")[1].strip(): line for line in self.throughput() if "|" in line}
        self.assertIn(" 1.50 ", rows["Redis list"])
        self.assertIn(" 0.50 ", rows["Redis list, always"])
        self.assertEqual(rows["Redis list, everysec"].split("|")[4].strip(), "-")

    def test_says_that_it_was_disturbed(self):
        self.assertNotIn("Disturbed", "\n".join(self.throughput(0.1)))
        self.assertIn("up to 0.7 cores", "\n".join(self.throughput(0.7)))

    def test_ratio_of_a_backlog(self):
        found = {"clients": 16, "seconds": 2, "rounds": 5, "payload": 100, "when": "today",
                 "sizes": [1000, 100000, 1000000],
                 "stores": {"memory": {"1000": result(400), "1000000": result(300)}}}
        found["stores"]["memory"]["1000000"]["cpu_us"] = figure(1.25)
        row = [line for line in table.backlog_lines(found) if line.startswith("| memory")][0]
        self.assertEqual([cell.strip() for cell in row.split("|")[-3:-1]], ["1.25", "0.75"])

    def test_pgbench(self):
        text = "number of transactions actually processed: 3/3\ntps = 12.5 (without ...)\n"
        told = queues.parse_pgbench(text, [10, 20, 30])
        self.assertEqual(told, {"all": 3, "rate": 12.5, "p50_us": 20, "p99_us": 30})
        self.assertIsNone(queues.parse_pgbench("transactions actually processed: 0\n", []))
        with self.assertRaises(queues.BenchError):
            queues.parse_pgbench("pgbench: error: no such table\n", [])


@unittest.skipUnless(len(PROGRAMS) == 2, "no programs given")
class Clients(unittest.TestCase):
    """rota-jobload takes nothing for an answer but what it should be."""

    def said(self, answer, dialect):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                client, _ = listener.accept()
                with client:
                    client.recv(4096)
                    client.sendall(answer)
                    client.shutdown(socket.SHUT_WR)
                    client.recv(4096)

            server = threading.Thread(target=serve)
            server.start()
            run = subprocess.run(
                [PROGRAMS[1], "--port", str(listener.getsockname()[1]), "--dialect", dialect],
                capture_output=True, text=True, timeout=LIMIT_S, check=False)
            server.join()
        self.assertEqual(run.returncode, 1)
        return run.stderr

    def test_refusals(self):
        refused = b'HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\n{}'
        self.assertIn("not added: HTTP/1.1 503", self.said(refused, "http"))
        self.assertIn("no Content-Length", self.said(b"HTTP/1.1 201 Yes\r\n\r\n", "http"))
        self.assertIn("-ERR no", self.said(b"-ERR no\r\n", "list"))
        self.assertIn("more than a reply", self.said(b"$2\r\nab\r\n:1\r\n", "stream"))
        self.assertIn("has ended a connection", self.said(b"$20\r\nab", "stream"))


@unittest.skipUnless(len(PROGRAMS) == 2, "no programs given")
class Small(unittest.TestCase):
    def test_run(self):
        with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
            run = subprocess.run(
                [sys.executable, "-B", ROOT / "bench/jobs", "--rota", PROGRAMS[0],
                 "--jobload", PROGRAMS[1], "--out", folder, "--seconds", "0.1", "--rounds", "1",
                 "--clients", "8", "--memory-jobs", "1000", "--backlogs", "10,100", "--no-pin"],
                capture_output=True, text=True, timeout=LIMIT_S, check=False)
            print(run.stdout, run.stderr, flush=True)
            self.assertEqual(run.returncode, 0)
            document = json.loads((Path(folder) / "jobs.json").read_text())
            self.assertEqual((Path(folder) / "jobs.md").read_text(), run.stdout)
        sections = document["sections"]
        names = sections["throughput"]["clients"]["8"].keys()
        wanted = {"rota, memory", "rota, sqlite"}
        if shutil.which("redis-server"):
            wanted |= {"Redis list", "Redis stream, always"}
        self.assertLessEqual(wanted, names)
        self.assertLessEqual({"memory", "sqlite"}, sections["backlog"]["stores"].keys())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
