"""The servers under load: how each is started, checked to be up, and stopped."""

import os
import re
import shlex
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import procfs

START_SECONDS = 10.0
STOP_SECONDS = 5.0
BODY = b"Hello, World!"


class BenchError(Exception):
    """Said to the user in one line."""


@dataclass
class Server:
    """`command` may hold {port}, {workers} and {folder} (a folder of its own for this run)."""

    name: str
    command: list
    path: str = "/plaintext"
    port: int = 0  # 0: a free one is chosen
    body: bytes | None = BODY  # what it must answer; None: anything
    version_command: list | None = None
    config: str | None = None  # a template, written to {folder}/config
    reuseport: bool = False

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}{self.path}"


def parse_server(text):
    """A server from name=command@port/path; port 0 means: choose one and fill in {port}."""
    found = re.fullmatch(r"([\w.-]+)=(.+)@(\d+)(/\S*)?", text)
    if not found:
        raise BenchError(f"--server {text!r}: not of the form name=command@port/path")
    name, command, port, path = found.groups()
    if int(port) == 0 and "{port}" not in command:
        raise BenchError(f"--server {name}: port 0, but no {{port}} in the command to fill in")
    return Server(name, shlex.split(command), path or "/plaintext", int(port), body=None)


def known_servers(rota):
    """Those that need no --server. `rota` is the path of rota-http."""
    template = Path(__file__).with_name("nginx.conf").read_text()
    nginx = ["nginx", "-p", "{folder}", "-e", "stderr", "-c", "{folder}/config"]
    app = [str(rota), "--host", "127.0.0.1", "--port", "{port}", "--workers", "{workers}"]
    app += ["--log-level", "error"]
    version = ["nginx", "-v"]
    servers = [
        Server("rota", app),
        Server("rota-per-worker", [*app, "--topology", "per_worker"]),
        Server("nginx", nginx, config=template, version_command=version),
        Server(
            "nginx-reuseport", nginx, config=template, version_command=version, reuseport=True
        ),
    ]
    return {server.name: server for server in servers}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def version_of(server):
    """The version in what the version command says, or None."""
    if not server.version_command:
        return None
    try:
        said = subprocess.run(
            server.version_command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=10,
            check=False,
        ).stdout
    except OSError:
        return None
    found = re.search(r"\d+\.\d+[\w.+-]*", said)
    return found[0] if found else None


class Running:
    """A server that has been started; leave the context to stop it."""

    def __init__(self, server, folder, workers, cores):
        self.server = server
        self.folder = Path(folder) / server.name
        self.folder.mkdir()
        self.log = self.folder / "log"
        self.cores = cores
        if server.port == 0:
            server.port = free_port()
        self.words = {
            "{port}": str(server.port),
            "{workers}": str(workers),
            "{folder}": str(self.folder),
            "{reuseport}": " reuseport" if server.reuseport else "",
        }
        self.command = [self.fill(word) for word in server.command]
        self.process = None

    def fill(self, text):
        for word, value in self.words.items():
            text = text.replace(word, value)
        return text

    def __enter__(self):
        if self.server.config is not None:
            (self.folder / "config").write_text(self.fill(self.server.config))
        if self.port_taken():
            raise BenchError(f"{self.server.name}: port {self.server.port} is taken")
        try:
            with self.log.open("wb") as log:
                self.process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    preexec_fn=self.pin,
                )
        except OSError as error:
            raise BenchError(f"{self.server.name}: {error}") from error
        try:
            self.wait_until_up()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def pin(self):
        if self.cores:
            os.sched_setaffinity(0, self.cores)

    def port_taken(self):
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.server.port)) == 0

    def wait_until_up(self):
        deadline = time.monotonic() + START_SECONDS
        while not self.port_taken():
            if self.process.poll() is not None:
                self.fail(f"ended at once with {self.process.returncode}")
            if time.monotonic() > deadline:
                self.fail(f"does not listen on port {self.server.port} after {START_SECONDS:.0f} s")
            time.sleep(0.02)

    def fail(self, what):
        said = self.log.read_text(errors="replace").strip().splitlines()
        tail = "".join("\n    " + line for line in said[-5:])
        raise BenchError(f"{self.server.name} ({shlex.join(self.command)}): {what}{tail}")

    def usage(self):
        if self.process.poll() is not None:
            self.fail(f"ended under load with {self.process.returncode}")
        return procfs.Usage.of(self.process.pid)

    def stop(self):
        """SIGTERM, and SIGKILL for it and its children if that is not enough."""
        if self.process is None or self.process.poll() is not None:
            return
        members = procfs.family(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            for member in members:
                try:
                    os.kill(member, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self.process.wait(STOP_SECONDS)
