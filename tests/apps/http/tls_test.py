#!/usr/bin/env python3
"""HTTPS by rota-http, asked by openssl s_client, curl and Python.

usage: tls_test.py <rota-http> [options of rota-http...]
"""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

from https_server import GET, MADE, Https
from programs import PATIENCE_S, Program, check, equal, eventually, run_tests
from rota_http import read_answer

CLOSING = b"GET /plaintext HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n"


def test_versions(program, options):
    with Https(program, *options) as server:
        for version, name in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")):
            said = server.s_client(version, send=CLOSING)
            check("Hello, World!" in said, said)
            check(f"{name}, Cipher is " in said, said)
            check("Verify return code: 0 (ok)" in said, said)
        for version in ("-tls1", "-tls1_1"):
            said = server.s_client(version, "-cipher", "ALL:@SECLEVEL=0", send=CLOSING)
            check("Hello, World!" not in said, said)
            check("alert protocol version" in said, said)


def test_ciphers(program, options):
    """Forward secrecy and authenticated encryption."""
    with Https(program, *options) as server:
        for cipher, name in (("ECDHE-ECDSA-AES128-GCM-SHA256", "localhost"),
                             ("ECDHE-ECDSA-CHACHA20-POLY1305", "a.test"),
                             ("ECDHE-RSA-AES256-GCM-SHA384", "x.w.test")):
            said = server.s_client("-tls1_2", "-cipher", cipher, send=CLOSING, name=name)
            check("Hello, World!" in said and f"Cipher is {cipher}" in said, said)
        for cipher in ("AES128-GCM-SHA256", "AES256-SHA", "ECDHE-ECDSA-AES128-SHA256",
                       "DHE-RSA-AES128-GCM-SHA256"):
            for name in ("localhost", "x.w.test"):
                said = server.s_client("-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0", name=name)
                check("handshake failure" in said, said)


def test_names(program, options):
    with Https(program, *options) as server:
        for name, shown in (("localhost", "localhost"), ("a.test", "a"), ("A.TEST", "a"),
                            ("x.w.test", "w"), ("w.test", "localhost"),
                            ("x.y.w.test", "localhost"), ("b.test", "localhost"),
                            (None, "localhost")):
            said = server.s_client(send=b"", name=name)
            check(f"subject=CN={shown}\n" in said.replace(" = ", "="), f"{name}: {said}")
        with server.agree("a.test") as client:
            client.sendall(GET.replace(b"localhost", b"a.test"))
            check(read_answer(client)[0].startswith(b"HTTP/1.1 200 "), "its own name")
            client.sendall(GET.replace(b"localhost", b"any.w.test:1"))
            check(read_answer(client)[0].startswith(b"HTTP/1.1 421 "), "another's")
        with server.agree("a.test") as client:
            client.sendall(GET.replace(b"localhost", b"unknown.test"))
            check(read_answer(client)[0].startswith(b"HTTP/1.1 200 "), "nobody's")


def test_protocols(program, options):
    with Https(program, *options) as server:
        with server.agree(alpn=["spdy/1", "http/1.1"]) as client:
            equal(client.selected_alpn_protocol(), "http/1.1", "ALPN")
            client.sendall(GET)
            equal(read_answer(client)[1], b"Hello, World!", "answer")
        with server.agree() as client:
            equal(client.selected_alpn_protocol(), None, "ALPN")
            client.sendall(GET)
            equal(read_answer(client)[1], b"Hello, World!", "answer")
        said = server.s_client("-alpn", "spdy/1,smtp")
        check("alert no application protocol" in said, said)


def test_client_certificates(program, options):
    with Https(program, "--tls-client-ca", MADE.ca, *options) as server:
        with server.agree(certificate="ann") as client:
            client.sendall(GET)
            equal(read_answer(client)[1], b"Hello, World!", "answer")
        for certificate in (None, "stranger"):
            refused = False
            try:
                with server.agree(certificate=certificate) as client:
                    client.sendall(GET)
                    read_answer(client)
            except (ssl.SSLError, AssertionError, ConnectionError) as error:
                refused = True
                check(certificate is None or "unknown ca" in str(error).lower() or
                      isinstance(error, ConnectionError), repr(error))
            check(refused, f"{certificate} is refused")


def hang_up_early():
    """Before exec: the signal waits until the program takes it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
    os.kill(os.getpid(), signal.SIGHUP)


def test_a_hangup_before_there_are_certificates(program, options):
    with Https(program, *options, preexec_fn=hang_up_early) as server:
        server.wait_for("SIGHUP: certificates have been read again")
        with server.agree() as client:
            client.sendall(GET)
            equal(read_answer(client)[1], b"Hello, World!")
        equal(server.end(), 0)


def test_sessions_are_resumed(program, options):
    with Https(program, *options) as server:
        kept = MADE.path("session")
        ways = (["-tls1_3"], ["-tls1_2"], ["-tls1_2", "-no_ticket"])
        for way in ways:
            first = server.s_client(*way, "-sess_out", kept, send=CLOSING)
            check("New, TLSv1." in first, first)
            again = server.s_client(*way, "-sess_in", kept, send=CLOSING)
            check("Reused, TLSv1." in again, f"{way}: {again}")
            check("Hello, World!" in again, again)
            other = server.s_client(*way, "-sess_in", kept, send=CLOSING, name="127.0.0.1.test")
            check("New, TLSv1." in other, f"{way}, by another name: {other}")
            check("Hello, World!" in other, other)
        server.s_client("-tls1_3", "-sess_out", kept, send=CLOSING)
        server.signal(signal.SIGHUP)
        server.wait_for("certificates have been read again")
        again = server.s_client("-tls1_3", "-sess_in", kept, send=CLOSING)
        check("Reused, TLSv1.3" in again, "after new certificates, too")
        with server.agree() as client:
            client.sendall(GET.replace(b"/plaintext", b"/metrics"))
            figures = read_answer(client)[1].decode()
        for line in ('{result="full"} 8', '{result="resumed"} 4', '{result="failed"} 0'):
            check(f"rota_http_tls_handshakes_total{line}\n" in figures, figures)


def test_each_resumed_session_brings_the_ticket_of_the_next(program, options):
    with Https(program, *options) as server:
        tickets = [MADE.path(f"ticket-{i}") for i in range(4)]
        server.s_client("-tls1_3", "-sess_out", tickets[0], send=CLOSING)
        for used, fresh in zip(tickets, tickets[1:]):
            said = server.s_client("-tls1_3", "-sess_in", used, "-sess_out", fresh, send=CLOSING)
            check("Reused, TLSv1.3" in said, said)
            check(os.path.exists(fresh), "a client that uses a ticket once has none for the next")
        contents = {Path(ticket).read_bytes() for ticket in tickets}
        equal(len(contents), len(tickets), "tickets that differ")


def test_tickets_are_shared_by_a_file(program, options):
    keys = MADE.path("tickets")
    subprocess.run(["openssl", "rand", "-out", keys, "80"], check=True)
    kept = MADE.path("session")
    with Https(program, "--tls-tickets", keys, *options) as one, \
            Https(program, "--tls-tickets", keys, *options) as other:
        for way in ("-tls1_2", "-tls1_3"):
            one.s_client(way, "-sess_out", kept, send=CLOSING)
            said = other.s_client(way, "-sess_in", kept, send=CLOSING)
            check("Reused, " in said, said)


def test_nobody_renegotiates_or_asks_for_keys_for_ever(program, options):
    with Https(program, *options) as server:
        said = server.s_client("-tls1_2", send=b"R\n")
        check("no renegotiation" in said or "NO_RENEGOTIATION" in said.upper().replace(" ", "_"),
              said)
        check("Compression: NONE" in said, said)
        check("Early data was not sent" in server.s_client("-tls1_3", send=b""), "no early data")
        check(server.get("/healthz").status == 200, "it goes on")


def test_plain_http_is_told_so(program, options):
    with Https(program, *options) as server:
        for request in (GET, b"P", b"get / http/1.1\r\n\r\n",
                        b"POST /echo HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n" +
                        b"x" * 300_000):
            with server.raw() as client:
                client.sendall(request)
                head, body = read_answer(client)
                check(head.startswith(b"HTTP/1.1 400 Bad Request\r\n"), head)
                check(b"\r\nContent-Type: text/plain" in head, head)
                check(b"\r\nDate: " in head, head)
                check(b"HTTPS" in body and body.endswith(b"\n"), body)
        head = GET.replace(b"GET", b"HEAD")
        for pieces in ((head,), (b"\r\n\n" + head,), [bytes([each]) for each in b"\r\n" + head]):
            with server.raw() as client:
                said = b""
                for piece in pieces:
                    client.sendall(piece)
                while piece := client.recv(1000):
                    said += piece
                check(said.startswith(b"HTTP/1.1 400 ") and said.endswith(b"\r\n\r\n"), said)
        with server.raw() as client:
            client.sendall(b"\x00\x01garbage\r\n" * 100)
            try:
                check(not client.recv(100).startswith(b"HTTP"), "no HTTP")
            except ConnectionError:
                pass


def test_curl(program, options):
    curl = shutil.which("curl")
    with Https(program, *options) as server:
        url = f"https://localhost:{server.tls_port}"

        def ask(*more):
            return subprocess.run([curl, "-sS", "--http1.1", "--cacert", MADE.ca, *more],
                                  capture_output=True, timeout=PATIENCE_S, check=True).stdout

        equal(ask(f"{url}/plaintext"), b"Hello, World!", "GET")
        big = MADE.path("big")
        content = bytes(range(256)) * 20_000
        with open(big, "wb") as file:
            file.write(content)
        check(ask("--data-binary", f"@{big}", f"{url}/echo") == content, "an echo of 5 MB")
        many = ask(*[part for _ in range(20) for part in (f"{url}/hello/ann",)])
        equal(many, b"Hello, ann!\n" * 20, "kept alive")
        bytes_sent = ask(f"{url}/bytes/1000000")
        check(bytes_sent == b"x" * 1_000_000, "1 MB")


def test_the_end_is_said_and_wanted(program, options):
    with Https(program, *options) as server:
        with server.agree() as client:
            client.sendall(CLOSING)
            read_answer(client)
            equal(client.recv(1), b"", "close_notify")  # an exception without it
        with server.agree() as client:  # cut off in the middle of content
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1")
            socket.socket(fileno=client.detach()).close()
        with server.agree() as client:
            client.sendall(GET)
            read_answer(client)
            client.unwrap()  # ours, and its in return
        eventually(lambda: server.connections() == 1, "all others have gone")


def test_certificates_are_read_again(program, options):
    MADE.make("now", "localhost")
    with Https(program, *options, pairs=("now",)) as server:
        with server.agree() as client:
            before = client.getpeercert(True)
            MADE.make("now", "localhost")
            server.signal(signal.SIGHUP)
            server.wait_for("SIGHUP: certificates have been read again")
            client.sendall(GET)
            equal(read_answer(client)[1], b"Hello, World!", "on a connection from before")
            with server.agree() as fresh:
                after = fresh.getpeercert(True)
                check(after != before, "another certificate")
            with open(MADE.path("now.pem"), "w", encoding="ascii") as file:
                file.write("nothing\n")
            server.signal(signal.SIGHUP)
            said = server.wait_for("SIGHUP: certificates stay as they were: .*")[0]
            check("now.pem: no certificate in it (PEM)" in said, said)
            with server.agree() as fresh:
                equal(fresh.getpeercert(True), after, "as it was")
            client.sendall(GET)
            equal(read_answer(client)[1], b"Hello, World!", "and again")
    MADE.make("now", "localhost")


def test_files_are_watched(program, options):
    MADE.make("watched", "localhost")

    def put(name, content):
        fresh = Path(MADE.path("fresh"))
        fresh.write_bytes(content)
        fresh.replace(MADE.path(name))

    with Https(program, "--tls-watch", "20ms", *options, pairs=("watched",)) as server:
        with server.agree() as client:
            before = client.getpeercert(True)
        good = Path(MADE.path("watched.pem")).read_bytes()
        put("watched.pem", b"nothing\n")
        broken = "--tls-watch: certificates stay as they were: .*watched.pem"
        server.wait_for(broken)
        with server.agree() as client:
            equal(client.getpeercert(True), before, "as it was")
        put("watched.pem", good)
        server.wait_for("certificates have changed, and been read again")
        put("watched.pem.ocsp", b"nothing")
        server.wait_for("certificates have changed, and been read again", 2)
        equal(len(re.findall(broken, server.output())), 1, "said once")
        MADE.make("watched", "localhost")  # key and certificate, one behind the other

        def is_new():
            with server.agree() as client:
                return client.getpeercert(True) != before
        eventually(is_new, "the new one is shown")
        Path(MADE.path("watched.pem.ocsp")).unlink()


def test_staples_come_and_go(program, options):
    certificate = MADE.make("stapled", "localhost")
    staple = Path(certificate + ".ocsp")

    def respond():
        index = Path(MADE.path("index"))
        said = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-serial"],
                              check=True, capture_output=True, text=True).stdout
        serial = said.strip().partition("=")[2]
        index.write_text(f"V\t491231235959Z\t\t{serial}\tunknown\t/CN=stapled\n", "ascii")
        subprocess.run(["openssl", "ocsp", "-index", str(index), "-CA", MADE.ca, "-issuer", MADE.ca,
                        "-rsigner", MADE.ca, "-rkey", MADE.path("ca.key"), "-cert", certificate,
                        "-respout", str(staple), "-ndays", "7"], check=True, capture_output=True)

    with Https(program, *options, pairs=("stapled",)) as server:
        reloads = 0

        def stapled(what):
            said = server.s_client("-status", send=CLOSING)
            check("Hello, World!" in said, said)
            equal("OCSP Response Status: successful" in said, what, said)

        def reload(what):
            nonlocal reloads
            reloads += 1
            server.signal(signal.SIGHUP)
            server.wait_for("SIGHUP: certificates have been read again", reloads)
            stapled(what)

        stapled(False)
        respond()
        reload(True)
        MADE.make("stapled", "localhost")  # another, with a staple of the one before
        reload(False)
        server.wait_for(r"warning .*stapled.pem.ocsp: says nothing of the certificate in ")
        respond()
        reload(True)
        staple.write_bytes(b"")
        reload(False)
        server.wait_for(r"warning .*stapled.pem.ocsp: no OCSP response")
        staple.unlink()
        reload(False)


def test_slow_handshakes_end(program, options):
    with Https(program, "--handshake-timeout", "700ms", *options) as server:
        begun = time.monotonic()
        silent = server.raw()
        slow = server.raw()
        slow.sendall(b"\x16\x03\x01")
        for client in (silent, slow):
            try:
                equal(client.recv(100), b"", "its time is up")
            except ConnectionError:
                pass
            client.close()
        check(time.monotonic() - begun >= 0.6, "not before")
        # A record in single bytes is in time.
        hello = ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=MADE.ca)
        incoming = ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, hello, server_hostname="localhost")
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        with server.raw() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in hello.read():
                client.sendall(bytes([byte]))
            check(client.recv(5)[0] == 0x16, "the server's hello")


def test_origins(program, options):
    """A page in clear is foreign to HTTPS."""
    with Https(program, *options) as server:
        host = f"localhost:{server.tls_port}"
        for origin, status in ((f"https://{host}", b"201"), (f"http://{host}", b"403"),
                               ("https://localhost", b"403")):
            with server.agree() as client:
                client.sendall(f"POST /v1/queues/q/jobs HTTP/1.1\r\nHost: {host}\r\nOrigin: "
                               f"{origin}\r\nContent-Type: application/json\r\n"
                               "Content-Length: 15\r\n\r\n".encode() + b'{"payload": ""}')
                head, body = read_answer(client)
                check(head.split()[1] == status, (origin, head, body))


def test_alternatives(program, options):
    says = 'h2=":8443"; ma=60'
    with Https(program, "--alt-svc", says, *options) as server:
        for path, status in (("/plaintext", 200), ("/nowhere", 404), ("/", 200), ("/bytes/x", 400)):
            answer = server.get(path)
            equal((answer.status, answer.headers["Alt-Svc"]), (status, says), path)
        with server.agree() as client:
            client.sendall(GET)
            check(b"alt-svc" not in read_answer(client)[0].lower(), "by TLS")


def test_drain(program, options):
    """Idle and silent clients hold nothing up; requests in flight are answered."""
    with Https(program, *options) as server:
        idle = server.agree()
        idle.sendall(GET)
        read_answer(idle)
        silent = server.raw()
        busy = server.agree()
        busy.sendall(b"GET /sleep/300 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        eventually(lambda: server.blocked("sleep") == 1, "it is at work")
        server.signal(signal.SIGTERM)
        head, _ = read_answer(busy)
        check(b"\r\nConnection: close" in head, head)
        equal(busy.recv(1), b"", "close_notify")
        equal(idle.recv(1), b"", "close_notify")
        equal(silent.recv(1), b"", "the end")
        equal(server.wait(), 0, "exit code")


def test_an_idle_client_rests(program, options):
    """It has no session, is counted, and is there when it asks again."""
    with Https(program, *options) as server, server.agree() as client:
        client.sendall(GET)
        read_answer(client)
        time.sleep(1.3)  # http::server_limits::rest_after
        equal(server.connections(), 2, "connections")
        client.sendall(GET)
        equal(read_answer(client)[1], b"Hello, World!", "answer")
        time.sleep(1.3)
        client.unwrap()
        eventually(lambda: server.connections() == 1, "it has gone")


def test_bad_files_are_named(program, options):
    for more, reason in (
            (MADE.options("none"), "none.pem: No such file or directory"),
            (["--tls-cert", MADE.path("a.pem"), "--tls-key", MADE.path("w.key")],
             "w.key: not the key of the first certificate in "),
            (MADE.options("a") + ["--tls-client-ca", MADE.path("a.key")],
             "a.key: no certificate in it (PEM)")):
        with Program(program, "--port", "0", "--store", "memory", "--tls-port", "0", *more,
                     *options) as bad:
            equal(bad.wait(), 1, "exit code")
            check(reason in bad.output(), bad.output())
    for more in (MADE.options("a"), ["--tls-port", "0"],
                 ["--tls-port", "0", "--tls-cert", MADE.path("a.pem")]):
        with Program(program, *more) as bad:
            equal(bad.wait(), 2, "exit code")
            check(re.search(r"--tls-", bad.output()), bad.output())


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
