#!/usr/bin/env python3
"""/ws/echo and /ws/chat: by a client that sends frames as they are, and by those of others.

usage: websocket_test.py <rota-http> [options of rota-http...]
"""

import contextlib
import random
import signal
import socket
import subprocess
import sys

import browser
from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp
from websocket_client import NODE, OTHERS, WSPROTO, Raw, close, deflated, frame, python_with

OFFER = ("Sec-WebSocket-Extensions", "permessage-deflate")
# Sends messages from a page, and returns what comes back, and how it ended.
IN_PAGE = """
const [url, done] = arguments;
const ws = new WebSocket(url, ["echo"]);
ws.binaryType = "arraybuffer";
const sent = ["hi", "", "ä€".repeat(500), "x".repeat(200000), new Uint8Array(70000).buffer];
const got = [];
ws.onopen = () => sent.forEach((message) => ws.send(message));
ws.onmessage = (event) => {
  got.push(typeof event.data === "string" ? event.data === sent[got.length]
                                          : event.data.byteLength === 70000);
  if (got.length === sent.length) ws.close(4002, "enough");
};
ws.onclose = (event) => done([got, ws.protocol, ws.extensions, event.code, event.wasClean]);
"""
FOREIGN = """
const [url, done] = arguments;
const ws = new WebSocket(url);
ws.onopen = () => done("open");
ws.onclose = (event) => done(event.code);
"""


def echo(server, *fields):
    return Raw(server.connect(), fields=fields)


def test_messages_in_every_length_and_cut(server):
    with echo(server) as ws:
        equal((ws.status, ws.field("Sec-WebSocket-Protocol")), (101, None))
        for size in (0, 1, 125, 126, 127, 65535, 65536, 300_000):
            ws.send(frame(b"x" * size, op=2), frame("y" * size))
            equal(ws.read(), (2, b"x" * size), size)
            equal(ws.read(), (1, b"y" * size), size)
        for byte in frame("one by one") + frame("a", fin=False) + frame(b"p", op=9):
            ws.send(bytes([byte]))
        equal([ws.read(), ws.read()], [(1, b"one by one"), (10, b"p")])
        ws.send(frame(b"", op=0, fin=False), frame(b"", op=10), frame(b"b", op=0))
        equal(ws.read(), (1, b"ab"))
        ws.send(close(1000, b"bye"))
        equal(ws.end(), 1000)


def test_the_largest_message(server):
    with echo(server) as ws:
        message = random.Random(1).randbytes(16_777_216)
        ws.send(frame(message[:9_000_000], op=2, fin=False), frame(message[9_000_000:], op=0))
        equal(ws.read() == (2, message), True)
        ws.send(frame(message, op=2, fin=False), frame(b"x", op=0))
        equal(ws.end(), 1009)


def test_protocol_errors(server):
    text = frame("a", fin=False)
    wrong = [frame(masked=False), frame("x", op=0), frame("x", op=0, fin=False), text + frame("b"),
             frame("", op=9, fin=False), frame("", op=8, fin=False), frame(b"x" * 126, op=9),
             frame(b"x" * 126, op=8), frame("x", length_bytes=2), frame("x", length_bytes=8),
             frame("x" * 65535, length_bytes=8), b"\x81\xff" + b"\xff" * 8 + b"abcd",
             frame(b"x", op=8), text + frame("b", op=2)]
    wrong += [frame(op=op) for op in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)]
    wrong += [frame(op=op, rsv=rsv) for op in (1, 2, 8, 9, 10) for rsv in range(1, 8)]
    wrong += [close(code) for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999,
                                       5000)]
    wrong += [  # as soon as that is certain
        b"\x80", b"\x00", text + b"\x81", text + b"\x02", b"\x82\xfe\x00\x05", b"\x82\xff\x80",
        b"\x82\xff" + bytes(6), b"\x88\x81", close(999, b"words")[:8]]
    for each in wrong:
        with echo(server) as ws:
            ws.send(each)
            equal(ws.end(), 1002, each)
    for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000,
                 4999):
        with echo(server) as ws:
            ws.send(close(code))
            equal(ws.end(), code)
    with echo(server) as ws:
        ws.send(frame(b"", op=8), frame("behind"))
        equal(ws.end(), None)


def test_text_that_is_not_utf8(server):
    for text in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"ok\xe2\x82",
                 b"\xce\xba\xe1\xbd\xb9\xed\xa0\x80edited"):
        with echo(server) as ws:
            ws.send(frame(text))
            equal(ws.end(), 1007, text)
    with echo(server) as ws:  # before the frame is whole
        ws.send(frame(b"\xce\xba\xf4\x90" + b"x" * 1000, fin=False)[:16])
        equal(ws.end(), 1007)
    with echo(server) as ws:
        ws.send(close(1000, b"\xff words")[:9])
        equal(ws.end(), 1007)


def test_compression(server):
    with echo(server, OFFER) as ws:
        equal(ws.field("Sec-WebSocket-Extensions"), "permessage-deflate")
        for data in (b"Hello" * 100, b"", b"x" * 1_000_000):
            coded = deflated(data) if data else b"\0"
            ws.send(frame(coded[:3], rsv=4, fin=False), frame(b"", op=9), frame(coded[3:], op=0))
            equal(ws.read(), (10, b""))
            equal(ws.read(), (1, data))
        ws.send(frame("as it is"))
        equal(ws.read(), (1, b"as it is"))
        ws.send(frame(deflated(b"\xff" * 100), rsv=4))
        equal(ws.end(), 1007)
    for broken in (frame(b"\xff\xff\xff", rsv=4), frame(deflated(b"x"), op=0, rsv=4)):
        with echo(server, OFFER) as ws:
            ws.send(broken)
            equal(ws.end(), 1002)
    with echo(server, OFFER) as ws:  # grows by a thousand
        ws.send(frame(deflated(bytes(1 << 28)), op=2, rsv=4))
        equal(ws.end(), 1009)
    server.check_memory(300_000_000)


def test_handshakes(server):
    for instead, status in (({"Upgrade": None}, 426), ({"Connection": "close"}, 426),
                            ({"Sec-WebSocket-Version": "8"}, 426),
                            ({"Sec-WebSocket-Version": None}, 400),
                            ({"Sec-WebSocket-Key": None}, 400),
                            ({"Sec-WebSocket-Key": "AAAA"}, 400),
                            ({"Origin": "http://elsewhere"}, 403), ({"Origin": "null"}, 403),
                            ({"Origin": "http://127.0.0.1"}, 101)):
        with Raw(server.connect(), instead=instead) as ws:
            equal(ws.status, status, instead)
            if status in (400, 426):
                equal(ws.field("Sec-WebSocket-Version"), "13")
    with echo(server, ("Sec-WebSocket-Protocol", "chat, echo")) as ws:
        equal(ws.field("Sec-WebSocket-Protocol"), "echo")
    options = ("--allowed-origin", "https://a.example", "--max-message", "100")
    with RotaHttp(*server.started_as, *options) as other:
        for origin, status in (("https://a.example", 101), ("https://b.example", 403)):
            with echo(other, ("Origin", origin)) as ws:
                equal(ws.status, status)
        with echo(other) as ws:
            ws.send(frame("x" * 100))
            equal(ws.read(), (1, b"x" * 100))
            ws.send(frame("x" * 101))
            equal(ws.end(), 1009)


def test_silence(server):
    with RotaHttp(*server.started_as, "--ping-after", "1s") as other, echo(other) as ws:
        equal(ws.read(), (9, b""))
        ws.send(frame(b"", op=10), frame("what answers stays"))
        equal(ws.read(), (1, b"what answers stays"))
        equal(ws.read(), (9, b""))
        try:  # and what does not, goes
            equal(ws.socket.recv(10), b"")
        except ConnectionResetError:
            pass
    with RotaHttp(*server.started_as, "--ping-after", "0") as other, echo(other) as ws:
        ws.socket.settimeout(0.3)
        try:
            raise AssertionError(ws.read())
        except TimeoutError:
            pass


def test_a_drain_says_goodbye(server):
    with RotaHttp(*server.started_as) as ending:
        with echo(ending) as ws:
            ws.send(frame("hi"))
            equal(ws.read(), (1, b"hi"))
            ending.signal(signal.SIGTERM)
            op, payload = ws.read()
            equal((op, payload[:2]), (8, b"\x03\xe9"))
            ws.send(close(1001))
            equal(ws.socket.recv(10), b"")
        equal(ending.wait(), 0)


def chat(server, room="r"):
    return Raw(server.connect(), f"/ws/chat?room={room}")


def test_a_drain_lets_a_message_end(server):
    with RotaHttp(*server.started_as) as ending:
        with contextlib.closing(socket.socket()) as slow, chat(ending) as a:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", ending.port))
            guest = Raw(slow, "/ws/chat?room=r")
            for _ in range(13):  # more than the kernel takes
                a.send(frame("x" * 70_000), frame(b"", op=9))
                equal(a.read(), (10, b""))
            guest.socket.settimeout(PATIENCE_S)
            equal(guest.read(), (1, b"x" * 70_000))
            ending.signal(signal.SIGTERM)
            equal(a.read()[0], 8)
            a.send(close(1001))
            while (got := guest.read())[0] == 1:
                equal(len(got[1]), 70_000)
            equal((got[0], got[1][:2]), (8, b"\x03\xe9"))
            guest.send(close(1001))
        equal(ending.wait(), 0)


def test_a_chat(server):
    with chat(server) as a, chat(server) as b, chat(server) as c, chat(server, "other") as d:
        for number in range(50):
            a.send(frame(f"from a {number}"))
            equal([b.read(), c.read()], [(1, f"from a {number}".encode())] * 2)
        b.send(frame("from b"))
        equal([a.read(), c.read()], [(1, b"from b")] * 2)
        d.send(frame("alone"), frame(b"", op=9))
        equal(d.read(), (10, b""))
        c.send(frame(b"binary", op=2))
        equal(c.end(), 1003)
        for size in (300_000, (1 << 20) - 10):  # all that may wait for a reader
            a.send(frame("x" * size))
            equal(b.read(), (1, b"x" * size), size)
        a.send(frame("x" * ((1 << 20) - 9)))
        equal(a.end(), 1009)
    equal(chat(server, "x" * 129).status, 400)


def test_a_reader_that_does_not_read_is_cut_off(server):
    with chat(server, "deaf") as deaf, chat(server, "deaf") as a, chat(server, "deaf") as b:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        message = "x" * 60_000
        for number in range(400):
            a.send(frame(message + str(number)))
            equal(b.read(), (1, (message + str(number)).encode()), number)
        eventually(lambda: "is cut off" in server.output(), "the deaf one is cut off")
        with contextlib.suppress(ConnectionError, EOFError):
            while True:
                deaf.read()
        b.send(frame("still here"))
        equal(a.read(), (1, b"still here"))


def test_floods(server):
    with echo(server) as ws:
        ws.send(*[frame(b"p", op=9)] * 20_000)
        for _ in range(20_000):
            equal(ws.read(), (10, b"p"))
        ws.send(frame("", fin=False), *[frame(b"", op=0, fin=False)] * 100_000, frame("x", op=0))
        equal(ws.read(), (1, b"x"))
    server.check_memory(300_000_000)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    equal(done.stdout.strip(), "good", done.stderr)


def test_clients_of_others(server):
    place = f"127.0.0.1:{server.port}"
    for module, script, argument in (("websockets", OTHERS, f"ws://{place}/ws/echo"),
                                     ("wsproto", WSPROTO, place)):
        python = python_with(module)
        if python:
            run([python, "-c", script, argument])
        else:
            print(f"no {module} here")
    command = ["node", "-e", NODE, "-", f"ws://{place}/ws/echo", "/usr/share/nodejs/ws"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    check(done.stdout.strip() in ("good", "none"), done.stdout + done.stderr)


def test_a_browser(server):
    if browser.unavailable():
        print(browser.unavailable())
        return
    with browser.Browser() as window:
        window.open(f"http://127.0.0.1:{server.port}/healthz")
        ask = {"script": IN_PAGE, "args": [f"ws://127.0.0.1:{server.port}/ws/echo"]}
        got, protocol, extensions, code, clean = window.call("POST", "/execute/async", ask)
        equal((got, protocol, code, clean), ([True] * 5, "echo", 4002, True))
        check("permessage-deflate" in extensions, extensions)
        ask = {"script": FOREIGN, "args": [f"ws://localhost:{server.port}/ws/echo"]}
        equal(window.call("POST", "/execute/async", ask), 1006)  # another origin


if __name__ == "__main__":
    with RotaHttp(sys.argv[1], *sys.argv[2:]) as it:
        run_tests(globals(), it)
