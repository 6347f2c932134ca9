#!/usr/bin/env python3
"""HTTP/2 of rota-http: in clear and by TLS, by clients that others wrote and by frames of our own.

usage: http2_test.py <rota-http> [options of rota-http...]
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from http2_frames import (ACK, CONTINUATION, DATA, GOAWAY, HEADERS, PING, PREFACE, PRIORITY,
                          PRIORITY_UPDATE, PUSH_PROMISE, RST_STREAM, SETTINGS,
                          WINDOW_UPDATE, Http2, frame, number)
from https_server import MADE, Https
from programs import PATIENCE_S, check, equal, run_tests
from rota_http import RotaHttp, read_answer

GO = """
package main

import ("crypto/tls"; "crypto/x509"; "fmt"; "io"; "net/http"; "os"; "strings")

func main() {
    pem, _ := os.ReadFile(os.Args[2])
    roots := x509.NewCertPool()
    roots.AppendCertsFromPEM(pem)
    client := http.Client{Transport: &http.Transport{
        TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
    for _, path := range []string{"/plaintext", "/bytes/200000"} {
        r, err := client.Get(os.Args[1] + path)
        if err != nil { panic(err) }
        all, _ := io.ReadAll(r.Body)
        fmt.Println(r.Proto, r.StatusCode, len(all))
    }
    r, err := client.Post(os.Args[1] + "/echo", "text/plain",
        strings.NewReader(strings.Repeat("x", 3000000)))
    if err != nil { panic(err) }
    all, _ := io.ReadAll(r.Body)
    fmt.Println(r.Proto, r.StatusCode, len(all))
}
"""


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=PATIENCE_S * 3, check=False, **more)
    return done.stdout + done.stderr


def url(server, path="/plaintext"):
    return f"http://127.0.0.1:{server.port}{path}"


def test_curl(program, options):
    """In clear by prior knowledge; an offer to upgrade is none (RFC 9113 section 3.1)."""
    show = ("-sS", "-w", "%{http_version} %{http_code} %{size_download}\n")
    with RotaHttp(program, *options) as server:
        equal(run("curl", *show, "--http2-prior-knowledge", url(server)),
              "Hello, World!2 200 13\n", "prior knowledge")
        equal(run("curl", *show, "--http2", url(server)), "Hello, World!1.1 200 13\n", "h2c")
        equal(run("curl", *show, "--http1.1", url(server)), "Hello, World!1.1 200 13\n", "1.1")
        with tempfile.NamedTemporaryFile() as large:
            large.write(bytes(range(256)) * 20_000)
            large.flush()
            echoed = subprocess.run(
                ["curl", "-sS", "--http2-prior-knowledge", "--data-binary", f"@{large.name}",
                 "-H", "Expect: 100-continue", url(server, "/echo")],
                capture_output=True, timeout=PATIENCE_S * 3, check=True).stdout
            check(echoed == bytes(range(256)) * 20_000, "what was sent comes back")
        for path in ("/bytes/1000000", "/stream?lines=50&interval_ms=1", "/", "/metrics",
                     "/healthz", "/nothing"):
            old, new = (run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", how,
                            url(server, path)) for how in ("--http1.1",
                                                            "--http2-prior-knowledge"))
            equal(new, old, path)
        check("HTTP/2" in run("curl", "-sS", "--http2-prior-knowledge", url(server, "/")),
              "the page says what brought it")
        for field, status in (("If-None-Match: *", "304"), ('If-Match: "x"', "412")):
            head = run("curl", "-sS", "-D", "-", "-o", "/dev/null", "--http2-prior-knowledge",
                       "-H", field, url(server, "/"))
            check(head.startswith(f"HTTP/2 {status}"), head)
            check("vary: accept-encoding\n" in head.lower().replace("\r", ""), head)
        with server.connect() as raw:
            client = Http2(raw)
            known = ("if-none-match", "*")
            equal(client.get("/", known), (304, b""), "the page is known")
            equal(client.get("/", known, ("accept-encoding", "identity;q=0"))[0], 406,
                  "a condition makes nothing acceptable")
            equal(client.get("/", ("if-match", '"x"')), (412, b"Precondition Failed\n"), "If-Match")
        figures = run("curl", "-sS", url(server, "/metrics"))
        check(int(re.search(r"^rota_http_requests_http2_total (\d+)$", figures, re.M)[1]) >= 8,
              figures)


def test_switched_off(program, options):
    with RotaHttp(program, "--no-http2", *options) as server:
        with server.connect() as client:
            client.sendall(PREFACE)
            check(client.recv(4096).startswith(b"HTTP/1.1 505 "), "it is no request")
        equal(run("curl", "-sS", "-w", "%{http_version}", url(server)), "Hello, World!1.1", "1.1")


def test_tls(program, options):
    with Https(program, *options) as server:
        base = f"https://localhost:{server.tls_port}"
        at = ("--cacert", MADE.ca, "-sS", "-w", " %{http_version}\n")
        equal(run("curl", *at, f"{base}/plaintext"), "Hello, World! 2\n", "ALPN")
        equal(run("curl", *at, "--http1.1", f"{base}/plaintext"), "Hello, World! 1.1\n", "1.1")
        for offered, chosen in ((["h2"], "h2"), (["http/1.1"], "http/1.1"),
                                (["http/1.1", "h2"], "h2"), (["h2", "http/1.1"], "h2")):
            with server.agree(alpn=offered) as client:
                equal(client.selected_alpn_protocol(), chosen, str(offered))
        with server.agree(alpn=["h2"]) as over:
            client = Http2(over)
            equal(client.get("/plaintext", authority="localhost"), (200, b"Hello, World!"), "h2")
            equal(client.get("/plaintext", authority="a.test")[0], 421, "another's host")
        if shutil.which("go"):
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "main.go"
                source.write_text(GO)
                said = run("go", "run", source, base, MADE.ca,
                           env={"HOME": folder, "PATH": "/usr/bin:/bin", "GO111MODULE": "off"})
                equal(said, "HTTP/2.0 200 13\nHTTP/2.0 200 200000\nHTTP/2.0 200 3000000\n", "Go")
    with Https(program, "--no-http2", *options) as server:
        with server.agree(alpn=["h2", "http/1.1"]) as client:
            equal(client.selected_alpn_protocol(), "http/1.1", "switched off")


def test_early_answers(program, options):
    """curl reads what is said before it has sent all, and does not take a reset for it."""
    content = bytes(200_000)
    with Https(program, "--max-body", "100000", *options) as server:
        for base, how in ((url(server, ""), ("--http2-prior-knowledge",)),
                          (f"https://localhost:{server.tls_port}", ("--cacert", MADE.ca))):
            for path, status in (("/echo", b"413"), ("/plaintext", b"405")):
                for sends in (("--data-binary", "@-"), ("-X", "POST", "-T", "-")):
                    for _ in range(10):
                        said = subprocess.run(
                            ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_version} %{http_code}",
                             *how, *sends, base + path],
                            input=content, capture_output=True, timeout=PATIENCE_S, check=False)
                        equal(said.stdout, b"2 " + status, f"{path} {sends} {said.stderr}")


def test_preface(program, options):
    """However it is cut; and nothing else is taken for it."""
    with RotaHttp(program, *options) as server:
        for at in (1, 3, 4, 14, 15, 16, 17, 18, 23):
            with server.connect() as raw:
                raw.sendall(PREFACE[:at])
                time.sleep(0.01)
                client = Http2(raw, preface=PREFACE[at:])
                equal(client.get("/plaintext"), (200, b"Hello, World!"), f"cut at {at}")
        for bytes_ in (b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", PREFACE + frame(DATA, 0, 1, b"x")):
            with server.connect() as raw:
                raw.sendall(bytes_ + b"\0" * 64)
                client = Http2(raw, preface=b"", settings=False)
                equal(client.ends_with(), 1, repr(bytes_))
        with server.connect() as raw:
            raw.sendall(b"\r\nPRI * HTTP/2.0\r\n\r\n")
            check(raw.recv(4096).startswith(b"HTTP/1.1 505"), "an empty line before it")
        with server.connect() as raw:
            raw.sendall(b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\n\r\n")
            read_answer(raw)
            raw.sendall(PREFACE)
            check(raw.recv(4096).startswith(b"HTTP/1.1 505"), "behind a request")
        with server.connect() as raw:
            raw.sendall(b"GET /plaintext HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n"
                        b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n"
                        b"Connection: Upgrade, HTTP2-Settings\r\n\r\n")
            check(read_answer(raw)[0].startswith(b"HTTP/1.1 200"), "h2c is not taken up")


def request_of(client, *more, method="GET", path="/plaintext", scheme="http"):
    return client.encode([(":method", method), (":scheme", scheme), (":path", path),
                          (":authority", "localhost"), *more])


def connection_errors(client):
    """What ends a connection: bytes, and the codes that they may end in."""
    get = request_of(client)
    yield "DATA of no stream", frame(DATA, 0, 0, b"x"), {1}
    yield "DATA of an idle stream", frame(DATA, 0, 3, b"x"), {1}
    yield "HEADERS of no stream", frame(HEADERS, 5, 0, get), {1}
    yield "HEADERS of an even stream", frame(HEADERS, 5, 2, get), {1}
    yield "HEADERS that are no HPACK", frame(HEADERS, 5, 3, b"\xff\xff\xff\xff\xff\xff"), {9}
    yield "an index of 0", frame(HEADERS, 5, 3, b"\x80"), {9}
    yield "an index beyond the table", frame(HEADERS, 5, 3, b"\xfe"), {9}
    yield "a table larger than allowed", frame(HEADERS, 5, 3, b"\x3f\xe1\x7f" + get), {9}
    yield "a table size behind fields", frame(HEADERS, 5, 3, get + b"\x20"), {9}
    yield "padding beyond HEADERS", frame(HEADERS, 0xd, 3, b"\xff" + get), {1}
    yield "padding beyond DATA", (frame(HEADERS, 4, 3, request_of(client, method="POST"))
                                  + frame(DATA, 8, 3, b"\x09abc")), {1}
    yield "PRIORITY of no stream", frame(PRIORITY, 0, 0, b"\0\0\0\1\0"), {1}
    yield "PRIORITY of 4 bytes", frame(PRIORITY, 0, 3, b"\0\0\0\1"), {6}
    yield "PRIORITY_UPDATE of no stream", frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\0u=1"), {1}
    yield "PRIORITY on itself", frame(PRIORITY, 0, 3, b"\0\0\0\3\0"), {1}
    yield "HEADERS on themselves", frame(HEADERS, 0x25, 3, b"\0\0\0\3\0" + get), {1}
    yield "RST_STREAM of no stream", frame(RST_STREAM, 0, 0, number(8)), {1}
    yield "RST_STREAM of an idle one", frame(RST_STREAM, 0, 3, number(8)), {1}
    yield "RST_STREAM of 3 bytes", frame(HEADERS, 4, 3, get) + frame(RST_STREAM, 0, 3, b"abc"), {6}
    yield "SETTINGS of a stream", frame(SETTINGS, 0, 1), {1}
    yield "SETTINGS of 5 bytes", frame(SETTINGS, 0, 0, b"12345"), {6}
    yield "an ACK with settings", frame(SETTINGS, ACK, 0, b"\0\1\0\0\0\0"), {6}
    yield "ENABLE_PUSH of 2", frame(SETTINGS, 0, 0, b"\0\2" + number(2)), {1}
    yield "a window of 2^31", frame(SETTINGS, 0, 0, b"\0\4" + number(1 << 31)), {3}
    yield "frames of 2^14 - 1", frame(SETTINGS, 0, 0, b"\0\5" + number((1 << 14) - 1)), {1}
    yield "frames of 2^24", frame(SETTINGS, 0, 0, b"\0\5" + number(1 << 24)), {1}
    yield "PUSH_PROMISE", frame(PUSH_PROMISE, 4, 1, number(2) + get), {1}
    yield "PING of a stream", frame(PING, 0, 1, b"12345678"), {1}
    yield "PING of 7 bytes", frame(PING, 0, 0, b"1234567"), {6}
    yield "GOAWAY of a stream", frame(GOAWAY, 0, 1, number(0) + number(0)), {1}
    yield "GOAWAY of 7 bytes", frame(GOAWAY, 0, 0, b"1234567"), {6}
    yield "WINDOW_UPDATE of 0", frame(WINDOW_UPDATE, 0, 0, number(0)), {1}
    yield "WINDOW_UPDATE too far", frame(WINDOW_UPDATE, 0, 0, number((1 << 31) - 1)), {3}
    yield "WINDOW_UPDATE of an idle one", frame(WINDOW_UPDATE, 0, 3, number(1)), {1}
    yield "WINDOW_UPDATE of 3 bytes", frame(WINDOW_UPDATE, 0, 0, b"abc"), {6}
    yield "CONTINUATION of nothing", frame(CONTINUATION, 4, 1, get), {1}
    yield "CONTINUATION of no stream", (frame(HEADERS, 1, 3, get[:5])
                                        + frame(CONTINUATION, 4, 0, get[5:])), {1}
    yield "CONTINUATION of another", (frame(HEADERS, 1, 3, get[:5])
                                      + frame(CONTINUATION, 4, 5, get[5:])), {1}
    yield "HEADERS between", (frame(HEADERS, 1, 3, get[:5]) + frame(HEADERS, 5, 5, get)), {1}
    yield "PING between", (frame(HEADERS, 1, 3, get[:5]) + frame(PING, 0, 0, b"12345678")), {1}
    yield "an unknown one between", (frame(HEADERS, 1, 3, get[:5]) + frame(0x16, 0, 0)), {1}
    yield "CONTINUATION behind the end", (frame(HEADERS, 5, 3, get)
                                          + frame(CONTINUATION, 4, 3, get)), {1, 5}
    yield "a frame too long", frame(DATA, 0, 1, b"x" * 16_385), {6}
    yield "HEADERS too long", frame(HEADERS, 5, 3, get + b"x" * 16_385), {6}
    yield "CONTINUATION too long", (frame(HEADERS, 1, 3, get)
                                    + frame(CONTINUATION, 4, 3, b"x" * 16_385)), {6}
    yield "PRIORITY_UPDATE of too many", b"".join(
        frame(PRIORITY_UPDATE, 0, 0, number(2 * i + 3) + b"u=1") for i in range(129)), {1}
    yield "SETTINGS too long", frame(SETTINGS, 0, 0, b"\0\1\0\0\0\0" * 2_731), {6}
    yield "a stream that was before", (frame(HEADERS, 5, 5, get) + frame(HEADERS, 5, 3, get)), {1}


def stream_errors(client):
    """What ends a stream: its frames, and the codes."""
    def head(*more, **how):
        return frame(HEADERS, 5, 3, request_of(client, *more, **how))

    def fields(*all_of):
        return frame(HEADERS, 5, 3, client.encode(list(all_of)))

    method, scheme, path = (":method", "GET"), (":scheme", "http"), (":path", "/plaintext")
    host = (":authority", "localhost")
    yield "upper case", head(("X-Upper", "x")), {1}
    yield "connection", head(("connection", "keep-alive")), {1}
    yield "transfer-encoding", head(("transfer-encoding", "chunked")), {1}
    yield "te", head(("te", "trailers, deflate")), {1}
    yield "an unknown pseudo-field", head((":unknown", "x")), {1}
    yield "a pseudo-field of answers", head((":status", "200")), {1}
    yield "a pseudo-field behind fields", fields(method, scheme, ("x", "y"), path, host), {1}
    yield "two methods", fields(method, method, scheme, path, host), {1}
    yield "two schemes", fields(method, scheme, scheme, path, host), {1}
    yield "two paths", fields(method, scheme, path, path, host), {1}
    yield "no method", fields(scheme, path, host), {1}
    yield "no scheme", fields(method, path, host), {1}
    yield "no path", fields(method, scheme, host), {1}
    yield "an empty path", fields(method, scheme, (":path", ""), host), {1}
    yield "a line end in a value", head(("x", "a\r\nb")), {1}
    yield "two lengths", head(("content-length", "0"), ("content-length", "0")), {1}
    post = frame(HEADERS, 4, 3, request_of(client, ("content-length", "3"), method="POST",
                                           path="/echo"))
    yield "more than the length", post + frame(DATA, 1, 3, b"four"), {1}
    yield "less than the length", post + frame(DATA, 1, 3, b"tw"), {1}
    yield "two pieces beyond it", post + frame(DATA, 0, 3, b"tw") + frame(DATA, 1, 3, b"ofo"), {1}
    waits = frame(HEADERS, 5, 3, request_of(client, path="/sleep/10000"))
    yield "DATA of a half-closed one", waits + frame(DATA, 1, 3, b"x"), {5}
    yield "HEADERS of a half-closed one", waits + frame(HEADERS, 5, 3, request_of(client)), {5}
    yield "WINDOW_UPDATE of 0", waits + frame(WINDOW_UPDATE, 0, 3, number(0)), {1}
    yield "its window too far", waits + frame(WINDOW_UPDATE, 0, 3, number((1 << 31) - 1)), {3}
    yield "DATA behind RST_STREAM", (waits + frame(RST_STREAM, 0, 3, number(8))
                                     + frame(DATA, 1, 3, b"x")), {5}
    yield "HEADERS behind RST_STREAM", (waits + frame(RST_STREAM, 0, 3, number(8))
                                        + frame(HEADERS, 5, 3, request_of(client))), {5}
    trailers = frame(HEADERS, 4, 3, request_of(client, method="POST", path="/echo"))
    yield "trailers without an end", (trailers
                                      + frame(HEADERS, 4, 3, client.encode([("x", "y")]))), {1}
    yield "a pseudo-field in trailers", (trailers + frame(HEADERS, 5, 3,
                                                          client.encode([(":method", "GET")]))), {1}


def test_connection_errors(program, options):
    with RotaHttp(program, *options) as server:
        with server.connect() as raw:
            rows = list(connection_errors(Http2(raw)))
        for what, bytes_, codes in rows:
            with server.connect() as raw:
                client = Http2(raw)
                client.send(bytes_)
                check(client.ends_with() in codes, f"{what}: {client.goaways}, not {codes}")
        server.get("/healthz")


def test_stream_errors(program, options):
    with RotaHttp(program, *options) as server:
        with server.connect() as raw:
            rows = list(stream_errors(Http2(raw)))
        for what, bytes_, codes in rows:
            with server.connect() as raw:
                client = Http2(raw)
                client.send(bytes_)
                got = client.error_of(3)
                check(got in codes, f"{what}: {got}, not {codes}")


def test_closed_streams(program, options):
    with RotaHttp(program, *options) as server:
        for bytes_ in (frame(DATA, 1, 1, b"x"), "HEADERS"):
            with server.connect() as raw:
                client = Http2(raw)
                equal(client.get("/plaintext")[0], 200, "before")
                client.send(frame(HEADERS, 5, 1, request_of(client)) if bytes_ == "HEADERS"
                            else bytes_)
                equal(client.ends_with(), 5, repr(bytes_))
        with server.connect() as raw: # what may come behind the end
            client = Http2(raw)
            client.get("/plaintext")
            client.send(frame(WINDOW_UPDATE, 0, 1, number(10))
                        + frame(PRIORITY, 0, 1, b"\0\0\0\0\1")
                        + frame(RST_STREAM, 0, 1, number(8)) + frame(0x16, 0xff, 1, b"x" * 100)
                        + frame(PING, 0, 0, b"12345678") + frame(PING, ACK, 0, b"12345678")
                        + frame(SETTINGS, 0, 0, b"\xf0\0" + number(1)))
            equal(client.get("/plaintext")[0], 200, "after")
            equal(client.pongs, [b"12345678"], "PING is answered")


def test_windows(program, options):
    """Windows of answers: small, negative, opened bit by bit."""
    with RotaHttp(program, *options) as server:
        with server.connect() as raw:
            client = Http2(raw, wishes=b"\0\4" + number(0))
            client.ask(1, "/bytes/100")
            client.get("/healthz", credit=True) # has its own window; the other waits
            equal(client.content.get(1, b""), b"", "no window")
            client.send(frame(SETTINGS, 0, 0, b"\0\4" + number(3)))
            client.until(lambda: len(client.content.get(1, b"")) == 3)
            client.send(frame(SETTINGS, 0, 0, b"\0\4" + number(2)))
            client.send(frame(WINDOW_UPDATE, 0, 1, number(1)))
            client.send(frame(WINDOW_UPDATE, 0, 1, number(2)))
            client.until(lambda: len(client.content.get(1, b"")) == 5)
            client.send(frame(WINDOW_UPDATE, 0, 1, number(1_000)))
            client.until(lambda: 1 in client.ended)
            equal(client.content[1], b"x" * 100, "all of it")
            client.ask(5, "/echo", method="POST", last=False)
            client.send(frame(WINDOW_UPDATE, 0, 5, number(2**31 - 1)))
            equal(client.error_of(5), 3, "one stream's window")
            client.ping()
        with server.connect() as raw:
            client = Http2(raw, wishes=b"\0\4" + number(10))
            client.ask(1, "/echo", method="POST", last=False)
            client.send(frame(WINDOW_UPDATE, 0, 1, number(2**31 - 100)))
            client.send(frame(SETTINGS, 0, 0, b"\0\4" + number(1_000)))
            equal(client.ends_with(), 3, "SETTINGS that make a window too large")


def test_priorities(program, options):
    """What is urgent goes first (RFC 9218), as requests and PRIORITY_UPDATE have it."""
    size = 200_000
    with RotaHttp(program, *options) as server:
        with server.connect() as raw:
            client = Http2(raw, wishes=b"\0\4" + number(1 << 24))

            def opens(count):
                """How much of each stream comes by so much more of the connection's window."""
                before = dict(client.content)
                whole = sum(map(len, before.values())) + count
                client.send(frame(WINDOW_UPDATE, 0, 0, number(count)))
                client.until(lambda: sum(map(len, client.content.values())) == whole)
                return {stream: len(content) - len(before.get(stream, b""))
                        for stream, content in client.content.items()
                        if len(content) != len(before.get(stream, b""))}

            client.ask(1, f"/bytes/{size}", ("priority", "u=5"))
            client.until(lambda: len(client.content.get(1, b"")) == 65_535)
            client.ask(3, f"/bytes/{size}", ("priority", "u=1"))
            client.ask(5, f"/bytes/{size}")  # u=3
            client.until(lambda: {3, 5} <= client.status.keys())
            equal(opens(100_000), {3: 100_000}, "the most urgent")
            equal(opens(150_000), {3: 100_000, 5: 50_000}, "then the next")
            client.send(frame(PRIORITY_UPDATE, 0, 0, number(1) + b"u=0"))
            equal(opens(50_000), {1: 50_000}, "what has become urgent")
            client.send(frame(PRIORITY_UPDATE, 0, 0, number(1) + b"u=3, i"))
            client.send(frame(PRIORITY_UPDATE, 0, 0, number(5) + b"u=3, i"))
            both = opens(100_000)
            check(both.keys() == {1, 5} and min(both.values()) > 30_000, f"in turns: {both}")
            equal(sum(opens(3 * size - 65_535 - 400_000).values()), 134_465, "all the rest")
            client.until(lambda: client.ended == {1, 3, 5})


def masked(first, payload):
    return bytes([first, 0x80 | len(payload)]) + b"\0\0\0\0" + payload


def test_websocket(program, options):
    """Of RFC 8441: by the handler that HTTP/1.1 has."""
    with RotaHttp(program, *options) as server:
        with server.connect() as raw:
            client = Http2(raw)
            client.ping()
            equal(client.settings[8], 1, "ENABLE_CONNECT_PROTOCOL")
            head = client.encode([(":method", "CONNECT"), (":protocol", "websocket"),
                                  (":scheme", "http"), (":path", "/ws/echo"),
                                  (":authority", "localhost"), ("sec-websocket-version", "13"),
                                  ("sec-websocket-key", "not looked at")])
            client.send(frame(HEADERS, 4, 1, head))
            client.until(lambda: 1 in client.status)
            equal(client.status[1], 200, "taken")
            client.send(frame(DATA, 0, 1, masked(0x81, b"hello")))
            client.until(lambda: len(client.content.get(1, b"")) >= 7)
            equal(client.content[1], b"\x81\x05hello", "echoed")
            client.next = 3
            equal(client.get("/plaintext"), (200, b"Hello, World!"), "beside it")
            for at in range(0, 100_000, 10_000): # much of it, both ways
                client.send(frame(DATA, 0, 1, b"\x82\xfe" + (10_000).to_bytes(2, "big")
                                  + b"\0\0\0\0" + bytes(10_000)))
                client.send(frame(WINDOW_UPDATE, 0, 1, number(10_004)))
                client.send(frame(WINDOW_UPDATE, 0, 0, number(10_004)))
                client.until(lambda want=7 + at + 10_000: len(client.content[1]) >= want)
            client.send(frame(DATA, 1, 1, masked(0x88, b"\x03\xe8")))
            client.until(lambda: 1 in client.ended)
            check(client.content[1].endswith(b"\x88\x02\x03\xe8"), "said goodbye")
            status, why = client.get("/ws/echo")
            equal((status, b"extended CONNECT" in why), (400, True), "by a plain GET")
            for at, (protocol, version, status) in enumerate(
                    (("other", "13", 501), ("websocket", "8", 400)), 1):
                stream = client.next + 2 * at
                head = client.encode([(":method", "CONNECT"), (":protocol", protocol),
                                      (":scheme", "http"), (":path", "/ws/echo"),
                                      (":authority", "localhost"),
                                      ("sec-websocket-version", version)])
                client.send(frame(HEADERS, 5, stream, head))
                client.until(lambda stream=stream: stream in client.ended)
                equal(client.status[stream], status, (protocol, version))


def test_drain(program, options):
    with RotaHttp(program, *options) as server:
        with server.connect() as raw:
            client = Http2(raw)
            client.ask(1, "/sleep/700")
            client.ping()
            server.process.send_signal(signal.SIGTERM)
            client.until(lambda: len(client.goaways) == 2)
            equal(client.goaways, [((1 << 31) - 1, 0), (1, 0)], "twice")
            client.until(lambda: 1 in client.ended)
            equal(client.status[1], 200, "what had begun")
            equal(client.ends_with(), 0, "and its end")
        equal(server.process.wait(PATIENCE_S), 0, "exit code")


def test_access_log(program, options):
    with RotaHttp(program, "--access-log", *options) as server:
        with server.connect() as raw:
            Http2(raw).get("/plaintext")
        server.wait_for(r'"GET /plaintext" 200 \d+ bytes \d+ us HTTP/2\n')
        server.get("/plaintext")
        server.wait_for(r'"GET /plaintext" 200 \d+ bytes \d+ us HTTP/1\.1\n')


def test_the_log_of_what_was_refused(program, options):
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        log = Path(folder) / "access.log"
        with RotaHttp(program, "--access-log-file", log, *options) as server:
            with server.connect() as raw:
                client = Http2(raw)
                equal(client.get("/plaintext", method="BREW")[0], 501, "an unknown method")
                large = request_of(client, *((name, "x" * 9_000) for name in "abcd"))
                client.send(frame(HEADERS, 1, 3, large[:16_384])
                            + frame(CONTINUATION, 0, 3, large[16_384:32_768])
                            + frame(CONTINUATION, 4, 3, large[32_768:]))
                client.until(lambda: 3 in client.ended)
                equal(client.status[3], 431, "too large")
                client.next = 5
                for host, status in (("localhost", 400), ("localhost:1", 501)):
                    client.send(frame(HEADERS, 5, client.next, client.encode(
                        [(":method", "CONNECT"), (":authority", host)])))
                    client.next += 2
                    client.until(lambda: client.next - 2 in client.ended)
                    equal(client.status[client.next - 2], status, host)
                equal(client.get("/plaintext")[0], 200, "the others go on")
                equal(client.goaways, [], "and their connection")
        said = [re.search('"(.*?)" ([0-9]+) ', line).groups()
                for line in log.read_text().splitlines()]
        equal(said, [("BREW /plaintext HTTP/2.0", "501"), ("GET /plaintext HTTP/2.0", "431"),
                     ("CONNECT localhost HTTP/2.0", "400"), ("CONNECT localhost:1 HTTP/2.0", "501"),
                     ("GET /plaintext HTTP/2.0", "200")], "the log")


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
