"""rota-http as a child, and a client for it; used by the tests that need a server."""

import http.client
import json
import os
import re
import select
import socket
import tempfile
from pathlib import Path

from programs import PATIENCE_S, Program, check, equal, eventually

JSON = {"Content-Type": "application/json"}


class Answer:
    """A response that has been read whole."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class RotaHttp(Program):
    """rota-http on a free port unless one is given, with job queues in memory unless the options
    say otherwise. `mute`: nothing of its log is to be seen."""

    def __init__(self, program, *options, store=("--store", "memory"), port=0, mute=False, **more):
        if "--store" not in options:
            options = (*store, *options)
        self.folder = tempfile.TemporaryDirectory(prefix="rota-test-")
        self.port_file = Path(self.folder.name) / "port"
        self.started_as = [program, *options]
        command = program if isinstance(program, list) else [program]
        super().__init__(*command, "--port", port, "--port-file", self.port_file, *options,
                         **more)
        try:
            self.port = int(eventually(self._port, f"{program} listens"))
            # Its log is written by a thread of its own, which may be behind the file.
            if not (mute or "--log-level" in options or "stderr" in more):
                self.wait_for(" serves http")
        except BaseException:
            self.end()
            print(self.output(), flush=True)
            raise

    def _port(self):
        if self.process.poll() is not None:
            raise AssertionError(f"ended with {self.process.returncode}:\n{self.output()}")
        return self.port_file.read_text() if self.port_file.exists() else None

    def __exit__(self, *error):
        super().__exit__(*error)
        self.folder.cleanup()

    def connect(self, timeout=PATIENCE_S):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def session(self):
        """A connection of its own, kept alive."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def request(self, method, path, body=None, headers=None, over=None):
        """One request, over a connection of its own unless one is given."""
        connection = over or self.session()
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        if over is None:
            connection.close()
        return answer

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post_json(self, path, value, **more):
        return self.request("POST", path, json.dumps(value), JSON, **more)

    def blocked(self, what):
        """How many routines of clients wait for `what`."""
        tasks = self.get("/debug/tasks").json()["blocked"]
        return sum(1 for task in tasks if (task["name"], task["what"]) == ("client", what))

    def asleep(self, clients):
        """How many of the clients that asked for /sleep are at work, or have been, and answered:
        where it takes long to start them all, the first are by then."""
        answered = select.select(clients, [], [], 0)[0]
        for client in answered:
            check(client.recv(13, socket.MSG_PEEK) == b"HTTP/1.1 200 ", "it is answered")
        return len(answered) + self.blocked("sleep")

    def routines(self):
        """How many there are, with the one that answers."""
        return self.get("/debug/tasks").json()["routines"]

    def connections(self):
        """How many are served, with the one that asks."""
        return int(re.search(r"^rota_http_connections (\d+)$",
                             self.get("/metrics").body.decode(), re.M)[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def check_memory(self, bytes_max):
        """Whether it needs at most so much; not with a sanitizer, which keeps memory itself."""
        if "ROTA_TEST_SANITIZED" not in os.environ:
            check(self.rss_bytes() <= bytes_max, f"{self.rss_bytes()} bytes, at most {bytes_max}")

    def rss_bytes(self):
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def read_answer(client):
    """Reads one answer with a Content-Length off a raw socket: (head, body)."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(65536)
        if not piece:
            raise AssertionError(f"the connection ended after {data!r}")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
               if line.startswith(b"content-length:")]
    equal(len(lengths), 1, f"Content-Length fields in {head!r}")
    while len(body) < lengths[0]:
        piece = client.recv(65536)
        if not piece:
            raise AssertionError(f"the connection ended within {head + body!r}")
        body += piece
    return head, body
