"""The queues that are measured: how each is started, asked, and looked at."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import generators
import procfs
from error import BenchError
from servers import free_port

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tests/apps/jobs"))
from postgres import NotInstalled, Postgres  # noqa: E402

START_SECONDS = 60
CLIENTS_MAX = 256
MEMORY, SECOND, DISK = "memory", "disk within a second", "disk before the answer"


@contextmanager
def on_cores(cores):
    """What is started meanwhile runs there."""
    before = os.sched_getaffinity(0)
    try:
        if cores:
            os.sched_setaffinity(0, cores)
        yield
    finally:
        os.sched_setaffinity(0, before)


def ticks_with_children(pid):
    """CPU seconds of a process, its living children, and those that have ended; in ticks."""
    seconds = 0.0
    for member in procfs.family(pid):
        try:
            text = Path(f"/proc/{member}/stat").read_text()
        except OSError:
            continue  # it has just ended, and is its parent's
        fields = text.rsplit(")", 1)[1].split()
        seconds += sum(map(int, fields[11:15])) / procfs.TICKS_PER_SECOND
    return seconds


class Snapshot:
    """CPU that a queue has used so far."""

    def __init__(self, pids, postgres):
        self.usages = [procfs.Usage.of(pid) for pid in pids]
        self.ticks = ticks_with_children(postgres.pid) if postgres else 0.0

    def since(self, earlier):
        return self.ticks - earlier.ticks + sum(
            now.cpu_since(then) for now, then in zip(self.usages, earlier.usages))


class Queue:
    """One that is running. Leave the context to stop it."""

    dialect = "http"
    durability = MEMORY

    def __init__(self, name, folder, postgres=None):
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix=re.sub(r"\W", "-", name) + "-", dir=folder))
        self.log = self.folder / "log"
        self.postgres = postgres
        self.port = None
        self.process = None

    def command(self):
        """What serves; nothing if PostgreSQL does."""
        raise NotImplementedError

    def __enter__(self):
        try:
            if not any(self._start() for _ in range(3)):
                raise BenchError(f"{self.name} does not start: {self.log.read_text()[-500:]}")
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        """False if it ends at once: somebody else may have got the port meanwhile."""
        self.port = free_port()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, cwd=self.folder)
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if time.monotonic() > until:
                raise BenchError(f"{self.name} does not listen: {self.log.read_text()[-500:]}")
            time.sleep(0.02)
            if self.process.poll() is not None:
                return False
        return True

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self):
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def prepare(self):
        """Once it runs."""

    def pids(self):
        return [self.process.pid] if self.process else []

    def cpu(self):
        if self.process and self.process.poll() is not None:
            raise BenchError(f"{self.name} has ended: {self.log.read_text()[-500:]}")
        return Snapshot(self.pids(), self.postgres)

    def resident_bytes(self):
        """Of the processes that are its alone: PostgreSQL's memory is a cache of fixed size."""
        return sum(procfs.memory_mib(pid)[0] for pid in self.pids()) * (1 << 20)

    def disk_bytes(self):
        return sum(path.stat().st_size for path in self.folder.rglob("*")
                   if path.is_file() and path != self.log)

    def load(self, program, clients, seconds, payload, cores):
        """What clients have seen: rate and latencies of cycles, how many, their own CPU."""
        command = [program, "--port", self.port, "--dialect", self.dialect, "--clients", clients,
                   "--payload", payload, "--seconds", seconds,
                   "--warmup", min(0.3, seconds / 4)]
        output, cpu = generators.run(list(map(str, command)), cores, seconds + 120)
        return {**parse_jobload(output), "load_seconds": cpu}


def parse_jobload(output):
    told = json.loads(output)
    if not told["all"]:
        raise BenchError("no cycle has ended")
    return told


class RotaQueue(Queue):
    """rota-http with one of its stores."""

    def __init__(self, store, program, folder, postgres=None, name=None):
        super().__init__(name or f"rota, {store}", folder, postgres)
        self.program = program
        self.store = store
        self.durability = MEMORY if store == "memory" else DISK
        self.database = None
        if store == "postgres":
            self.database = re.sub(r"\W", "", self.folder.name).lower()
            self.url = postgres.create(self.database)

    def command(self):
        place = {"memory": "memory", "sqlite": f"sqlite:{self.folder}/jobs.db"}
        store = place[self.store] if self.store in place else self.url
        return [self.program, "--port", str(self.port), "--workers", "1", "--store", store,
                "--log-level", "warning"]

    def disk_bytes(self):
        if not self.database:
            return super().disk_bytes()
        self.postgres.psql("CHECKPOINT")
        return int(self.postgres.psql(f"SELECT pg_database_size('{self.database}')")[0][0])


class RedisQueue(Queue):
    """redis-server with lists or a stream."""

    WORDS = {"no": MEMORY, "everysec": SECOND, "always": DISK}

    def __init__(self, dialect, fsync, folder):
        super().__init__(f"Redis {dialect}" + ("" if fsync == "no" else f", {fsync}"), folder)
        self.dialect = dialect
        self.fsync = fsync
        self.durability = self.WORDS[fsync]

    def command(self):
        log = ["--appendonly", "no"] if self.fsync == "no" else \
            ["--appendonly", "yes", "--appendfsync", self.fsync]
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
                "--dir", str(self.folder), *log]

    def prepare(self):
        if self.dialect == "stream":
            with socket.create_connection(("127.0.0.1", self.port), START_SECONDS) as server:
                server.sendall(b"XGROUP CREATE bench workers $ MKSTREAM\r\n")
                said = server.recv(100)
            if not said.startswith(b"+OK"):
                raise BenchError(f"{self.name}: {said!r}")


class PgbenchQueue(Queue):
    """A table of PostgreSQL and three statements, sent by pgbench."""

    durability = DISK

    def __init__(self, folder, postgres):
        super().__init__("PostgreSQL, pgbench", folder, postgres)
        self.database = "pgbench"
        postgres.create(self.database)
        postgres.psql(
            "CREATE TABLE jobs (id bigserial PRIMARY KEY, payload text, taken_at timestamptz);"
            "CREATE INDEX ON jobs (id) WHERE taken_at IS NULL", self.database)

    def __enter__(self):
        return self

    def load(self, program, clients, seconds, payload, cores):
        seconds = max(1, round(seconds))
        told = None
        while told is None:  # its first cycles can take longer than a short measurement
            told = self.try_load(clients, seconds, payload, cores)
            seconds *= 3
        return told

    def try_load(self, clients, seconds, payload, cores):
        for old in self.folder.glob("cycles.*"):
            old.unlink()
        command = [self.postgres.programs / "pgbench", "--no-vacuum", f"--client={clients}",
                   "--jobs=1", f"--time={seconds}", "--protocol=prepared", "--log",
                   f"--log-prefix={self.folder}/cycles", f"--define=payload={payload}",
                   f"--file={HERE}/skip_locked.sql", f"--host={self.postgres.folder}",
                   "--username=postgres", self.database]
        output, cpu = generators.run(list(map(str, command)), cores, seconds + 120)
        told = parse_pgbench(output, self.latencies())
        return told and {**told, "load_seconds": cpu}

    def latencies(self):
        """Microseconds of each cycle, sorted; the log's third column."""
        return sorted(int(line.split()[2]) for path in self.folder.glob("cycles.*")
                      for line in path.read_text().splitlines())


def parse_pgbench(output, latencies):
    """Nothing if no cycle has ended."""
    cycles = re.search(r"transactions actually processed: (\d+)", output)
    rate = re.search(r"tps = ([\d.]+)", output)
    if cycles and int(cycles[1]) == 0:
        return None
    if not cycles or not rate or not latencies:
        raise BenchError(f"pgbench printed no result:\n{output}")
    return {"all": int(cycles[1]), "rate": float(rate[1]),
            "p50_us": latencies[len(latencies) // 2],
            "p99_us": latencies[len(latencies) * 99 // 100]}


def knows_postgres(program):
    """Whether rota-http has been built with that store."""
    told = subprocess.run([program, "--help"], capture_output=True, text=True, check=False).stdout
    return "postgres" in told


def postgres_or_none(remarks):
    """A context with a PostgreSQL as Debian configures it, but for connections; or with None."""
    settings = {"shared_buffers": "128MB", "max_connections": CLIENTS_MAX + 64}
    try:
        return Postgres(durable=True, settings=settings)
    except NotInstalled as error:
        remarks.append(str(error))
        return nullcontext()
