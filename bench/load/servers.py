"""The servers under load: how each is started, checked to be up, and stopped."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import procfs
from error import BenchError
from workloads import (BODIES, ENCRYPTED, FILES, H1, H2C, PLAINTEXT, SMALL_FILES,
                       SMALL_FILES_COUNT, SPIN, TLS)

START_SECONDS = 10.0
STOP_SECONDS = 5.0
TABLES = (Path(__file__).with_name("servers.json"), Path(__file__).parent / "../peers/peers.json")


@dataclass
class Server:
    """A row of the table; README.md tells what its columns mean."""

    name: str
    command: list
    port: int = 0  # 0: a free one is chosen
    strict: bool = True  # whether its answers must be what was asked for
    version: list | None = None  # a command that says it
    config: str | None = None  # a template, written to {folder}/config
    pages: bool = False  # whether it sends files
    speaks: frozenset = frozenset({H1})
    ports: dict = field(default_factory=dict)  # those that are not `port`, by what is spoken there
    lacks: frozenset = frozenset()
    paths: dict = field(default_factory=dict)  # where it has a page, if elsewhere
    words: dict = field(default_factory=dict)  # that stand in braces in its command and config

    def can(self, workload):
        missing = workload.needs & self.lacks or (workload.path in FILES and not self.pages)
        return workload.over in self.speaks and not missing

    def path(self, workload):
        return self.paths.get(workload.path, workload.path)

    def port_of(self, workload):
        return self.ports.get(workload.over, self.port)

    def url(self, workload):
        scheme = "https" if workload.over in ENCRYPTED else "http"
        return f"{scheme}://127.0.0.1:{self.port_of(workload)}{self.path(workload)}"


def fill(text, words):
    """`text` with the words that stand in braces replaced."""
    for word, value in words.items():
        text = text.replace("{" + word + "}", value)
    return text


def parse_server(text):
    """A server from name=command@port/path; port 0 means: choose one and fill in {port}."""
    found = re.fullmatch(r"([\w.-]+)=(.+)@(\d+)(/\S*)?", text)
    if not found:
        raise BenchError(f"--server {text!r}: not of the form name=command@port/path")
    name, command, port, path = found.groups()
    if int(port) == 0 and "{port}" not in command:
        raise BenchError(f"--server {name}: port 0, but no {{port}} in the command to fill in")
    lacks = frozenset({*BODIES, "/echo", SPIN} - {PLAINTEXT})
    paths = {PLAINTEXT: path or PLAINTEXT}
    return Server(name, shlex.split(command), int(port), strict=False, lacks=lacks, paths=paths)


def parse_row(row, folder, words):
    """A server from a row of a table in `folder`."""
    words = {**words, **row.get("words", {})}
    version = row.get("version")
    return Server(
        row["name"],
        [fill(word, words) for word in row["command"]],
        row.get("port", 0),
        strict=not row.get("yardstick", False),
        version=version and [fill(word, words) for word in version],
        pages=row.get("pages", "config" in row),
        config=(folder / row["config"]).read_text() if "config" in row else None,
        speaks=frozenset(row.get("speaks", (H1,))),
        lacks=frozenset(row.get("lacks", ())),
        paths=row.get("paths", {}),
        words=words,
    )


def known_servers(rota, build):
    """Those of the tables. `rota` is the path of rota-http, `build` the folder of the build."""
    words = {"rota": str(rota), "build": str(build), "output": str(build / "bench/peers")}
    servers = {}
    for table in TABLES:
        for row in json.loads(table.read_text()) if table.exists() else []:
            servers[row["name"]] = parse_row(row, table.parent, words)
    return servers


def make_certificate(folder):
    """A key on P-256 and a certificate of its own for 127.0.0.1, where {key}, {certificate} say."""
    made = subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-keyout", f"{folder}/key.pem", "-out",
         f"{folder}/certificate.pem", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        capture_output=True, text=True, check=False,
    )
    if made.returncode != 0:
        raise BenchError(f"openssl: {made.stderr.strip()}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def version_of(server):
    """The version in what the version command says, or None."""
    if not server.version:
        return None
    try:
        said = subprocess.run(
            server.version,
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
        written = " ".join([*server.command, server.config or ""])
        server.ports = {
            over: port
            for word, spoken in (("{tls_port}", ENCRYPTED), ("{h2c_port}", {H2C}))
            if word in written
            for port in [free_port()]
            for over in spoken
        }
        self.words = {
            **server.words,
            "port": str(server.port),
            "tls_port": str(server.ports.get(TLS, 0)),
            "h2c_port": str(server.ports.get(H2C, 0)),
            "certificate": str(Path(folder) / "certificate.pem"),
            "key": str(Path(folder) / "key.pem"),
            "workers": str(workers),
            "folder": str(self.folder),
            "pages": str(self.folder / "pages"),
        }
        self.command = [fill(word, self.words) for word in server.command]
        self.process = None

    def write_pages(self):
        pages = self.folder / "pages"
        (pages / SMALL_FILES.strip("/")).mkdir(parents=True)
        for path, body in {**BODIES, **FILES}.items():
            (pages / path.lstrip("/")).write_bytes(body)
        small = FILES[f"{SMALL_FILES}0"]
        for number in range(1, SMALL_FILES_COUNT):
            (pages / SMALL_FILES.strip("/") / str(number)).write_bytes(small)

    def __enter__(self):
        if self.server.config is not None:
            (self.folder / "config").write_text(fill(self.server.config, self.words))
        if self.server.pages:
            self.write_pages()
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
