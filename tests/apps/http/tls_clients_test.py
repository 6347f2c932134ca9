#!/usr/bin/env python3
"""HTTPS by rota-http, asked by clients that people use. What is not installed is passed over.

usage: tls_clients_test.py <rota-http>
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import browser
from https_server import MADE, Https, free_port
from programs import PATIENCE_S, Program, check, equal, eventually, run_tests

NODE = r"""
const https = require('https'), fs = require('fs');
const ca = fs.readFileSync(process.argv[2]);
const agent = new https.Agent({keepAlive: true, maxSockets: 1, ca});
let left = 3;
(function go() {
    https.get({host: 'localhost', port: process.argv[1], path: '/hello/node', agent}, r => {
        const reused = r.req.reusedSocket, version = r.socket.getProtocol();
        r.on('data', text => console.log(String(text).trim(), version, reused));
        r.on('end', () => --left ? setTimeout(go, 1) : agent.destroy());
    });
})();
"""
HTTPX = r"""
import ssl, sys, httpx
context = ssl.create_default_context(cafile=sys.argv[2])
with httpx.Client(verify=context) as client:
    for _ in range(3):
        url = f"https://localhost:{sys.argv[1]}"
        print(client.get(url + "/hello/httpx").text, end="")
        print(len(client.post(url + "/echo", content=b"x" * 1_000_000).content))
"""
NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}}
http {{
    access_log off; client_max_body_size 100m; client_body_buffer_size 8m;
    proxy_max_temp_file_size 0;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    upstream rota {{ server 127.0.0.1:{tls_port}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass https://rota; proxy_http_version 1.1;
            proxy_set_header Connection ""; proxy_set_header Host localhost;
            proxy_ssl_name localhost; proxy_ssl_server_name on;
            proxy_ssl_verify on; proxy_ssl_trusted_certificate {ca};
        }}
    }}
}}
"""


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)


def test_node(program):
    node = shutil.which("node")
    if node is None:
        return print("no node here")
    with Https(program) as server:
        done = run(node, "-e", NODE, server.tls_port, MADE.ca)
        check(done.stdout.startswith("Hello, node! TLSv1.3 false\n"), done.stdout + done.stderr)
        check(done.stdout.endswith("Hello, node! TLSv1.3 true\n"), done.stdout + done.stderr)
    return None


def test_httpx(program):
    python = next((p for p in (sys.executable, "/usr/bin/python3")
                   if run(p, "-c", "import httpx").returncode == 0), None)
    if python is None:
        return print("no httpx here")
    with Https(program) as server:
        done = run(python, "-c", HTTPX, server.tls_port, MADE.ca)
        equal(done.stdout, "Hello, httpx!\n1000000\n" * 3, done.stderr)
    return None


def test_nginx_in_front(program):
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if nginx is None:
        return print("no nginx here")
    with Https(program) as server, tempfile.TemporaryDirectory() as folder:
        port = free_port()
        config = Path(folder) / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, port=port, tls_port=server.tls_port,
                                       ca=MADE.ca), encoding="ascii")
        with Program(nginx, "-c", config):
            url = f"http://127.0.0.1:{port}"
            eventually(lambda: run("curl", "-s", f"{url}/plaintext").stdout == "Hello, World!",
                       "it answers")
            for _ in range(5):
                equal(run("curl", "-s", f"{url}/hello/ann").stdout, "Hello, ann!\n", "answer")
            big = Path(folder) / "big"
            big.write_bytes(b"x" * 3_000_000)
            equal(len(run("curl", "-s", "--data-binary", f"@{big}", f"{url}/echo").stdout),
                  3_000_000, "an echo")
    return None


def test_browser(program):
    """The console over HTTP/2, with its stream of events."""
    if reason := browser.unavailable():
        return print(reason)
    with Https(program) as server, browser.start("--ignore-certificate-errors") as chromium:
        chromium.open(f"https://localhost:{server.tls_port}/")
        chromium.wait_text("#state", "live")
        chromium.wait_text("body", r"This page came by HTTP/2 over TLS\.")
        protocols = chromium.run("return performance.getEntries().map(e => e.nextHopProtocol)"
                                 ".filter(Boolean);")
        check(protocols and set(protocols) == {"h2"}, protocols)
    return None


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1])
