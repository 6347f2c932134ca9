#!/usr/bin/env python3
"""rota-http behind proxies: whom requests come from, by Forwarded, X-Forwarded-For and the PROXY
protocol, of haproxy and nginx where they are installed, and of curl.

usage: proxies_test.py <rota-http>
"""

import hashlib
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from https_server import MADE, Https, free_port
from programs import PATIENCE_S, Program, check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer

HAPROXY = """
defaults
    mode {mode}
    timeout connect 10s
    timeout client 30s
    timeout server 30s
frontend f
    bind 127.0.0.1:{port}
    default_backend b
backend b
    {options}
    server rota 127.0.0.1:{behind} {how}
"""
NGINX = """
daemon off; user root; pid {folder}/pid; error_log {folder}/errors; events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            {how}; {kind}_set_header Host $http_host;
            {kind}_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            {kind}_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""
LINE = b"PROXY TCP4 192.0.2.1 198.51.100.2 4711 80\r\n"
BINARY = (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\1\xc6\x33\x64\2\x12\x67\0\x50")
GET = b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Proxy(Program):
    """One in front of `behind`, started by a configuration; it listens on `port`."""

    def __init__(self, command, text, behind, **words):
        self.folder = tempfile.TemporaryDirectory(prefix="rota-test-")
        self.port = free_port()
        configuration = Path(self.folder.name) / "configuration"
        configuration.write_text(text.format(port=self.port, behind=behind,
                                             folder=self.folder.name, **words))
        super().__init__(*command, configuration)
        eventually(self._listens, f"{command[0]} listens")

    def _listens(self):
        if self.process.poll() is not None:
            raise AssertionError(f"ended with {self.process.returncode}:\n{self.output()}")
        try:
            socket.create_connection(("127.0.0.1", self.port), PATIENCE_S).close()
        except OSError:
            return False
        return True

    def curl(self, path, *options, scheme="http"):
        run = subprocess.run(
            ["curl", "-sS", "--cacert", MADE.ca, *options,
             f"{scheme}://localhost:{self.port}{path}"],
            capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        equal(run.returncode, 0, run.stderr)
        return run.stdout

    def __exit__(self, *error):
        self.process.terminate()
        self.wait()
        self.folder.cleanup()


def trusting(program, *options):
    return RotaHttp(program, "--access-log", "--trusted-proxy", "127.0.0.0/8", *options)


def peer_of(server, path, **fields):
    """Whom the log says that asked for a path, and the status."""
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    status = server.get(path, headers=headers).status
    return server.wait_for(rf' info  (\S+) "GET {path}" {status} ')[0], status


def ask(server, *pieces):
    """The first line of what comes back, or b"" for nothing."""
    with server.connect() as client:
        for piece in pieces:
            client.sendall(piece)
        data = b""
        while piece := client.recv(65536):
            data += piece
        return data.partition(b"\r\n")[0]


def test_fields_of_trusted_proxies(program):
    with trusting(program) as server:
        number = 0
        for field, value, peer in (
                ("X-Forwarded-For", "192.0.2.1", "192.0.2.1"),
                ("X-Forwarded-For", "198.51.100.1, 192.0.2.1, 127.0.0.9", "192.0.2.1"),
                ("X-Forwarded-For", "junk, 2001:db8::1", "[2001:db8::1]"),
                ("X-Forwarded-For", "192.0.2.1:4711", "192.0.2.1:4711"),
                ("X-Forwarded-For", "unknown", "unknown"),
                ("Forwarded", "for=192.0.2.1;proto=https", "192.0.2.1"),
                ("Forwarded", 'for=_x, for="[2001:db8::1]:80", for=127.0.0.1',
                 "[2001:db8::1]:80")):
            number += 1
            equal(peer_of(server, f"/hello/{number}", **{field: value}), (peer, 200), value)
        for fields in ({"X-Forwarded-For": "name"}, {"X-Forwarded-For": "192.0.2.1 x"},
                       {"Forwarded": "for=1.2.3.4:80"}, {"Forwarded": 'for="'},
                       {"X-Forwarded-Proto": "ftp"}, {"X-Forwarded-Host": "a b"},
                       {"Forwarded": "for=192.0.2.1", "X-Forwarded-For": "192.0.2.1"}):
            number += 1
            peer, status = peer_of(server, f"/hello/{number}", **fields)
            equal((peer.rpartition(":")[0], status), ("127.0.0.1", 400), fields)
    with RotaHttp(program, "--access-log", "--trusted-proxy", "10.0.0.0/8") as server:
        peer, status = peer_of(server, "/json", X_Forwarded_For="192.0.2.1", Forwarded="nonsense")
        equal((peer.rpartition(":")[0], status), ("127.0.0.1", 200))
    with RotaHttp(program, "--access-log") as server:
        equal(peer_of(server, "/json", X_Forwarded_For="x")[0].rpartition(":")[0], "127.0.0.1")
    with trusting(program, "--proxy-fields", "forwarded") as server:
        equal(peer_of(server, "/json", X_Forwarded_For="192.0.2.1", Forwarded="for=192.0.2.2"),
              ("192.0.2.2", 200))


def test_https_in_clear_is_for_trusted_proxies(program):
    secured = GET.replace(b"/plaintext", b"https://localhost/plaintext")
    for network, line in (("127.0.0.0/8", b"HTTP/1.1 200 OK"),
                          ("10.0.0.0/8", b"HTTP/1.1 421 Misdirected Request")):
        with RotaHttp(program, "--trusted-proxy", network) as server:
            equal(ask(server, secured), line)


def test_the_guard_sees_both_hosts(program):
    with trusting(program, "--allowed-host", "queue.example") as server:
        for host, said, status in (("localhost", "queue.example", 200),
                                   ("localhost", "evil.example", 421),
                                   ("evil.example", "localhost", 421)):
            equal(server.get("/v1/queues", headers={"Host": host, "X-Forwarded-Host": said}).status,
                  status, (host, said))


def test_proxy_headers(program):
    for trust in ((), ("--trusted-proxy", "127.0.0.1")):
        with RotaHttp(program, "--access-log", "--proxy-protocol", *trust) as server:
            equal(ask(server, LINE + GET), b"HTTP/1.1 200 OK")
            equal(ask(server, BINARY + GET), b"HTTP/1.1 200 OK")
            equal(ask(server, *(BINARY[i:i + 1] for i in range(28)), GET), b"HTTP/1.1 200 OK")
            server.wait_for(r' 192\.0\.2\.1:4711 "GET /plaintext" 200 ', count=3)
            for header in (b"PROXY UNKNOWN\r\n", b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"):
                equal(ask(server, header + GET), b"HTTP/1.1 200 OK")
            server.wait_for(r' 127\.0\.0\.1:\d+ "GET /plaintext" 200 ', count=2)
            equal(ask(server, GET), b"HTTP/1.1 400 Bad Request")
            equal(ask(server, b"PROXY TCP4 a b c d\r\n" + GET), b"HTTP/1.1 400 Bad Request")
            equal(ask(server, b"\r\n\r\n\0\r\nQUIT\n\x31\0\0\0" + GET), b"")
            equal(ask(server, LINE + LINE + GET), b"HTTP/1.1 400 Bad Request")
    with RotaHttp(program, "--proxy-protocol", "--trusted-proxy", "10.0.0.0/8") as server:
        equal(ask(server, GET), b"HTTP/1.1 200 OK")
        equal(ask(server, LINE + GET), b"HTTP/1.1 400 Bad Request")
    with RotaHttp(program, "--proxy-protocol", "--header-timeout", "200ms") as server:
        equal([ask(server, begin) for begin in (b"", b"PROXY ", BINARY[:20])], [b""] * 3)


def test_a_path_in_a_proxy_header_is_one_word_of_the_log(program):
    path = b'/a "GET /x" 200\n2026 forged \x1b[31m\xe4'
    header = BINARY[:12] + b"\x21\x31\0\xd8" + path.ljust(108, b"\0") + bytes(108)
    with RotaHttp(program, "--access-log", "--proxy-protocol", "--log-level", "debug") as server:
        equal(ask(server, header + GET), b"HTTP/1.1 200 OK")
        peer = server.wait_for(r' info  (\S+) "GET /plaintext" 200 ')[0]
        equal(peer, r"unix:/a\x20\x22GET\x20/x\x22\x20200\x0a2026\x20forged\x20\x1b[31m\xe4")
        check("\n2026 forged" not in server.output() and "\x1b" not in server.output(),
              server.output())


def test_what_is_no_network(program):
    for wrong in ("10.0.0.0/33", "name", "", "10.0.0.0/8,::1"):
        run = subprocess.run([program, "--trusted-proxy", wrong], capture_output=True, text=True,
                             timeout=PATIENCE_S, check=False)
        equal(run.returncode, 2, run.stderr)
        check(("network" if wrong else "needs a value") in run.stderr, run.stderr)


def test_curl(program):
    with RotaHttp(program, "--access-log", "--proxy-protocol") as server:
        run = subprocess.run(
            ["curl", "-sS", "--haproxy-protocol", f"http://127.0.0.1:{server.port}/hello/curl"],
            capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        equal(run.stdout, "Hello, curl!\n", run.stderr)


def test_haproxy(program):
    haproxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if haproxy is None:
        print("no haproxy here")
        return
    command = [haproxy, "-db", "-f"]
    with Https(program, "--access-log", "--proxy-protocol") as server:
        for how in ("send-proxy", "send-proxy-v2"):
            with Proxy(command, HAPROXY, server.port, mode="tcp", options="", how=how) as proxy:
                equal(proxy.curl(f"/hello/{how}", "--local-port", "20000-60000"),
                      f"Hello, {how}!\n")
                server.wait_for(rf'127.0.0.1:\d+ "GET /hello/{how}" 200')
            with Proxy(command, HAPROXY, server.tls_port, mode="tcp", options="",
                       how=how + " check inter 100ms") as proxy:
                equal(proxy.curl(f"/hello/{how}", scheme="https"), f"Hello, {how}!\n")
    with trusting(program) as server:
        for options, path, fields, peer in (
                ("option forwardfor", "/hello/1", ("-H", "X-Forwarded-For: 192.0.2.9"),
                 r"192\.0\.2\.9"),
                ("option forwardfor", "/hello/2", (), r"127\.0\.0\.1"),
                ("http-request set-header Forwarded for=192.0.2.8;proto=https", "/hello/3", (),
                 r"192\.0\.2\.8")):
            with Proxy(command, HAPROXY, server.port, mode="http", options=options,
                       how="") as proxy:
                proxy.curl(path, *fields)
                server.wait_for(rf' {peer} "GET {path}" 200 ')


def large_answers(proxy):
    """Content of some windows goes through a proxy as it was sent, there and back."""
    content = Path(proxy.folder.name, "content")
    content.write_bytes(random.Random(1).randbytes(300_000))
    digest = hashlib.sha256(content.read_bytes()).hexdigest()
    answer = json.loads(proxy.curl("/form", "-F", f"file=@{content}"))
    equal([(file["size"], file["sha256"]) for file in answer["files"]], [(300_000, digest)])
    equal(proxy.curl("/bytes/1000000"), "x" * 1_000_000)
    equal(proxy.curl("/plaintext", "-I").splitlines()[0].split()[1], "200")


def test_haproxy_by_http2_and_tls(program):
    haproxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if haproxy is None:
        print("no haproxy here")
        return
    with Https(program, "--access-log", "--trusted-proxy", "127.0.0.0/8") as server:
        sure = f"ssl verify required ca-file {MADE.ca} verifyhost localhost sni str(localhost)"
        for number, (protocol, port, how) in enumerate((
                ("HTTP/2", server.port, "proto h2"),
                ("HTTP/2", server.tls_port, sure + " alpn h2"),
                ("HTTP/1.1", server.tls_port, sure))):
            with Proxy([haproxy, "-db", "-f"], HAPROXY, port, mode="http",
                       options="option forwardfor", how=how) as proxy:
                proxy.curl(f"/hello/{number}", "-H", "X-Forwarded-For: 192.0.2.9")
                server.wait_for(rf' 192\.0\.2\.9 "GET /hello/{number}" 200 .* {protocol}\n')
                large_answers(proxy)


def test_nginx(program):
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        print("no nginx here")
        return
    sure = f"ssl_verify on; {{0}}_ssl_trusted_certificate {MADE.ca}; {{0}}_ssl_name localhost"
    with Https(program, "--access-log", "--trusted-proxy", "127.0.0.0/8") as server:
        for number, (protocol, kind, to) in enumerate((
                ("HTTP/1.0", "proxy", f"http://127.0.0.1:{server.port}"),
                ("HTTP/1.0", "proxy", f"https://127.0.0.1:{server.tls_port}"),
                ("HTTP/2", "grpc", f"grpc://127.0.0.1:{server.port}"),
                ("HTTP/2", "grpc", f"grpcs://127.0.0.1:{server.tls_port}"))):
            how = f"{kind}_pass {to}"
            if "s://" in to:
                how += f"; {kind}_{sure.format(kind)}"
            with Proxy([nginx, "-p", "/tmp", "-c"], NGINX, 0, kind=kind, how=how) as proxy:
                proxy.curl(f"/hello/{number}", "-H", "X-Forwarded-For: 192.0.2.9")
                server.wait_for(rf' 192\.0\.2\.9 "GET /hello/{number}" 200 .* {protocol}\n')
                equal(proxy.curl("/hello/nginx"), "Hello, nginx!\n")
                server.wait_for(r' 127\.0\.0\.1 "GET /hello/nginx" 200 ', count=number + 1)
                large_answers(proxy)


def test_a_connection_of_a_proxy_is_kept(program):
    with RotaHttp(program, "--access-log", "--proxy-protocol") as server:
        with server.connect() as client:
            client.sendall(LINE)
            for _ in range(3):
                client.sendall(b"GET /sleep/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                check(read_answer(client)[0].startswith(b"HTTP/1.1 200"), "answered")
            server.wait_for(r' 192\.0\.2\.1:4711 "GET /sleep/1" 200 ', count=3)


if __name__ == "__main__":
    run_tests(globals(), *sys.argv[1:])
