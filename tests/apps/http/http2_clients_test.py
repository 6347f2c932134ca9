#!/usr/bin/env python3
"""rota-http by HTTP/2 in clear and clients that others have written, and behind a proxy.

usage: http2_clients_test.py <rota-http> [option...]
"""

import shutil
import subprocess
import sys

from http2_frames import PREFACE, Http2
from programs import PATIENCE_S, check, equal, run_tests
from rota_http import RotaHttp

NODE = """
const http2 = require('http2');
const s = http2.connect(process.argv[1]);
let left = 3;
for (const path of ['/plaintext', '/json', '/bytes/200000']) {
  const r = s.request({':path': path});
  let size = 0, status = 0;
  r.on('response', h => status = h[':status']);
  r.on('data', d => size += d.length);
  r.on('end', () => { console.log(path, status, size); if (--left == 0) s.close(); });
}
"""


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=PATIENCE_S * 3, check=False, **more)
    return done.stdout + done.stderr


def url(server, path="/plaintext"):
    return f"http://127.0.0.1:{server.port}{path}"


def test_other_clients(program, options):
    with RotaHttp(program, *options) as server:
        if shutil.which("nghttp"):
            said = run("nghttp", "-nv", url(server), url(server, "/bytes/100000"))
            check(said.count(":status: 200") == 2, said)
        if shutil.which("h2load"):
            for shape in (("-n1000", "-c1", "-m1"), ("-n5000", "-c8", "-m32"),
                          ("-n5000", "-c4", "-m128")):
                for path in ("/plaintext", "/bytes/16384"):
                    said = run("h2load", *shape, url(server, path))
                    check(" 0 failed, 0 errored, 0 timeout" in said, said)
        if shutil.which("node"):
            said = run("node", "-e", NODE, f"http://127.0.0.1:{server.port}")
            equal(sorted(said.splitlines()), ["/bytes/200000 200 200000", "/json 200 27",
                                              "/plaintext 200 13"], "Node")
        try:
            import httpx
        except ImportError:
            return
        with httpx.Client(http1=False, http2=True) as client:
            answer = client.get(url(server))
            equal((answer.http_version, answer.text), ("HTTP/2", "Hello, World!"), "httpx")
            equal(client.post(url(server, "/echo"), content=b"x" * 300_000).content,
                  b"x" * 300_000, "httpx, content")


def test_behind_a_proxy_that_says_whose_it_is(program, options):
    version_2 = (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\1\xc6\x33\x64\2"
                 b"\x12\x67\0\x50")
    with RotaHttp(program, "--access-log", "--proxy-protocol", *options) as server:
        for header in (b"PROXY TCP4 192.0.2.1 198.51.100.2 4711 80\r\n", version_2):
            with server.connect() as raw:
                client = Http2(raw, preface=header + PREFACE)
                for _ in range(2):
                    equal(client.get("/hello/h2"), (200, b"Hello, h2!\n"))
        server.wait_for(r' 192\.0\.2\.1:4711 "GET /hello/h2" 200 .* HTTP/2\n', count=4)


def test_hyper_h2(program, options):
    """h2, a client's half of the protocol without sockets, written by others."""
    try:
        import h2.config
        import h2.connection
        import h2.events
    except ImportError:
        print("no h2 here")
        return
    with RotaHttp(program, *options) as server, server.connect() as raw:
        peer = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding=None))
        peer.initiate_connection()
        fields = [(":scheme", "http"), (":authority", "localhost")]
        content, status, ended, reset = {}, {}, set(), {}

        def turn():
            raw.sendall(peer.data_to_send())
            for event in peer.receive_data(raw.recv(65536)):
                stream = getattr(event, "stream_id", 0)
                if isinstance(event, h2.events.DataReceived):
                    content[stream] = content.get(stream, b"") + event.data
                    peer.acknowledge_received_data(event.flow_controlled_length, stream)
                elif isinstance(event, h2.events.ResponseReceived):
                    status[stream] = dict(event.headers)[b":status"]
                elif isinstance(event, h2.events.StreamEnded):
                    ended.add(stream)
                elif isinstance(event, h2.events.StreamReset):
                    reset[stream] = event.error_code
            raw.sendall(peer.data_to_send())

        def begin(method, path, last=True):
            stream = peer.get_next_available_stream_id()
            peer.send_headers(stream, [(":method", method), (":path", path), *fields], last)
            return stream

        many = [begin("GET", f"/bytes/{1_000 * i}") for i in range(1, 101)]
        while not ended.issuperset(many):
            turn()
        equal([len(content[stream]) for stream in many], [1_000 * i for i in range(1, 101)])
        body, at = bytes(range(256)) * 2_000, 0
        large = begin("POST", "/echo", last=False)
        given_up = begin("GET", "/bytes/1000000")
        while at < len(body):
            size = min(peer.local_flow_control_window(large), peer.max_outbound_frame_size,
                       len(body) - at)
            if size == 0:
                turn()
                continue
            peer.send_data(large, body[at:at + size])
            at += size
            if given_up is not None and content.get(given_up):
                peer.reset_stream(given_up, 8)
                given_up = None
        peer.send_headers(large, [("x-check", "done")], end_stream=True)  # trailers
        while large not in ended:
            turn()
        equal((status[large], content[large]), (b"200", body), "a body of many windows")
        refused = begin("GET", "/nowhere")
        while refused not in ended:
            turn()
        equal((status[refused], reset), (b"404", {}))
        peer.close_connection()
        raw.sendall(peer.data_to_send())


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1], sys.argv[2:])
