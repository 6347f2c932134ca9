#!/usr/bin/env python3
"""A server that ours is compared with is built, started, and answers what the benchmark asks.

usage: peers.py <folder for what is built> <name>      exits 77 if a package of apt's is missing
"""

import email.utils
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack
from pathlib import Path

PEERS = Path(__file__).resolve().parents[2] / "bench/peers"
sys.path.insert(0, str(PEERS.parent / "load"))
sys.dont_write_bytecode = True
from servers import make_certificate  # noqa: E402
from workloads import CHAT, H1, H2, TLS, WS  # noqa: E402

PLACES = "/usr/sbin:/usr/bin:/sbin:/bin"
SKIPPED = 77
BUILD_SECONDS = 550
PATIENCE_SECONDS = 10
CLOCK_SLACK_SECONDS = 5
PLAIN = "text/plain; charset=utf-8"
PAGES = {
    "/plaintext": (PLAIN, b"Hello, World!"),
    "/json": ("application/json", b'{"message":"Hello, World!"}'),
    "/16k": (PLAIN, b"x" * (16 << 10)),
    "/1m": (PLAIN, b"x" * (1 << 20)),
}
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # l_onoff, l_linger
WORKLOADS = {*PAGES, "/echo", "/spin", "close", "pipelining", "workers"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port):
    return socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)


def get(path, *fields):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *fields, "", ""]).encode()


def post(path, body):
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def read_answer(stream):
    """(status, headers, body) of the next answer in a connection's makefile()."""
    first = stream.readline().decode("latin-1")
    if not first.startswith("HTTP/1.1 "):
        raise AssertionError(f"not an answer: {first!r}")
    headers = {}
    while line := stream.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return int(first.split()[1]), headers, stream.read(int(headers["content-length"]))


class Running:
    """A peer with so many workers, from construction to stop()."""

    def __init__(self, peer, output, workers):
        self.folder = tempfile.mkdtemp(prefix="rota-peer-")
        self.port = free_port()
        self.words = {
            "{port}": str(self.port),
            "{workers}": str(workers),
            "{output}": str(output),
            "{folder}": self.folder,
            "{tls_port}": str(free_port()),
            "{certificate}": f"{self.folder}/certificate.pem",
            "{key}": f"{self.folder}/key.pem",
        }
        make_certificate(self.folder)
        if "config" in peer:
            config = (PEERS / peer["config"]).read_text()
            Path(self.folder, "config").write_text(self.fill(config))
        program, *arguments = map(self.fill, peer["command"])
        self.log = Path(self.folder, "log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [shutil.which(program, path=PLACES) or program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=program != "setsid",  # which would start another process
            )
        self.wait_until_up()

    def fill(self, text):
        for word, value in self.words.items():
            text = text.replace(word, value)
        return text

    def wait_until_up(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                connect(self.port).close()
                return
            except OSError:
                time.sleep(0.02)
        said = self.log.read_text(errors="replace")
        self.stop()
        raise AssertionError(f"does not start: {said}")

    def cpu_ns(self):
        """CPU time of its threads so far."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

    def stop(self):
        """Whether it ended when it was told to. Nothing that it started is left in any case."""
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_SECONDS)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own session: nobody else's
        except ProcessLookupError:
            pass
        self.process.wait(PATIENCE_SECONDS)
        shutil.rmtree(self.folder)
        return ended


def upgraded(port, path):
    """A connection and its makefile(), behind the upgrade to WebSocket."""
    client = connect(port)
    stream = client.makefile("rb")
    fields = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    client.sendall(get(path, *fields))
    first, *rest = iter(lambda: stream.readline().strip(), b"")
    if not first.startswith(b"HTTP/1.1 101 ") or not any(b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in
                                                         each for each in rest):
        raise AssertionError(f"not upgraded: {first!r}, {rest!r}")
    return client, stream


def masked(message):
    """A text message of a client (RFC 6455 section 5.2)."""
    mask = os.urandom(4)
    return (bytes([0x81, 0x80 | len(message)]) + mask +
            bytes(byte ^ mask[i % 4] for i, byte in enumerate(message)))


def read_message(stream):
    first, size = stream.read(2)
    if first != 0x81 or size > 125:
        raise AssertionError(f"no small text: {first:#x}, {size}")
    return stream.read(size)


class Peer(unittest.TestCase):
    peer = output = None  # set by main
    workers = 1

    @classmethod
    def setUpClass(cls):
        if cls.workers > 1 and "workers" in cls.peer["lacks"]:
            raise unittest.SkipTest("has one worker always")
        cls.running = Running(cls.peer, cls.output, cls.workers)

    @classmethod
    def tearDownClass(cls):
        if not cls.running.stop():
            raise AssertionError("does not end on SIGTERM")

    def speaks(self, *words):
        for word in words:
            if word not in self.peer.get("speaks", [H1]):
                self.skipTest(f"does not speak {word}")


class Messages(Peer):
    def test_echo_of_messages(self):
        self.speaks(WS)
        client, stream = upgraded(self.running.port, "/ws/echo")
        with client, stream:
            sent = [b"x" * size for size in (0, 1, 64, 125)]
            client.sendall(b"".join(map(masked, sent)))
            self.assertEqual([read_message(stream) for _ in sent], sent)

    def test_chat(self):
        self.speaks(CHAT)
        members = [upgraded(self.running.port, "/ws/chat?room=test") for _ in range(5)]
        try:
            first, heard = members[0]
            for turn, (client, _) in enumerate(members[1:], 1):  # until each is in the room
                while not select.select([first], [], [], 0.05)[0]:
                    client.sendall(masked(b"here is %d" % turn))
                while read_message(heard) != b"here is %d" % turn:
                    pass
            for turn, (client, _) in enumerate(members):
                client.sendall(masked(b"from %d" % turn))
            for turn, (_, stream) in enumerate(members):
                due = {b"from %d" % other for other in range(5) if other != turn}
                while due:
                    message = read_message(stream)
                    self.assertNotIn(message, (b"from %d" % turn, b"here is %d" % turn))
                    due.discard(message)
        finally:
            for client, stream in members:
                stream.close()
                client.close()


class Answers(Peer):
    def setUp(self):
        self.speaks(H1)

    def needs(self, workload):
        if workload in self.peer["lacks"]:
            self.skipTest(f"lacks {workload}")

    def check(self, stream, path, connection=""):
        status, headers, body = read_answer(stream)
        content_type, expected = PAGES[path]
        self.assertEqual(status, 200)
        self.assertEqual(headers["content-type"], content_type)
        self.assertTrue(body == expected, f"{path}: {len(body)} bytes, {body[:40]}...")
        told = email.utils.parsedate_to_datetime(headers["date"]).timestamp()
        self.assertLess(abs(told - time.time()), CLOCK_SLACK_SECONDS)
        if connection == "close":
            self.assertEqual(stream.read(), b"")
        else:
            self.assertNotEqual(headers.get("connection", "").lower(), "close")

    def test_pages(self):
        for path in PAGES:
            with self.subTest(path), connect(self.running.port) as client:
                self.needs(path)
                with client.makefile("rb") as stream:
                    client.sendall(get(path))
                    self.check(stream, path)

    def test_keep_alive(self):
        with connect(self.running.port) as client, client.makefile("rb") as stream:
            for _ in range(200):  # more than what some have as the default for a connection
                client.sendall(get("/plaintext"))
                self.check(stream, "/plaintext")

    def test_connection_per_request(self):
        self.needs("close")
        for _ in range(20):
            with connect(self.running.port) as client, client.makefile("rb") as stream:
                client.sendall(get("/plaintext", "Connection: close"))
                self.check(stream, "/plaintext", "close")

    def test_pipelining(self):
        self.needs("pipelining")
        with connect(self.running.port) as client, client.makefile("rb") as stream:
            for depth in (16, 1, 16):
                client.sendall(get("/plaintext") * depth)
                for _ in range(depth):
                    self.check(stream, "/plaintext")

    def test_echo(self):
        self.needs("/echo")
        with connect(self.running.port) as client, client.makefile("rb") as stream:
            for size in (1, 3000, 64 << 10):
                body = os.urandom(size)
                client.sendall(post("/echo", body))
                status, _, echoed = read_answer(stream)
                self.assertEqual((status, len(echoed)), (200, size))
                self.assertTrue(echoed == body)

    def test_spin(self):
        self.needs("/spin")
        before = self.running.cpu_ns()
        with connect(self.running.port) as client, client.makefile("rb") as stream:
            for us in [0, 20, 10_000] + 10 * [2000]:
                client.sendall(get(f"/spin/{us}"))
                status, headers, body = read_answer(stream)
                self.assertEqual((status, headers["content-type"], body), (200, PLAIN, b"spun"))
        self.assertGreaterEqual(self.running.cpu_ns() - before, 30_000_000)
        for wrong in ("10001", "x", ""):
            with connect(self.running.port) as client, client.makefile("rb") as stream:
                client.sendall(get(f"/spin/{wrong}"))
                self.assertIn(read_answer(stream)[0], (400, 404))

    def test_client_that_leaves(self):
        for answers in (0, 1) * 10:
            with connect(self.running.port) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                client.sendall(get("/16k") * 100)
                client.recv(answers)
        self.test_keep_alive()

    def test_encrypted(self):
        for over, how, version in ((TLS, "--http1.1", "1.1"), (H2, "--http2", "2")):
            self.speaks(over)
            url = f"https://127.0.0.1:{self.running.words['{tls_port}']}/json"
            command = ["curl", "-sSk", how, "-m", "5", "-w", "%{http_version}", url]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            self.assertEqual(said, PAGES["/json"][1].decode() + version)

    def test_many_connections(self):
        with ExitStack() as stack:
            clients = [stack.enter_context(connect(self.running.port)) for _ in range(256)]
            streams = [stack.enter_context(client.makefile("rb")) for client in clients]
            for client in clients:
                client.sendall(get("/plaintext"))
            for stream in streams:
                self.check(stream, "/plaintext")


class AnswersOfTwoWorkers(Answers):
    workers = 2


class Table(unittest.TestCase):
    peer = output = None

    def test_what_it_lacks_is_known(self):
        self.assertLessEqual(set(self.peer["lacks"]), WORKLOADS)

    def test_version(self):
        program, *arguments = [one.replace("{output}", self.output) for one in self.peer["version"]]
        program = shutil.which(program, path=PLACES) or program
        said = subprocess.run(
            [program, *arguments], capture_output=True, text=True, check=True, timeout=20
        )
        self.assertRegex(said.stdout + said.stderr, r"\d+\.\d+")


def main():
    output, name = sys.argv[1:]
    peers = json.loads((PEERS / "peers.json").read_text())
    built = subprocess.run(
        ["nice", PEERS / "build", output, name], check=False, timeout=BUILD_SECONDS
    )
    if built.returncode != 0:
        return SKIPPED if built.returncode == SKIPPED else 1
    output = str(Path(output).resolve())
    Peer.peer = Table.peer = next(peer for peer in peers if peer["name"] == name)
    Peer.output = Table.output = output
    return unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
