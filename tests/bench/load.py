#!/usr/bin/env python3
"""What the load benchmark reads, chooses and computes; nothing is measured here."""

import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/load"))
sys.dont_write_bytecode = True

import answers  # noqa: E402
import generators  # noqa: E402
import procfs  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402
import servers  # noqa: E402
import syscalls  # noqa: E402
import workloads  # noqa: E402

TICKS = procfs.TICKS_PER_SECOND


class Proc(unittest.TestCase):
    def test_process_with_a_hostile_name(self):
        before = "17 (a) S 99 (b) R 1 17 17 0 -1 4194560 100 0 0 0 "
        text = f"{before}{3 * TICKS} {2 * TICKS} 0 0 20 0 4 0 12345 1000 200"
        self.assertEqual(procfs.parse_process_stat(text), (1, 3.0, 2.0))

    def test_switches(self):
        text = "Threads:\t2\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t5\n"
        self.assertEqual(procfs.parse_switches(text), 12)

    def test_idle_cores(self):
        core = f"9 9 9 {3 * TICKS} {TICKS} 9 9 9 9 9"
        text = f"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {core}\ncpu1 {core}\ncpu10 {core}\nintr 5 6\n"
        self.assertEqual(procfs.parse_idle_seconds(text, {0}), 4.0)
        self.assertEqual(procfs.parse_idle_seconds(text, {0, 10}), 8.0)

    def test_stolen_time(self):
        core = f"9 9 9 9 9 9 9 {2 * TICKS} 9 9"
        text = f"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {core}\ncpu1 {core}\ncpu10 {core}\nintr 5 6\n"
        self.assertEqual(procfs.parse_stolen_seconds(text, {0, 10}), 4.0)

    def test_what_other_machines_take_is_foreign(self):
        foreign = procfs.ForeignLoad({0}, [])
        foreign.idle += 1e6  # as if the core had never been idle
        foreign.stolen -= 1e3
        with mock.patch.object(procfs, "cpu_of_all", return_value=dict(foreign.seconds)):
            cores, seconds = foreign.cores_used(0.0)
        self.assertGreater(cores * seconds, 999.0)

    def test_foreign_load_is_that_of_other_processes(self):
        foreign = procfs.ForeignLoad(os.sched_getaffinity(0), [])
        work = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ninput()"
        with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as other:
            other.stdout.readline()  # it has used so much, and is there still
            cores, seconds = foreign.cores_used(0.0)
            other.stdin.write(b"\n")
            other.stdin.close()
        self.assertGreater(cores * seconds, 0.4)

    def test_time_that_no_process_uses_is_not_foreign(self):
        foreign = procfs.ForeignLoad({0}, [])
        foreign.idle += 1e6  # as if the core had never been idle
        with (mock.patch.object(procfs, "cpu_of_all", return_value=dict(foreign.seconds)),
              mock.patch.object(procfs, "stolen_seconds", return_value=foreign.stolen)):
            self.assertEqual(foreign.cores_used(0.0)[0], 0.0)

    def test_own_processes_are_not_foreign(self):
        foreign = procfs.ForeignLoad({0}, [os.getppid()])  # this process is of its family
        foreign.idle += 1e6
        later = {os.getpid(): foreign.seconds[os.getpid()] + 3.0,
                 os.getppid(): foreign.seconds[os.getppid()] + 3.0}
        with (mock.patch.object(procfs, "cpu_of_all", return_value=later),
              mock.patch.object(procfs, "stolen_seconds", return_value=foreign.stolen)):
            self.assertEqual(foreign.cores_used(0.0)[0], 0.0)

    def test_core_list(self):
        self.assertEqual(procfs.parse_core_list("0,2-4,7\n"), {0, 2, 3, 4, 7})
        self.assertEqual(procfs.parse_core_list("\n"), set())

    def test_switches_of_threads_that_come_and_go(self):
        earlier = procfs.Usage(switches={1: 10, 2: 100})
        later = procfs.Usage(switches={1: 13, 3: 4})
        self.assertEqual(later.switches_since(earlier), 7)

    def test_cpu_time_of_threads_that_come_and_go(self):
        earlier = procfs.Usage(1.0, 0.0, {1: 10**9})
        later = procfs.Usage(1.5, 0.0, {1: 1_400_000_000, 2: 10**8})
        self.assertEqual(later.cpu_since(earlier), 0.5)
        self.assertEqual(procfs.Usage(1.5, 0.0, {2: 10**8}).cpu_since(earlier), 0.5)
        self.assertEqual(procfs.Usage(1.5).cpu_since(earlier), 0.5)

    def test_cpu_time_by_mode(self):
        earlier = procfs.Usage(1.0, 2.0, {1: 10**9})
        later = procfs.Usage(1.1, 2.3, {1: 1_200_000_000})
        user, system = later.split_since(earlier)
        self.assertAlmostEqual(user, 0.05)
        self.assertAlmostEqual(system, 0.15)
        self.assertEqual(earlier.split_since(earlier), (0.0, 0.0))

    def test_memory(self):
        text = "Name:\tVmRSS: 7\nVmPeak:\t 99 kB\nVmHWM:\t  40 kB\nVmRSS:\t  30 kB\n"
        self.assertEqual(procfs.parse_memory(text), (30, 40))
        self.assertEqual(procfs.parse_memory("Name:\tkthreadd\n"), (0, 0))

    def test_own_memory(self):
        procfs.forget_peak(os.getpid())
        now, most = procfs.memory_mib(os.getpid())
        self.assertGreater(now, 0)
        self.assertGreaterEqual(most, now / 2)

    def test_own_usage(self):
        before = procfs.Usage.of(os.getpid())
        self.assertGreaterEqual(procfs.Usage.of(os.getpid()).cpu_since(before), 0.0)
        self.assertGreaterEqual(sum(before.switches.values()), 0)


class Answers(unittest.TestCase):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"

    def test_first_of_two(self):
        status, headers, body, rest = answers.split_answer(self.head + b"abcHTTP/1.1")
        self.assertEqual((status, body, rest), (200, b"abc", b"HTTP/1.1"))
        self.assertEqual(headers["content-length"], "3")

    def test_incomplete(self):
        self.assertIsNone(answers.split_answer(self.head[:-2]))
        self.assertIsNone(answers.split_answer(self.head + b"ab"))

    def test_not_http(self):
        for data in (b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"):
            with self.assertRaises(servers.BenchError):
                answers.split_answer(data)

    def test_date(self):
        headers = {"date": "Sun, 06 Nov 1994 08:49:37 GMT"}
        self.assertTrue(answers.date_is_current(headers, 784111777.0))
        self.assertFalse(answers.date_is_current(headers, 784111877.0))
        self.assertFalse(answers.date_is_current({"date": "today"}, 784111777.0))
        self.assertFalse(answers.date_is_current({}, 784111777.0))


class Servers(unittest.TestCase):
    def test_server_option(self):
        server = servers.parse_server("h2o=h2o -c 'my conf'@8080/a?b=c@d")
        plain = workloads.NAMED["plaintext"]
        self.assertEqual((server.name, server.url(plain)), ("h2o", "http://127.0.0.1:8080/a?b=c@d"))
        self.assertEqual(server.command, ["h2o", "-c", "my conf"])
        self.assertEqual(servers.parse_server("a=b {port}@0").path(plain), "/plaintext")
        self.assertTrue(server.can(plain))
        self.assertFalse(server.can(workloads.NAMED["json"]))

    def test_wrong_server_option(self):
        for text in ("a=b", "=b@1/", "a=b@x/", "a=b@0/"):
            with self.assertRaises(servers.BenchError):
                servers.parse_server(text)

    def test_table(self):
        known = servers.known_servers(Path("/x/rota-http"), Path("/x/build"))
        self.assertEqual(known["rota"].command[0], "/x/rota-http")
        sixteen = workloads.NAMED["16k"]
        self.assertTrue(known["rota"].url(sixteen).endswith("/bytes/16384"))
        self.assertTrue(known["nginx"].url(sixteen).endswith("/16k"))
        self.assertFalse(known["nginx"].can(workloads.NAMED["echo"]))
        for server in known.values():
            plain = workloads.NAMED["plaintext"]
            self.assertEqual(server.can(plain), plain.over in server.speaks, server.name)
            self.assertLessEqual(server.speaks, {w.over for w in workloads.NAMED.values()})
            self.assertEqual(
                server.can(workloads.NAMED["mix"]), server.can(workloads.NAMED["spin20"])
            )
            own = ("port", "tls_port", "h2c_port", "certificate", "key", "workers", "folder")
            words = {**server.words, **dict.fromkeys((*own, "pages"), "")}
            left = servers.fill(server.config or "", words)
            self.assertNotRegex(left, "{(" + "|".join(words) + "|output|reuseport)}")

    def test_who_has_work_for_handlers(self):
        known = servers.known_servers(Path("/x/rota-http"), Path("/x/build"))
        able = {name for name, one in known.items() if one.can(workloads.NAMED["spin20"])}
        self.assertLessEqual({"target", "target-per-worker", "asio", "go"}, able)
        self.assertFalse({"rota", "nginx", "floor"} & able)

    def test_who_speaks_what(self):
        known = servers.known_servers(Path("/x/rota-http"), Path("/x/build"))
        for name, others in (("tls", {"go"}), ("h2c", {"nghttpd"}), ("h2", {"go", "nghttpd-tls"})):
            able = {one for one, server in known.items() if server.can(workloads.NAMED[name])}
            self.assertLessEqual({"rota", "nginx", "h2o"} | others, able)
            self.assertFalse({"beast", "gorilla", "asio", "floor"} & able)
        able = {one for one, server in known.items() if server.can(workloads.NAMED["ws"])}
        self.assertLessEqual({"rota", "beast", "gorilla"}, able)
        self.assertFalse({"nginx", "h2o", "go"} & able)

    def test_who_has_files(self):
        known = servers.known_servers(Path("/x/rota-http"), Path("/x/build"))
        many = workloads.NAMED["files-many"]
        self.assertEqual(many.answer, b"x" * 2048)
        able = {one for one, server in known.items() if server.can(many)}
        self.assertLessEqual({"rota", "nginx", "h2o"}, able)
        self.assertFalse({"asio", "go", "floor", "target", "nghttpd"} & able)
        with tempfile.TemporaryDirectory() as folder:
            running = servers.Running(known["nginx"], folder, 1, None)
            running.write_pages()
            for path, body in workloads.FILES.items():
                self.assertEqual((running.folder / "pages" / path[1:]).read_bytes(), body)
            small = list((running.folder / "pages/files/small").iterdir())
            self.assertEqual(len(small), workloads.SMALL_FILES_COUNT)

    def test_ports(self):
        row = {"name": "a", "command": ["a", "{port}", "{tls_port}"], "port": 7}
        server = servers.parse_row({**row, "speaks": ["HTTP/1.1", "TLS"]}, Path("/"), {})
        with tempfile.TemporaryDirectory() as folder:
            running = servers.Running(server, folder, 1, None)
        encrypted = server.ports[workloads.TLS]
        self.assertEqual(running.command, ["a", "7", str(encrypted)])
        self.assertEqual(server.url(workloads.NAMED["tls"]),
                         f"https://127.0.0.1:{encrypted}/plaintext")
        self.assertEqual(server.url(workloads.NAMED["plaintext"]), "http://127.0.0.1:7/plaintext")

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not there")
    def test_certificate(self):
        with tempfile.TemporaryDirectory() as folder:
            servers.make_certificate(folder)
            ssl.create_default_context().load_cert_chain(f"{folder}/certificate.pem",
                                                         f"{folder}/key.pem")
        with self.assertRaisesRegex(servers.BenchError, "openssl"):
            servers.make_certificate("/nowhere")

    def test_row(self):
        row = {"name": "a", "command": ["{here}/a", "{port}"], "port": 7, "lacks": ["close"]}
        server = servers.parse_row({**row, "yardstick": True}, Path("/"), {"here": "/b"})
        self.assertEqual((server.command, server.port), (["/b/a", "{port}"], 7))
        self.assertFalse(server.strict)
        self.assertFalse(server.can(workloads.NAMED["accept"]))


class Workloads(unittest.TestCase):
    def test_default(self):
        found = workloads.parse_workloads("plaintext", None, "64x16")
        self.assertEqual([w.connections for w in found], [1, 64, 512, 64])
        self.assertEqual([w.depth for w in found], [1, 1, 1, 16])

    def test_all(self):
        found = workloads.parse_workloads("all", None, "none")
        self.assertEqual([w.connections for w in found[:5]], [1, 16, 64, 256, 512])
        self.assertEqual(len(found), 5 + len(workloads.NAMED) - 1)
        self.assertEqual(len({w.name for w in found}), len(found))

    def test_sizes(self):
        found = workloads.parse_workloads("json,json:256,plaintext:8x4,echo", "1", "none")
        self.assertEqual([w.connections for w in found], [64, 256, 8, 16])
        self.assertEqual(found[2].depth, 4)
        self.assertEqual(found[1].name, "JSON, 256 connections")

    def test_parts(self):
        mix = workloads.NAMED["mix"]
        self.assertEqual(mix.needs, {"/plaintext", "/spin"})
        light, heavy = mix.parts
        self.assertEqual((light.path, heavy.path), ("/plaintext", "/spin/1000"))
        self.assertEqual((light.answer, heavy.answer), (b"Hello, World!", b"spun"))
        self.assertEqual(workloads.NAMED["json"].parts, [workloads.NAMED["json"]])

    def test_streams_and_messages(self):
        found = workloads.parse_workloads("h2c,h2c:1x1,h2:256x128,ws:64x16,tls:8", None, "none")
        self.assertEqual([w.depth for w in found], [32, 1, 128, 16, 1])
        self.assertEqual(found[1].name, "HTTP/2 in clear, 1 connection, 1 streams each")
        self.assertEqual(found[3].name,
                         "WebSocket echo of 64 bytes, 64 connections, 16 messages deep")
        for one in found:
            self.assertNotIn("pipelining", one.needs)
        self.assertEqual(found[3].answer, b"x" * 64)

    def test_nonsense(self):
        for names in ("", "html", "json:x", "json:0", "accept:8x2", "paced:8x2", "plaintext:1x0",
                      "ws-chat:8x2"):
            with self.assertRaises(servers.BenchError):
                workloads.parse_workloads(names, None, "none")

    def test_requests(self):
        plain = workloads.NAMED["plaintext"].request("/p", "h")
        self.assertEqual(plain, b"GET /p HTTP/1.1\r\nHost: h\r\n\r\n")
        echo = workloads.NAMED["echo"]
        self.assertTrue(echo.request("/echo", "h").endswith(b"\r\n\r\n" + echo.answer))
        self.assertIn(b"Content-Length: 65536\r\n", echo.request("/echo", "h"))
        self.assertIn(b"Connection: close\r\n", workloads.NAMED["accept"].request("/", "h"))


def told_by_pace(busy=0.5, late_p99=10.0, **more):
    figures = {f"{name}_us": 50.0 for name in ("p50", "p90", "p99", "p999", "max", "mean")}
    stream = {**figures, "wanted_rate": 9, "rate": 8.0, "count": 90, "warmup_count": 10}
    stream |= {"reconnected": 0, "errors": {"lost": 1, "unanswered": 2}}
    told = {"busy": busy, "lateness": {**figures, "p99_us": late_p99}, "light": stream}
    return json.dumps({**told, **({"heavy": {**stream, "p99_us": 70.0}} if more else {})})


class Generators(unittest.TestCase):
    def test_wrk_result(self):
        output = 'Running 1s test\nresult {"requests": 5, "errors": {"read": 1}}\n'
        self.assertEqual(generators.parse_wrk(output)["requests"], 5)
        with self.assertRaises(servers.BenchError):
            generators.parse_wrk("unable to connect\n")

    def test_h2load_result(self):
        output = ("finished in 1.01s, 5.25 req/s, 1KB/s\n"
                  "requests: 6 total, 6 started, 6 done, 4 succeeded, 1 failed, 0 errored, "
                  "2 timeout\n")
        log = "".join(f"{i}\t200\t{latency}\n" for i, latency in enumerate((40, 10, 30, 20)))
        self.assertEqual(generators.parse_h2load(output, log), (4, 5.25, [20, 30, 30, 40], 3))
        for wrong in ("", output.replace("finished", "broken")):
            with self.assertRaisesRegex(servers.BenchError, "no result"):
                generators.parse_h2load(wrong, log)
        with self.assertRaisesRegex(servers.BenchError, "1 latencies for 4"):
            generators.parse_h2load(output, "0\t200\t40\n")

    def test_pace_result(self):
        load = generators.parse_pace(told_by_pace(), 0.25)
        self.assertEqual((load.answers, load.requests, load.errors), (100, 90, 3))
        self.assertEqual((load.requests_per_second, load.p999_us), (8.0, 50.0))
        self.assertIsNone(load.heavy_p99_us)
        self.assertFalse(load.late)
        both = generators.parse_pace(told_by_pace(heavy=True), 0.25)
        self.assertEqual((both.answers, both.requests, both.errors), (200, 90, 6))
        self.assertEqual(both.heavy_p99_us, 70.0)

    def test_a_generator_that_was_the_bottleneck(self):
        self.assertTrue(generators.parse_pace(told_by_pace(busy=0.95), 0.25).late)
        self.assertTrue(generators.parse_pace(told_by_pace(late_p99=30.0), 0.25).late)

    def test_pace_command(self):
        server = servers.parse_server("a=b@80/p")
        mix = workloads.NAMED["mix"]
        words = generators.pace_command("/x/rota-pace", server, mix, 2)
        self.assertEqual(words[:3], ["/x/rota-pace", "--url", "http://127.0.0.1:80/p"])
        self.assertEqual(words[words.index("--rate") + 1], "1000.0")
        self.assertEqual(words[words.index("--heavy") + 1], "/spin/1000")
        light = generators.pace_command("/x/rota-pace", server, mix.parts[0], 2)
        self.assertNotIn("--heavy", light)

    def test_what_fails_is_said(self):
        with self.assertRaisesRegex(servers.BenchError, "sh: no"):
            generators.run(["sh", "-c", "echo no >&2; exit 3"], None, 1)
        self.assertEqual(generators.run(["echo", "yes"], None, 1)[0], "yes\n")


class Syscalls(unittest.TestCase):
    def test_count(self):
        told = "# started on Mon\n\n1234,,raw_syscalls:sys_enter,643781,100.00,,\n"
        self.assertEqual(syscalls.parse(told), 1234)
        self.assertIsNone(syscalls.parse(told.replace("1234", "<not counted>")))
        self.assertIsNone(syscalls.parse(""))

    def test_permitted_or_not(self):
        self.assertIn(syscalls.permitted(), (True, False))


def sample(rate, cpu, foreign=0.0, errors=0, **more):
    return rounds.Sample(
        requests=1000,
        requests_per_second=rate,
        p50_us=50.0,
        p99_us=90.0,
        p999_us=95.0,
        max_us=99.0,
        cpu_us_per_request=cpu,
        user_us_per_request=cpu / 4,
        system_us_per_request=cpu * 3 / 4,
        switches_per_request=0.1,
        server_cores=1.0,
        load_cores=0.5,
        foreign_cores=foreign,
        memory_mib=10.0,
        memory_peak_mib=12.0,
        errors=errors,
        **more,
    )


def result_of(kept, names, **more):
    """A result as the report takes it."""
    result = {"name": "x", "pinned": True, "dropped": 1, "disturbed": 0, "rounds": kept}
    result |= {"baseline": "nginx", "left_out": ["b"], "paced": False, "rate": 0, "heavy": None}
    return {**result, "summary": rounds.summarize(kept, names, "nginx"), **more}


class Rounds(unittest.TestCase):
    def check_table(self, text):
        self.assertEqual(len({len(line) for line in text.splitlines() if "|" in line}), 1)

    def test_undisturbed_rounds_are_kept_in_order(self):
        taken = [{"a": sample(i, 1.0, foreign)} for i, foreign in enumerate([0.9, 0.0, 0.5, 0.05])]
        kept = rounds.choose(taken, 3, 0.1)
        self.assertEqual([one["a"].requests_per_second for one in kept], [1, 2, 3])

    def test_ratios_are_taken_round_by_round(self):
        kept = [
            {"a": sample(100.0, 4.0), "nginx": sample(50.0, 8.0)},
            {"a": sample(10.0, 30.0, errors=2), "nginx": sample(10.0, 10.0)},
            {"a": sample(300.0, 6.0), "nginx": sample(100.0, 10.0)},
        ]
        summary = rounds.summarize(kept, ["a", "nginx"], "nginx")
        ratio = summary["a"]["ratio"]
        self.assertEqual(ratio["requests_per_second"], {"median": 2.0, "min": 1.0, "max": 3.0})
        self.assertEqual(ratio["cpu_us_per_request"], {"median": 0.6, "min": 0.5, "max": 3.0})
        result = result_of(kept, ["a", "nginx"])
        result["summary"]["a"]["syscalls_per_request"] = 2.25
        text = "\n".join(report.workload_lines(result))
        self.assertIn(" 0.60 (0.50-3.00) |", text)
        self.assertIn(" 10 (12) |", text)
        self.assertIn(" 2.25 |", text)
        self.assertIn(" - |", text)
        self.assertIn("a: 2 errors", text)
        self.assertIn("lack this: b", text)
        self.check_table(text)

    def test_rate_of_a_constant_rate(self):
        baseline = types.SimpleNamespace(server=types.SimpleNamespace(name="b"))
        said = []
        with mock.patch("generators.peak_rate", return_value=1000.0):
            found = [
                rounds.with_rate(workloads.NAMED[name], baseline, None, said.append).rate
                for name in ("paced", "mix", "plaintext")
            ]
        self.assertEqual(found, [600, 1000, 0])
        self.assertEqual(len(said), 1)
        self.assertIn("peak of b 1000", said[0])

    def test_late_rounds_are_the_first_to_go(self):
        late = {"a": sample(1, 1.0, late=True)}
        taken = [late, {"a": sample(2, 1.0, 0.9)}, {"a": sample(3, 1.0)}]
        self.assertEqual(rounds.choose(taken, 2, 0.1), taken[1:])
        self.assertEqual(rounds.complaint(taken[2], 0.1), "")
        self.assertIn("late", rounds.complaint(late, 0.1))
        self.assertIn("0.90 cores", rounds.complaint(taken[1], 0.1))

    def test_table_of_a_constant_rate(self):
        more = {"late_mean_us": 2.0, "late_max_us": 300.0}
        kept = [{"nginx": sample(10.0, 4.0, **more)}]
        text = "\n".join(report.workload_lines(result_of(kept, ["nginx"], paced=True, rate=10)))
        self.assertIn("### x, 10 requests/s (", text)
        self.assertIn(" 2.0, 300 |", text)
        self.check_table(text)

    def test_table_of_two_kinds(self):
        more = {"late_mean_us": 2.0, "late_max_us": 300.0, "heavy_p99_us": 2000.0}
        more |= {"alone_p50_us": 20.0, "alone_p99_us": 30.0, "alone_p999_us": 40.0}
        kept = [{"a": sample(10.0, 4.0, **more, p99_by_alone=3.0)}]
        heavy = {"path": "/spin/1000"}
        lines = report.workload_lines(result_of(kept, ["a"], paced=True, rate=10, heavy=heavy))
        self.assertIn(" 3.00 (3.00-3.00) |", "\n".join(lines))
        self.check_table("\n".join(lines))


if __name__ == "__main__":
    unittest.main()
