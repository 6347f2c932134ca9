"""Runs the programs of the bench one after the other, and keeps within the time."""

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import plan as plans

BENCH = Path(__file__).resolve().parents[1]
DROPS_MAX = 3  # servers that a row may lose and still be measured
PATIENCE = 3  # times the estimate, and a minute


class Interrupted(Exception):
    """By the user."""


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def in_words(seconds):
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def stop(process):
    """The programs end their servers when they are asked to end; nothing else may be left."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def call(command, limit_seconds):
    """The last thing that went wrong as the command says it, or None if nothing did."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    overdue = threading.Event()

    def end_it():
        overdue.set()
        stop(process)

    timer = threading.Timer(limit_seconds, end_it)
    timer.start()
    last = ""
    try:
        with process.stderr:
            for line in process.stderr:
                print("  " + line, end="", file=sys.stderr, flush=True)
                if line.strip() and not line.startswith(" "):
                    last = line.strip()
        status = process.wait()
    except KeyboardInterrupt as error:
        stop(process)
        raise Interrupted from error
    finally:
        timer.cancel()
    if overdue.is_set():
        return f"took longer than {in_words(limit_seconds)}"
    return None if status == 0 else last or f"ended with {status}"


def culprit(said, names):
    """The server that an error of bench/load is about, if it names one."""
    found = re.match(r"bench: error: ([\w.-]+)[: ]", said)
    return found[1] if found and found[1] in names else None


class Session:
    """A run of a plan: what has been measured is in `folder`, what could not be in the rest."""

    def __init__(self, plan, folder, rota, build, absent):
        self.plan = plan
        self.folder = folder
        self.rota = rota
        self.build = build
        self.left_out = dict(absent)  # {server: why}
        self.failed = {}  # {row, or another part: why}
        self.begun = time.monotonic()
        self.rows = [row.without(absent) for row in plan.rows]

    def elapsed(self):
        return time.monotonic() - self.begun

    def steps(self):
        """(name, seconds that it may take, what does it) of all."""
        for row in self.rows:
            yield row.id, row.estimate(), lambda row=row: self.load(row)
        yield "micro", self.plan.micro.seconds, self.micro
        yield "instructions", self.plan.instructions.seconds, self.instructions

    def run(self, after_each, only=None):
        """All steps, or those named; after_each() when there is something new to be shown."""
        steps = [step for step in self.steps() if only is None or step[0] in only]
        for number, (name, seconds, do) in enumerate(steps):
            self.left = sum(later for _, later, _ in steps[number + 1 :])
            say(
                f"{number + 1} of {len(steps)}: {name}, about {in_words(seconds)}; "
                f"{in_words(seconds + self.left)} to go"
            )
            why = (do() or "").removeprefix("bench: error: ")
            if why:
                say(f"{name}: {why}")
                self.failed[name] = why
            after_each()

    def load(self, row):
        if not row.servers:
            return "none of its servers is there"
        for _ in range(DROPS_MAX + 1):
            file = self.folder / f"load-{row.id}.json"
            spare = self.plan.budget_seconds - self.elapsed() - self.left - row.estimate()
            repeats = plans.repeats(row, spare)
            command = [sys.executable, "-B", str(BENCH / "load"), "--rota", str(self.rota)]
            command += ["--build", str(self.build), "--json", str(file)]
            command += ["--repeats", str(repeats), *row.arguments()]
            longest = row.estimate() + repeats * row.round_seconds()
            why = call(command, PATIENCE * longest + 60)
            if why is None:
                return None
            lost = culprit(why, row.servers)
            if lost is None or len(row.servers) == 1:
                return why
            said = why.partition(f"{lost}")[2].lstrip(": ")
            say(f"{row.id}: without {lost}")
            self.left_out[f"{lost} ({row.id})"] = f"failed: {self.public(said)}"
            row = row.without([lost])
        return why

    def public(self, said):
        """Without the places of this machine."""
        for path in (self.build, self.rota.parent, BENCH.parent):
            said = said.replace(str(path) + "/", "")
        return re.sub(r"/tmp/\S+", "...", said)

    def micro(self):
        command = [sys.executable, "-B", str(BENCH / "micro/compare.py")]
        command += ["--rota", str(self.build / "bench/rota-micro")]
        command += ["--output", str(self.build / "bench/micro-peers")]
        command += ["--json", str(self.folder / "micro.json"), *self.plan.micro.arguments]
        return call(command, PATIENCE * self.plan.micro.seconds + 300)

    def instructions(self):
        file = self.folder / "instructions.json"
        command = [sys.executable, "-B", str(BENCH / "instructions"), "--rota", str(self.rota)]
        command += ["--json", str(file), *self.plan.instructions.arguments]
        why = call(command, PATIENCE * self.plan.instructions.seconds + 60)
        # Above the baseline: that is for ./dev bench instructions to complain about.
        return None if file.exists() else why
