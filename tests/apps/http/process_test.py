#!/usr/bin/env python3
"""rota-http as a process: options, signals, drain, logs.

usage: process_test.py <rota-http> [options of rota-http...]
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer

ECHO = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
CHUNKED = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
LINGER_S = 5  # for a client that does not close, before the end is asked for (http/limits.hpp)
# What a client has sent when the server is told to end, and what it sends after that.
HALVES = [
    (b"G", b"ET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n", b"Hello, World!"),
    (b"GET /plaintext HTTP/1.1\r\nHost: x\r\n", b"\r\n", b"Hello, World!"),
    (b"GET /hello/ann HT", b"TP/1.1\r\nHost: x\r\n\r\n", b"Hello, ann!\n"),
    (ECHO, b"0123456789", b"0123456789"),
    (ECHO + b"01234", b"56789", b"0123456789"),
    (CHUNKED + b"5\r\n012", b"34\r\n5\r\n56789\r\n0\r\n\r\n", b"0123456789"),
    (b"GET /sleep/300 HTTP/1.1\r\nHost: x\r\n\r\n", b"", b"slept 300 ms\n"),
]


def refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE_S).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass  # it has met the listener's end
    return False


def test_half_sent_requests_are_answered(program, options):
    with RotaHttp(program, "--drain-timeout", "60s", *options) as server:
        clients = [server.connect() for _ in range(10 * len(HALVES))]
        for i, client in enumerate(clients):
            client.sendall(HALVES[i % len(HALVES)][0])
        idle = server.connect()
        kept = server.connect()
        kept.sendall(b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n")
        read_answer(kept)
        # Everything has arrived once what was sent last has been answered.
        eventually(lambda: f"rota_http_connections {len(clients) + 3}" in
                   server.get("/metrics").body.decode(), "all clients are served")
        server.signal(signal.SIGTERM)
        server.wait_for("draining")
        eventually(lambda: refused(server.port), "new connections are refused")
        equal(idle.recv(1), b"", "an idle connection is closed")
        equal(kept.recv(1), b"", "a connection kept alive is closed")
        for i, client in enumerate(clients):
            client.sendall(HALVES[i % len(HALVES)][1])
        for i, client in enumerate(clients):
            head, body = read_answer(client)
            check(head.startswith(b"HTTP/1.1 200 "), head)
            check(b"\r\nConnection: close" in head, head)
            equal(body, HALVES[i % len(HALVES)][2])
            equal(client.recv(1), b"", "the end of the stream")
        equal(server.wait(), 0, "exit code")


def test_a_second_signal_cuts(program, options):
    for number in (signal.SIGTERM, signal.SIGINT):
        with RotaHttp(program, "--drain-timeout", "10m", *options) as server:
            client = server.connect()
            client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
            eventually(lambda server=server: server.blocked("sleep"), "the request is at work")
            server.signal(number)
            server.wait_for("draining")
            equal(server.process.poll(), None, "it waits for the request")
            server.signal(number)
            equal(server.wait(), 0, "exit code")
            said = re.findall(r"signal \d+: (\w+)", server.output())
            equal(said, ["draining", "cancelling"], "what each signal does is said")


def test_the_drain_timeout_cuts(program, options):
    with RotaHttp(program, "--drain-timeout", "100ms", *options) as server:
        client = server.connect()
        client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: server.blocked("sleep"), "the request is at work")
        server.signal(signal.SIGTERM)
        equal(server.wait(), 0, "exit code")


def test_clients_that_do_not_close_do_not_hold_up_the_end(program, options):
    """Consumers that wait for jobs are answered at once, and soon closed, whatever they do."""
    tries = 5  # where nobody runs for seconds one of them shows it all the same
    check(any(end_beside_consumers_s(program, options) < LINGER_S for _ in range(tries)),
          "as if each were waited for until it closes")


def end_beside_consumers_s(program, options):
    """How long the end takes."""
    wanted = b'{"wait_ms":60000}'
    take = (b"POST /v1/queues/q/take HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(wanted), wanted))
    with RotaHttp(program, "--drain-timeout", "60s", *options) as server:
        clients = [server.connect() for _ in range(3)]
        for client in clients:
            client.sendall(take)
        eventually(lambda: server.blocked("jobs::take") == len(clients), "they wait")
        start = time.monotonic()
        server.signal(signal.SIGTERM)
        for client in clients:
            head, body = read_answer(client)
            check(head.startswith(b"HTTP/1.1 200 "), head)
            check(b"\r\nConnection: close" in head, head)
            equal(body, b'{"jobs":[]}\n')
        equal(server.wait(), 0, "exit code")
        return time.monotonic() - start


def test_health_while_draining(program, options):
    for path in (b"/healthz", b"/readyz"):
        health_while_draining(program, options, path)


def health_while_draining(program, options, path):
    with RotaHttp(program, "--drain-timeout", "60s", *options) as server:
        with server.connect() as slow, server.connect() as asking:
            slow.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
            asking.sendall(b"GET " + path + b" HTTP/1.1\r\n")
            eventually(lambda: "rota_http_connections 3" in server.get("/metrics").body.decode(),
                       "both are served")
            server.signal(signal.SIGTERM)
            server.wait_for("draining")
            eventually(lambda: refused(server.port), "new connections are refused")
            asking.sendall(b"Host: x\r\n\r\n")
            head, body = read_answer(asking)
            check(head.startswith(b"HTTP/1.1 503 "), head)
            equal(body, b"draining\n" if path == b"/healthz"
                  else b'{"ready":false,"reason":"draining"}\n')
        server.signal(signal.SIGTERM)
        equal(server.wait(), 0)


def test_port_in_use(program, options):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        run = subprocess.run([program, "--port", port, "--log-level", "error", "--store", "memory",
                              *options],
                             capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        equal(run.returncode, 1)
        equal(run.stderr.count("\n"), 1, run.stderr)
        check(run.stderr.startswith("rota-http: ") and "in use" in run.stderr, run.stderr)
        check(port in run.stderr, run.stderr)


def test_any_number_of_descriptors(program, options):
    """It serves, or says that it cannot."""
    # A sanitizer needs some itself, to look for leaks at the end.
    for count in range(16 if "ROTA_TEST_SANITIZED" in os.environ else 4, 20):
        run = subprocess.Popen(["sh", "-c", 'ulimit -n "$1"; shift; exec "$@"', "sh", str(count),
                                program, "--port", "0", "--store", "memory", *options],
                               stderr=subprocess.PIPE, text=True)
        lines = []
        while (line := run.stderr.readline()) and " serves http://" not in line:
            lines.append(line)
        if line:
            run.send_signal(signal.SIGTERM)
        run.stderr.close()
        equal(run.wait(PATIENCE_S), 0 if line else 1, f"{count} descriptors: {lines}")
        if not line:
            assert "raise the limit of open files" in lines[-1], f"{count} descriptors: {lines}"
            assert "at once instead" not in "".join(lines), f"{count} descriptors: {lines}"


def test_threads_that_cannot_be_had(program, options):
    """It serves, or says that it cannot."""
    # Who is not root may have more processes; a sanitizer has a thread of its own.
    if os.geteuid() != 0 or "ROTA_TEST_SANITIZED" in os.environ:
        return
    somebody = ("import os, resource, sys; os.setresuid(64998, 64998, 64998);"
                "os.access(sys.argv[2], os.X_OK) or sys.exit(77);"
                "resource.setrlimit(resource.RLIMIT_NPROC, (int(sys.argv[1]),) * 2);"
                "os.execv(sys.argv[2], sys.argv[2:])")
    for count in range(1, 16):
        run = subprocess.Popen([sys.executable, "-c", somebody, str(count), program, "--port", "0",
                                "--store", "memory", *options], stderr=subprocess.PIPE, text=True)
        lines = []
        while (line := run.stderr.readline()) and " serves http://" not in line:
            lines.append(line)
        if line:
            run.send_signal(signal.SIGTERM)
        run.stderr.close()
        code = run.wait(PATIENCE_S)
        if code == 77:
            print("skipped: others may not run it")
            return
        equal(code, 0 if line else 1, f"{count} threads: {lines}")
        check(line or "raise the limit" in "".join(lines), f"what to do: {lines}")


def test_memory_that_cannot_be_had(program, options):
    """It says what to do about it; if it does not even begin, that is for ld.so to say."""
    if "ROTA_TEST_SANITIZED" in os.environ:  # which needs terabytes
        return
    told = 0
    for megabytes in range(16, 128, 4):
        run = subprocess.run(["prlimit", f"--as={megabytes << 20}", program, "--port", "0",
                              "--store", "memory", "--host", "192.0.2.1", *options],
                             capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        lines = [line for line in run.stderr.splitlines() if line.startswith("rota-http: ")]
        if lines and "192.0.2.1" not in lines[0]:
            equal(run.returncode, 1, f"{megabytes} MiB: {run.stderr}")
            check("raise the limit" in lines[0], lines)
            told += 1
    check(told != 0, "one was too little")


def test_bad_options(program, _):
    for wrong in (["--port", "x"], ["--idle-timeout", "soon"], ["--nonsense"], ["--workers", "-1"],
                  ["--access-log-format", "json"], ["--proxy-fields", "forwarded"],
                  ["--handshake-timeout", "1s"]):
        run = subprocess.run([program, *wrong], capture_output=True, text=True,
                             timeout=PATIENCE_S, check=False)
        equal(run.returncode, 2, str(wrong))
        equal(run.stderr.count("\n"), 1, run.stderr)
        equal(run.stdout, "")


def test_help_and_version(program, _):
    text = subprocess.run([program, "--help"], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=True).stdout
    for word in ("--host", "--port", "--workers", "--topology", "--max-connections",
                 "--header-timeout", "--body-timeout", "--idle-timeout", "--drain-timeout",
                 "--log-level", "--store", "Examples:"):
        check(word in text, word)
    version = subprocess.run([program, "--version"], capture_output=True, text=True,
                             timeout=PATIENCE_S, check=True).stdout
    check(version.startswith("rota-http "), version)
    for option in ("--help", "--version"):
        with open("/dev/full", "w", encoding="ascii") as full:
            run = subprocess.run([program, option], stdout=full, stderr=subprocess.PIPE,
                                 timeout=PATIENCE_S, check=False)
        equal((run.returncode, run.stderr), (1, b""), option)


def test_unix_socket(program, options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "http.sock")
        with RotaHttp(program, "--unix", path, *options) as server:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE_S)
                client.connect(path)
                client.sendall(b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n")
                equal(read_answer(client)[1], b"Hello, World!")
            equal(server.end(), 0)
        check(not os.path.exists(path), "the socket file is gone")


def test_more_clients_than_connections_wait(program, options):
    with RotaHttp(program, "--max-connections", "2", *options) as server:
        first, second = server.connect(), server.connect()
        for client in (first, second):
            client.sendall(b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n")
            read_answer(client)
        third = server.connect()
        third.sendall(b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n")
        first.close()
        equal(read_answer(third)[1], b"Hello, World!")


def test_without_standard_descriptors(program, options):
    shell = ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', program]
    with RotaHttp(shell, "--access-log", *options, mute=True) as server:
        for _ in range(20):
            equal(server.get("/plaintext").status, 200)
        equal(server.end(), 0)


def test_nobody_reads_the_log(program, options):
    read_end, write_end = os.pipe()
    try:
        with RotaHttp(program, "--access-log", *options, stderr=write_end) as server:
            connection = server.session()
            for _ in range(5000):  # far more than a pipe holds
                equal(server.get("/plaintext", over=connection).status, 200)
            connection.close()
            equal(server.end(), 0)
    finally:
        os.close(read_end)
        os.close(write_end)


def test_the_reader_of_the_log_goes_away(program, options):
    read_end, write_end = os.pipe()
    with RotaHttp(program, "--access-log", *options, stdout=write_end, stderr=write_end) as server:
        os.close(write_end)
        os.close(read_end)
        for _ in range(20):
            equal(server.get("/plaintext").status, 200)
        equal(server.end(), 0)


def test_access_log(program, options):
    with RotaHttp(program, "--access-log", *options) as server:
        server.get("/hello/log?x=1")
        server.wait_for(r'127\.0\.0\.1:\d+ "GET /hello/log\?x=1" 200 \d+ bytes \d+ us')


def test_a_signal_dumps_the_tasks(program, options):
    with RotaHttp(program, *options) as server:
        with server.connect() as client:
            client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
            eventually(lambda: server.blocked("sleep"), "the request is at work")
            for count in (1, 2):
                server.signal(signal.SIGUSR1)
                server.wait_for(r"tasks: \d+ routines, \d+ running, \d+ blocked", count)
                server.wait_for(r"sleep in \S+samples.cpp:\d+: 1 waiting", count)
                server.wait_for(r"client#\d+ on worker \d+ for \d+ ms", count)
            server.wait_for(r"worker 0: \w+, \d+ routines, \d+ connections, \d+ runnable", 2)


def test_the_port_file_is_whole(program, options):
    with RotaHttp(program, *options) as server:
        equal(Path(server.port_file).read_text(), f"{server.port}\n")
        beside = Path(server.port_file).parent.glob(f"{Path(server.port_file).name}.*")
        equal(list(beside), [], "nothing is left over")


def test_the_port_file_goes_with_the_program(program, options):
    with RotaHttp(program, *options) as server:
        server.signal(signal.SIGTERM)
        equal(server.wait(), 0)
        check(not Path(server.port_file).exists(), "it is left over")


def test_a_port_file_that_cannot_be_written_ends_the_program(program, options):
    run = subprocess.run([program, "--port", "0", "--port-file", "/nonexistent/port", "--store",
                          "memory", *options],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    equal(run.returncode, 1)
    check("rota-http: cannot write /nonexistent/port" in run.stderr, run.stderr)
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        path = Path(folder) / "port"
        path.mkdir()
        run = subprocess.run([program, "--port", "0", "--port-file", path, "--store", "memory",
                              *options],
                             capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        equal(run.returncode, 1)
        check(f"rota-http: cannot write {path}" in run.stderr, run.stderr)
        check(" serves http" not in run.stderr, run.stderr)
        equal(os.listdir(folder), ["port"], "nothing is left over")


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
