"""A server under callgrind, whose simulated cache is so large that it misses each line but once.

Callgrind empties that cache when its instrumentation is turned on. So what misses from then on are
the different lines of 64 bytes that the server touches in user space.
"""

import contextlib
import re
import statistics
import subprocess
import time
from pathlib import Path

import callgrind
import cases
import script
from error import InstructionsError

CONTROL_SECONDS = 30.0
SETTLE_LOOKS = 3  # in a row that find the server asleep
LOOK_SECONDS = 0.01
ATTEMPTS = 10
CACHE = "67108864,16,64"  # bytes, ways, bytes of a line
TOTALS = re.compile(r"^events: (.*)$.*^totals: (.*)$", re.MULTILINE | re.DOTALL)


def nginx(program):
    """As callgrind.rota_http(), of nginx as one process."""

    def command(folder, port):
        words = Path(__file__).with_name("nginx.conf").read_text()
        text = words.replace("{folder}", folder).replace("{port}", str(port))
        Path(folder, "nginx.conf").write_text(text)
        return [program, "-p", folder, "-c", f"{folder}/nginx.conf", "-e", "stderr"]

    return callgrind.on_free_port(command)


def parse_totals(text):
    """Lines of data touched, and references to data, of what callgrind has dumped."""
    found = TOTALS.search(text)
    if not found:
        raise InstructionsError("callgrind has dumped no totals")
    totals = dict(zip(found[1].split(), map(int, found[2].split())))
    return totals["D1mr"] + totals["D1mw"], totals["Dr"] + totals["Dw"]


class Counted:
    """The server, from `with` to its end."""

    def __init__(self, how, folder):
        self.how, self.folder, self.dumps = how, folder, 0

    def __enter__(self):
        command, port = self.how
        caches = [f"--{one}={CACHE}" for one in ("I1", "D1", "LL")]
        with contextlib.ExitStack() as stack:
            log = stack.enter_context(Path(self.folder, "log").open("wb"))
            try:
                self.process = subprocess.Popen(
                    ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes",
                     *caches, f"--callgrind-out-file={self.folder}/out", *command(self.folder)],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                )
            except OSError as error:
                raise InstructionsError(f"cannot run valgrind: {error}") from error
            stack.enter_context(self.process)
            stack.callback(self.process.kill)
            self.port = port(self.process, self.folder)
            self.end = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.end.close()

    def control(self, *words):
        """Has callgrind obey commands of its own, one after the other (callgrind's manual, 6.6)."""
        commands = [word for one in words for word in ("-c", *one.split())]
        try:
            subprocess.run(
                ["vgdb", f"--pid={self.process.pid}", *commands],
                check=True, capture_output=True, timeout=CONTROL_SECONDS,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise InstructionsError(f"callgrind does not obey: {error}") from error

    def settle(self):
        """Until the server sleeps for longer than a moment."""
        for _ in range(SETTLE_LOOKS):
            script.wait_until(self.process.pid, "S")
            time.sleep(LOOK_SECONDS)

    def pause(self):
        self.control("instrumentation off")

    def begin(self):
        self.control("instrumentation on")

    def totals(self, profile=None):
        self.control("dump")
        self.dumps += 1
        out = Path(self.folder, f"out.{self.dumps}")
        if profile:
            profile.write_bytes(out.read_bytes())
        return parse_totals(out.read_text())


def ask(server, connections, depth, length):
    """`depth` requests on each, found all at once. The time when the server found them."""
    with script.stopped(server.process.pid):
        for connection in connections:
            connection.sendall(cases.REQUEST * depth)
    found = time.monotonic()
    for connection in connections:
        script.read_exactly(connection, length * depth)
    return found


def play_round(server, connections, case, length, profile=None):
    """Lines and references of one round."""
    for _ in range(ATTEMPTS):
        server.pause()
        before = ask(server, connections, 1, length)
        time.sleep(case.rest_seconds)
        server.settle()
        server.begin()
        found = ask(server, connections, case.depth, length)
        server.settle()
        totals = server.totals(profile)
        if case.rest_seconds or found - before < cases.AWAKE_SECONDS:
            return totals
    raise InstructionsError(f"{case.name}: the machine is too busy: clients come to rest")


def measure(how, which, folder, profiles=None):
    """By the names of `which`: private lines for a connection, and references for a request."""
    figures, measured = {}, {}
    few, many = cases.CONNECTIONS
    with Counted(how, folder) as server, contextlib.ExitStack() as stack:
        connections = []
        for count in (few, many):
            while len(connections) < count:
                connections.append(stack.enter_context(script.connect(server.port)))
                length = script.answer_length(connections[-1], cases.REQUEST)
            for case in which:
                profile = None
                if profiles and count == many:
                    profile = profiles / ("callgrind." + case.name.replace(" ", "-"))
                for _ in range(cases.ROUNDS_BEFORE):
                    play_round(server, connections, case, length)
                rounds = [
                    play_round(server, connections, case, length, profile)
                    for _ in range(case.rounds)
                ]
                measured[case.name, count] = [statistics.median_low(s) for s in zip(*rounds)]
    for case in which:
        lines, references = (
            (more - less) / (many - few)
            for more, less in zip(measured[case.name, many], measured[case.name, few])
        )
        figures[case.name] = {"lines": lines, "references": references / case.depth}
    return figures
