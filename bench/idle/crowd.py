"""Servers, and the clients that hold idle connections to them; all end with the context."""

import json
import select
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import plan
import procfs
import servers
from error import BenchError

servers.START_SECONDS = 60.0  # there may be dozens, and other work beside them
OPEN_SECONDS = 120  # and more for many connections
OPEN_PER_SECOND = 300
REST_SECONDS = 3  # rota-http takes one to let the routine of an idle client end
SETTLE_SECONDS = 60
DRAIN_SECONDS = 300
QUIET_CORES = 0.02
PLACES_SPARE = 500  # of a server, beside those for idle connections


def read_meminfo():
    return plan.parse_meminfo(Path("/proc/meminfo").read_text())


def read_free_descriptors():
    return plan.parse_free_descriptors(Path("/proc/sys/fs/file-nr").read_text())


def row_of(name, options, number, places):
    """The server of that name, which can have so many connections."""
    if name == "rota":
        command = [str(options.rota), "--host", "127.0.0.1", "--port", "{port}", "--workers", "1",
                   "--max-connections", str(places), "--idle-timeout", "1h",
                   "--ping-after", options.ping_after, "--log-level", "error", "--store", "memory",
                   *options.option]
        return servers.Server(f"rota-{number}", command)
    return servers.Server(
        f"nginx-{number}",
        ["nginx", "-p", "{folder}", "-e", "stderr", "-c", "{folder}/config"],
        config=Path(__file__).with_name("nginx.conf").read_text(),
        words={"places": str(places)},
    )


class Client:
    """A rota-crowd that holds connections."""

    def __init__(self, program, port, connections, first, floor_kib, websockets):
        command = [str(program), "--port", str(port), "--connections", str(connections),
                   "--first", str(first), "--memory-floor", str(floor_kib // 1024),
                   *(["--websockets"] if websockets else [])]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.patience = OPEN_SECONDS + connections / OPEN_PER_SECOND

    def told(self):
        """The next line that it prints."""
        ready, _, _ = select.select([self.process.stdout], [], [], self.patience)
        if not ready:
            raise BenchError(f"rota-crowd says nothing for {self.patience:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            said = self.process.stderr.read().decode(errors="replace").strip()
            raise BenchError(said or "rota-crowd ended without a word")
        return json.loads(line)

    def say(self, line):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def lost(self):
        """Ends it; how many connections the server had ended before."""
        self.process.stdin.close()
        count = self.told()["lost"]
        self.process.wait(self.patience)
        return count

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


class Crowd:
    """Servers of one name and the clients of each. Leave the context to stop all of them."""

    def __init__(self, name, options, folder, most):
        self.name = name
        self.options = options
        self.folder = folder
        self.most = most
        self.running = []
        self.clients = []
        self.stack = ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *details):
        return self.stack.__exit__(*details)

    def start(self, groups):
        """A server more for each group; each has been asked by a few clients, which left."""
        for group in groups:
            few = min(self.options.warm, self.most)
            places = max(group.connections, few) + PLACES_SPARE
            row = row_of(self.name, self.options, len(self.running), places)
            one = self.stack.enter_context(servers.Running(row, self.folder, 1, None))
            self.running.append(one)
            warm = self.client(one, few, group.first)
            warm.told()
            self.options.say(f"{row.name} is up")
        self.settle()  # while those few are there, so that they come to rest too
        self.end_clients(len(self.clients) - len(groups))

    def client(self, one, connections, first):
        client = Client(self.options.crowd, one.server.port, connections, first,
                        self.options.floor_kib, self.options.websockets)
        self.stack.callback(client.stop)
        self.clients.append(client)
        return client

    def open(self, groups, until=None):
        """(connections held, why no more, or "") to the last servers that were started."""
        held = 0
        for group, one in zip(groups, self.running[-len(groups):]):
            if until is not None and time.monotonic() > until:
                return held, "time (--minutes)"
            told = self.client(one, group.connections, group.first).told()
            held += told["held"]
            if told["why_no_more"]:
                return held, told["why_no_more"].removeprefix("no more ")
        return held, ""

    def end_clients(self, keep=0):
        """Ends all clients but the first few; how many connections were lost."""
        ending, self.clients = self.clients[keep:], self.clients[:keep]
        return sum(client.lost() for client in ending)

    def ask(self, connections):
        """About so many speak at once: (how many, seconds until all have their answers)."""
        share = max(1, connections // len(self.clients))
        for client in self.clients:
            client.say(f"ask {share}")
        told = [client.told() for client in self.clients]
        return sum(one["asked"] for one in told), max(one["seconds"] for one in told)

    def count_lost(self):
        for client in self.clients:
            client.say("count")
        return sum(client.told()["lost"] for client in self.clients)

    def drain(self):
        """Seconds until the servers have ended that have been asked to."""
        begin = time.monotonic()
        for one in self.running:
            one.process.terminate()
        for one in self.running:
            try:
                one.process.wait(DRAIN_SECONDS)
            except subprocess.TimeoutExpired:
                raise BenchError(f"{one.server.name} does not end") from None
        return time.monotonic() - begin

    def usages(self):
        return [one.usage() for one in self.running]

    def cpu_seconds(self, seconds):
        """What all servers use in so long."""
        before = self.usages()
        began = time.monotonic()
        time.sleep(seconds)
        after = self.usages()
        length = time.monotonic() - began
        used = sum(late.cpu_since(early) for early, late in zip(before, after))
        return used * seconds / length

    def settle(self):
        """Waits until connections are at rest; whether that came about in time."""
        until = time.monotonic() + SETTLE_SECONDS
        time.sleep(REST_SECONDS)
        while self.cpu_seconds(1) > QUIET_CORES * len(self.running):
            if time.monotonic() > until:
                return False
        return True

    def private_kib(self):
        """Memory of all servers that no file is behind."""
        total = 0
        for one in self.running:
            for member in procfs.family(one.process.pid):
                try:
                    text = Path(f"/proc/{member}/smaps_rollup").read_text()
                except OSError:
                    continue  # it has just ended
                total += plan.parse_private_kib(text)
        return total
