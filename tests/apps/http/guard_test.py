#!/usr/bin/env python3
"""Who may use the queues, the console and what looks into the server: Host, Origin, tokens.

usage: guard_test.py <rota-http> [options of rota-http...]
"""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from programs import PATIENCE_S, check, equal, run_tests
from rota_http import RotaHttp, read_answer

GUARDED = ("/", "/v1", "/v1/queues", "/v1/queues/q", "/v1/openapi.json", "/v1/none",
           "/debug/tasks", "/debug", "/debug/none", "/%76%31/queues")
ASSETS = ("/console/main.js", "/console/console.css", "/console/none.js")
OPEN = ("/healthz", "/metrics", "/plaintext", "/json", "/hello/ann", "/bytes/3", "/sleep/0",
        "/stream?lines=1", "/none")
FOREIGN = ({"Origin": "http://evil.example"}, {"Origin": "null"},
           {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
           {"Sec-Fetch-Site": "cross-site"})


class Tokens:
    """A token file, which is replaced at once."""

    def __init__(self, server_folder):
        self.path = Path(server_folder) / "tokens"
        self.replace("first\n")

    def replace(self, text):
        half = self.path.with_suffix(".half")
        half.write_text(text)
        half.rename(self.path)


def statuses(server, paths, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return {path: server.get(path, headers=headers).status for path in paths}


def refused_all(server, status, paths, **headers):
    equal(statuses(server, paths, **headers), dict.fromkeys(paths, status), headers)


def check_problem(answer, status, words):
    equal((answer.status, answer.headers["Content-Type"]), (status, "application/problem+json"))
    problem = answer.json()
    equal(problem["status"], status)
    check(words in problem["detail"], problem)


def test_an_address_as_a_host(program, options):
    with RotaHttp(program, *options, "--allowed-host", "[2001:db8::1]") as s:
        for host, status in (("[2001:db8::1]", 200), ("[2001:DB8:0:0::1]:80", 200),
                             ("[2001:db8::2]", 421)):
            equal(s.get("/debug/tasks", headers={"Host": host}).status, status, host)


def test_hosts_on_loopback(program, options):
    with RotaHttp(program, *options, "--allowed-host", "Queue.example.org", "b.example:444") as s:
        plain = statuses(s, GUARDED + ASSETS + OPEN)
        equal([plain[path] for path in ("/", "/v1/queues", "/debug/tasks")], [200] * 3)
        for host in ("localhost", "LOCALHOST:1", f"127.0.0.1:{s.port}", "127.255.0.1", "[::1]:80",
                     "queue.example.org", "QUEUE.Example.Org:99", "b.example:444"):
            equal(statuses(s, GUARDED + ASSETS + OPEN, Host=host), plain, host)
        for host in ("evil.example", f"evil.example:{s.port}", "localhost.evil.example",
                     "127.0.0.1.evil.example", "b.example", "192.168.0.1", "[::2]"):
            refused_all(s, 421, GUARDED + ASSETS, Host=host)
            equal(statuses(s, OPEN, Host=host), {path: plain[path] for path in OPEN}, host)
        for path in GUARDED + ASSETS:
            for method in ("HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"):
                equal(s.request(method, path, headers={"Host": "evil.example"}).status, 421,
                      f"{method} {path}")
        check_problem(s.get("/v1/queues", headers={"Host": "x"}), 421, "--allowed-host")
        check(b"--allowed-host" in s.get("/", headers={"Host": "x"}).body, "the option is named")
        for request, status in ((b"GET /v1/queues HTTP/1.0\r\n\r\n", b"421"),
                                (b"GET /plaintext HTTP/1.0\r\n\r\n", b"200"),
                                (b"GET http://evil.example/v1/queues HTTP/1.1\r\n"
                                 b"Host: localhost\r\n\r\n", b"421")):
            with s.connect() as client:
                client.sendall(request)
                equal(read_answer(client)[0].split()[1], status, request)


def test_hosts_on_a_unix_socket(program, options):
    with RotaHttp(program, *options, "--unix", "@rota-guard-test-%d" % os.getpid()) as server:
        for host, status in ((b"localhost", b"200"), (b"evil.example", b"421")):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE_S)
                client.connect("\0rota-guard-test-%d" % os.getpid())
                client.sendall(b"GET /v1/queues HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
                equal(read_answer(client)[0].split()[1], status, host)
        check("open to other machines" not in server.output(), server.output())


def test_beyond_loopback(program, options):
    with RotaHttp(program, *options, "--host", "0.0.0.0") as server:
        server.wait_for("warning 0.0.0.0 is open to other machines: .* --token-file")
        equal(server.get("/v1/queues", headers={"Host": "any.example"}).status, 200)
        for foreign in FOREIGN:
            equal(server.request("POST", "/v1/queues/q/pause", headers=foreign).status, 403)
    with RotaHttp(program, *options, "--host", "0.0.0.0", "--allowed-host", "a.example") as server:
        for host, status in (("a.example", 200), ("10.1.2.3:80", 200), ("evil.example", 421)):
            equal(server.get("/v1/queues", headers={"Host": host}).status, status, host)


def test_loopback_with_a_scope(program, options):
    """It is looked at as without one."""
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return  # a machine without IPv6
    with RotaHttp(program, *options, "--host", "::1%lo") as server:
        for host, status in ((b"localhost", b"200"), (b"evil.example", b"421")):
            with socket.create_connection(("::1", server.port), PATIENCE_S) as client:
                client.sendall(b"GET /v1/queues HTTP/1.1\r\nHost: %s\r\n\r\n" % host)
                equal(read_answer(client)[0].split()[1], status, host)
        check("open to other machines" not in server.output(), server.output())


def test_pages_of_others(program, options):
    with RotaHttp(program, *options) as server:
        own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
        equal(server.request("POST", "/v1/queues/q/jobs", b'{"payload":1}', own).status, 201)
        for foreign in FOREIGN:
            for method, path, body in (("POST", "/v1/queues/q/jobs", b'{"payload":2}'),
                                       ("POST", "/v1/queues/q/take", b"{}"),
                                       ("POST", "/v1/queues/q/purge", None),
                                       ("POST", "/v1/queues/q/pause", None),
                                       ("PUT", "/v1/queues/q", b"{}"),
                                       ("DELETE", "/v1/queues/q/jobs/1", None),
                                       ("POST", "/v1/none", None)):
                check_problem(server.request(method, path, body, foreign), 403, "another origin")
            for path in ("/", "/debug/tasks"):
                equal(server.request("POST", path, headers=foreign).status, 403, path)
            equal(server.get("/v1/queues", headers=foreign).status, 200)
            equal(server.request("POST", "/echo", b"x", foreign).status, 200)
        counts = server.get("/v1/queues/q").json()
        equal((counts["paused"], counts["counts"]["queued"], counts["counts"]["added"]),
              (False, 1, 1))


def without_nonce(page):
    return re.sub(rb'nonce="\w+" ', b"", page)


def test_tokens(program, options):
    with RotaHttp(program, *options) as folder_of:
        tokens = Tokens(folder_of.folder.name)
        with RotaHttp(program, *options, "--token-file", tokens.path, "--host", "0.0.0.0") as s:
            check("open to other machines" not in s.output(), s.output())
            refused_all(s, 401, GUARDED)
            refused_all(s, 401, GUARDED, Authorization="Bearer wrong")
            refused_all(s, 401, GUARDED, Authorization="Basic Zmlyc3Q=")
            for accept in ("text/html", "*/*"):  # which of two contents it has
                answer = s.get("/", headers={"Accept": accept})
                check("Accept" in answer.headers["Vary"].split(", "), answer.headers)
            equal(s.request("POST", "/v1/queues/q/jobs", b'{"payload":1}').status, 401)
            for path in OPEN:
                check(s.get(path).status in (200, 404), path)
            right = {"Authorization": "bearer first"}
            equal({path: s.get(path, headers=right).status for path in GUARDED},
                  {path: folder_of.get(path).status for path in GUARDED})
            answer = s.get("/v1/queues")
            check_problem(answer, 401, "Authorization: Bearer")
            equal(answer.headers["WWW-Authenticate"], 'Bearer realm="rota"')
            equal(s.get("/v1/queues", headers={"Authorization": "Bearer x"})
                  .headers["WWW-Authenticate"], 'Bearer realm="rota", error="invalid_token"')
            # A browser gets the page all the same, which asks for the token.
            page = s.get("/", headers={"Accept": "text/html,*/*;q=0.8"})
            equal((page.status, page.headers["WWW-Authenticate"], page.headers["Cache-Control"]),
                  (401, 'Bearer realm="rota"', "no-store"))
            equal(without_nonce(page.body), without_nonce(s.get("/", headers=right).body))
            check("default-src 'none'" in page.headers["Content-Security-Policy"], page.headers)
            equal(s.get("/console/main.js").status, 200)


def test_tokens_change(program, options):
    with RotaHttp(program, *options) as folder_of:
        tokens = Tokens(folder_of.folder.name)
        with RotaHttp(program, *options, "--token-file", tokens.path) as server:
            def status(token):
                return server.get("/v1/queues", headers={"Authorization": f"Bearer {token}"}).status

            equal((status("first"), status("second")), (200, 401))
            tokens.replace("# new ones\nsecond\nthird\n")
            equal((status("first"), status("second"), status("third")), (401, 200, 200))
            tokens.replace("\n")
            equal((status("second"), status("third")), (200, 200))
            equal(len(server.wait_for("no token in it; the tokens that it had are kept")), 1)
            tokens.replace("fourth\n")
            equal((status("second"), status("fourth")), (401, 200))
            server.wait_for("its tokens can be read again")
            tokens.path.unlink()
            equal((status("fourth"), status("fourth")), (200, 200))
            equal(len(server.wait_for("No such file or directory; the tokens")), 1)
            check("fourth" not in server.output(), "no token is logged")


def test_a_token_that_is_taken_out_ends_what_is_open(program, options):
    with RotaHttp(program, *options) as folder_of:
        tokens = Tokens(folder_of.folder.name)
        tokens.replace("first\nsecond\n")
        with RotaHttp(program, *options, "--token-file", tokens.path) as server:
            def opened(path, token):
                client = server.connect()
                client.settimeout(PATIENCE_S)
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
                               f"Authorization: Bearer {token}\r\n\r\n".encode())
                check(client.recv(65536).startswith(b"HTTP/1.1 200 "), path)
                return client

            paths = ("/debug/live", "/v1/queues/q/events")
            old = [opened(path, "first") for path in paths]
            kept = opened("/v1/queues/q/events", "second")
            tokens.replace("second\n")
            for client in old:
                last = b""
                end = time.monotonic() + 10
                while piece := client.recv(65536):
                    last = piece
                    check(time.monotonic() < end, "it goes on")
                check(not last.endswith(b"0\r\n\r\n"), "it is cut")
                client.close()
            server.request("POST", "/v1/queues/q/jobs", b'{"payload":1}',
                           {"Authorization": "Bearer second"})
            told = b""
            while b"event: added" not in told:
                piece = kept.recv(65536)
                check(piece, "that of the other token goes on")
                told += piece
            kept.close()
            check(" error " not in server.output(), server.output())


def test_what_is_wrong_at_the_start(program, options):
    with RotaHttp(program, *options) as folder_of:
        path = Path(folder_of.folder.name) / "tokens"
        path.write_text("# none\n")
        for file, words in ((path, "no token in it"), (path.parent, "no regular file"),
                            (path.with_name("none"), "No such file or directory")):
            run = subprocess.run([program, "--port", "0", "--store", "memory", "--token-file",
                                  file], capture_output=True, text=True, check=False,
                                 timeout=PATIENCE_S)
            equal(run.returncode, 1)
            check(f"rota-http: token file {file}: {words}" in run.stderr, run.stderr)


def main():
    program, *options = sys.argv[1:]
    options += ["--drain-timeout", "1s"]
    run_tests(globals(), program, options)


if __name__ == "__main__":
    main()
