"""Starts the programs of apps/ as children and ends them; used by the tests of all of them."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PATIENCE_S = 60  # for what happens at once unless the machine is busy
LIMIT_S = 1500  # for all tests of one file, with sanitizers on a busy machine
LISTENING = re.compile(r"listening on (?:\w+://)?(\S+)\s")


class Program:
    """A running program. Its output goes to a file, which is shown if the test fails."""

    def __init__(self, *command, **options):
        self.log = tempfile.NamedTemporaryFile(prefix="rota-test-", suffix=".log", delete=False)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", self.log)
        options.setdefault("stderr", self.log)
        self.process = subprocess.Popen([str(part) for part in command], **options)
        self.pid = self.process.pid
        self.waited = False

    def output(self):
        return Path(self.log.name).read_text(errors="replace")

    def wait_for(self, pattern, count=1):
        """The matches of `pattern` in the output, once there are `count`."""
        expression = re.compile(pattern)

        def found():
            matches = expression.findall(self.output())
            if len(matches) < count and self.process.poll() is not None:
                raise AssertionError(f"ended with {self.process.returncode}:\n{self.output()}")
            return matches if len(matches) >= count else None

        return eventually(found, f"{pattern!r} in the output")

    def address(self):
        """What it says it listens on: ("127.0.0.1", port) or the path of a Unix socket."""
        text = self.wait_for(LISTENING)[0]
        if text.startswith("unix:"):
            return text.removeprefix("unix:")
        host, _, port = text.rpartition(":")
        return host.strip("[]"), int(port.rstrip("/"))

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=PATIENCE_S):
        code = self.process.wait(timeout)
        self.waited = True
        return code

    def end(self):
        """Ends it in good order if it runs; its exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        """Ends it. Unless the test has looked at the exit code, that has to be 0."""
        looked_at = self.waited
        code = self.end()
        failed = kind is not None and getattr(error, "code", 1) != 0
        if failed or (code != 0 and not looked_at):
            print(f"--- output of {self.process.args[0]}\n{self.output()}---", flush=True)
        self.log.close()
        os.unlink(self.log.name)
        if not failed and not looked_at:
            equal(code, 0, "exit code")


def eventually(check, what, timeout=PATIENCE_S):
    """What `check` returns as soon as that is true; asks every few milliseconds."""
    until = time.monotonic() + timeout
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > until:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(0.005)


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r:.2000}, want {want!r:.2000}")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def run_tests(namespace, *arguments):
    """Runs every test_* function of a module and ends the process."""
    tests = [(n, f) for n, f in namespace.items() if n.startswith("test_") and callable(f)]
    guard = threading.Timer(LIMIT_S, give_up)
    guard.daemon = True
    guard.start()
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # by nohup, and children would inherit it
        signal.signal(signal.SIGHUP, lambda *_: None)
    failed = []
    for name, function in tests:
        begin = time.monotonic()
        try:
            function(*arguments)
            word = "ok"
        except Exception as error:  # pylint: disable=broad-except
            import traceback

            traceback.print_exc()
            failed.append(name)
            word = f"FAILED: {error}"[:300]
        print(f"{name}: {word} ({time.monotonic() - begin:.2f} s)", flush=True)
    print(f"{len(tests) - len(failed)} passed, {len(failed)} failed {failed or ''}", flush=True)
    sys.exit(1 if failed else 0)


def give_up():
    """Where nobody else bounds the time: Meson does, and ends the children, too."""
    print(f"the tests take longer than {LIMIT_S} s", file=sys.stderr, flush=True)
    os._exit(1)
