#!/usr/bin/env python3
"""A PostgreSQL server of a test's own: the programs of Debian's package, a folder of its own.

usage: postgres.py run -- <command> [arguments...]      exits 77 where PostgreSQL is not installed

run starts one, gives the command the URL of an empty database as ROTA_TEST_POSTGRES, and ends with
the command's exit code. Tests in Python use the class.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE_S = 60
SKIPPED = 77
PROGRAMS = Path("/usr/lib/postgresql")  # Debian's: a folder for each version, not in PATH
NAME = "ROTA_TEST_POSTGRES"
USER = "postgres"
# It is for a test, and goes with it: only what happens to the machine needs fsync, not kill -9.
FOR_TESTS = {"fsync": "off", "shared_buffers": "32MB", "max_connections": 100}


class NotInstalled(Exception):
    """There is no PostgreSQL here."""


def find_programs():
    """The folder of initdb, postgres and psql of the newest version that is installed."""
    found = [path.parent for path in PROGRAMS.glob("*/bin/postgres")
             if (path.parent / "initdb").exists() and (path.parent / "psql").exists()]
    if not found:
        raise NotInstalled(f"PostgreSQL is not installed (Debian: postgresql): no {PROGRAMS}/*/bin")
    return max(found, key=lambda path: float(path.parent.name))


def as_server():
    """What a command starts with that is to run as the server may: never as root."""
    if os.geteuid() != 0:
        return ["setpriv"]
    try:
        group = pwd.getpwnam(USER).pw_gid
    except KeyError:
        raise NotInstalled(f"PostgreSQL does not run as root, and no user is {USER}") from None
    return ["setpriv", f"--reuid={USER}", f"--regid={group}", "--init-groups"]


class Postgres:
    """One server. It listens on a Unix socket in its folder only; both are gone after close().

    It also ends when the thread that has started it ends, however that comes: start it in one that
    stays. `settings` are added to the command line; `durable` lets it fsync; with a `password` it
    asks for that (SCRAM), else it trusts everybody.
    """

    def __init__(self, durable=False, settings=None, password=None):
        self.programs = find_programs()
        self.as_server = as_server()
        settings = FOR_TESTS | ({"fsync": "on"} if durable else {}) | (settings or {})
        self.options = [f"--{name}={value}" for name, value in settings.items()]
        self.process = None
        self.password = password
        # A socket's path has room for 107 bytes, and the server's user has to get there.
        self.folder = Path(tempfile.mkdtemp(prefix="rota-pg-", dir="/tmp"))
        self.log = self.folder / "log"
        try:
            if os.geteuid() == 0:
                shutil.chown(self.folder, USER)
            self._make()
            self.start()
        except BaseException:
            self.close()
            raise

    def _make(self):
        auth = ["--auth", "trust"]
        if self.password:
            file = self.folder / "password"
            file.write_text(self.password)
            auth = ["--auth", "scram-sha-256", "--pwfile", file]
        made = subprocess.run(
            [*self.as_server, self.programs / "initdb", "--pgdata", self.folder / "data",
             "--username", USER, *auth, "--no-locale", "--encoding", "UTF8", "--no-sync"],
            cwd="/", capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise RuntimeError(f"initdb: exit {made.returncode}: {made.stdout}{made.stderr}")

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        """Starts it, and returns when it takes connections. After kill() it recovers first."""
        until = time.monotonic() + PATIENCE_S
        while not self._launch(until):
            # What kill() has left of it lets go of the folder when it notices; then this succeeds.
            if time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"PostgreSQL does not start:\n{self.output()[-3000:]}")
            time.sleep(0.05)

    def _launch(self, until):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                # SIGINT is its "fast shutdown". It is asked for when the parent dies.
                [*self.as_server, "--pdeathsig", "INT", self.programs / "postgres",
                 "-D", self.folder / "data", "-k", self.folder, "--listen_addresses=",
                 "--timezone=UTC", *self.options],
                cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not self._ready():
            if self.process.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def _ready(self):
        """Its first line is the process id, the eighth how far it is."""
        try:
            lines = (self.folder / "data" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _end(self, number):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def stop(self):
        """Ends it in good order; its connections are closed."""
        self._end(signal.SIGINT)

    def kill(self):
        """kill -9 of its first process; the others end as soon as they notice."""
        self._end(signal.SIGKILL)

    def restart(self):
        self.stop()
        self.start()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database=USER, password=None):
        """With the server's password, if it has one, or another."""
        host = str(self.folder).replace("/", "%2F")
        password = password or self.password
        user = f"{USER}:{password}" if password else USER
        return f"postgres://{user}@{host}/{database}"

    def create(self, database):
        """The URL of a new database, empty."""
        self.psql(f'CREATE DATABASE "{database}"')
        return self.url(database)

    def psql(self, sql, database=USER, patience=PATIENCE_S):
        """The rows of an answer: lists of strings."""
        done = subprocess.run(
            [self.programs / "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
             "--field-separator=\t", "--set=ON_ERROR_STOP=1", self.url(database)],
            input=sql, capture_output=True, text=True, check=False, timeout=patience)
        if done.returncode != 0:
            raise RuntimeError(f"psql: {done.stderr}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def output(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if kind is not None and getattr(error, "code", 1) != 0:
            print(f"--- end of PostgreSQL's log\n{self.output()[-3000:]}---", flush=True)
        self.close()


def postgres_or_skip(**options):
    """A server; without PostgreSQL the test ends here, skipped."""
    try:
        return Postgres(**options)
    except NotInstalled as error:
        print(f"skipped: {error}", flush=True)
        sys.exit(SKIPPED)


def end_in_order(*_):
    sys.exit(128 + signal.SIGTERM)


def run_command(command, environment):
    """Its exit code. Who ends this program ends the command, even one that just begins."""
    process, asked = None, False

    def end(*_):
        nonlocal asked
        asked = True
        if process:
            process.kill()

    signal.signal(signal.SIGTERM, end)
    process = subprocess.Popen(command, env=environment)
    if asked:
        process.kill()
    return process.wait()


def main():
    if len(sys.argv) < 4 or sys.argv[1:3] != ["run", "--"]:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, end_in_order)
    with postgres_or_skip() as server:
        code = run_command(sys.argv[3:], os.environ | {NAME: server.create("rota_test")})
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
