#!/usr/bin/env python3
"""The PostgreSQL of the tests: it starts, keeps what was written, and never stays behind.

usage: postgres_test.py      exits 77 where PostgreSQL is not installed
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from postgres import NAME, SKIPPED, postgres_or_skip
from programs import check, equal, eventually, run_tests

LAUNCHER = Path(__file__).with_name("postgres.py")


def launcher(*command, **options):
    return subprocess.Popen([sys.executable, LAUNCHER, "run", "--", *command],
                            stdout=subprocess.PIPE, text=True, **options)


def running(pid):
    """Whether it runs; whoever inherits it may not have looked at its end yet."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def test_what_is_written_outlives_kill(server):
    server.create("kept")
    server.psql("CREATE TABLE t (n int); INSERT INTO t VALUES (1)", "kept")
    killed = server.pid
    server.kill()
    check(not running(killed), "it is gone")
    server.start()
    server.psql("INSERT INTO t VALUES (2)", "kept")
    server.restart()
    equal(server.psql("SELECT n, n + 1 FROM t ORDER BY n", "kept"), [["1", "2"], ["2", "3"]])
    equal(server.psql("SHOW server_encoding"), [["UTF8"]])


def test_an_error_is_told(server):
    try:
        server.psql("SELECT nonsense")
    except RuntimeError as error:
        check("nonsense" in str(error), error)
    else:
        raise AssertionError("no error")


def test_the_launcher_passes_on_url_and_exit_code(_):
    command = 'case "$%s" in postgres://*/rota_test) exit 7 ;; esac' % NAME
    equal(launcher("sh", "-c", command).wait(), 7)
    equal(subprocess.run([sys.executable, LAUNCHER, "run"], stderr=subprocess.DEVNULL,
                         check=False).returncode, 1)


def test_nothing_is_left_of_a_launcher_that_is_killed(_):
    show = f'printf "%s\\n" "${NAME}"; exec sleep 1000'
    for number in (signal.SIGTERM, signal.SIGKILL):
        child = launcher("sh", "-c", show, start_new_session=True)
        folder = Path("/" + child.stdout.readline().split("%2F", 1)[1]
                      .split("/")[0].replace("%2F", "/"))
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        check(running(pid), "the server runs")
        child.send_signal(number)
        child.wait()
        eventually(lambda: not running(pid), "the server has ended")  # pylint: disable=W0640
        if number == signal.SIGTERM:
            check(not folder.exists(), "its folder is gone")
            equal(processes_of(child.pid), [], "what is left of its group")
        else:
            os.killpg(child.pid, signal.SIGKILL)  # its command
            shutil.rmtree(folder)


def processes_of(group):
    """Those of a process group that run."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if running(pid) and group_of(pid) == group]


def group_of(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_without_postgresql_it_is_skipped(_):
    code = ("import pathlib, postgres; postgres.PROGRAMS = pathlib.Path('/nonexistent'); "
            "postgres.postgres_or_skip()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=False, cwd=LAUNCHER.parent)
    equal((done.returncode, done.stdout.startswith("skipped: ")), (SKIPPED, True), done.stderr)


if __name__ == "__main__":
    with postgres_or_skip() as one:
        run_tests(globals(), one)
