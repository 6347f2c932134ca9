"""What is measured, and how long that takes. The plans themselves are in plan.json."""

import json
from dataclasses import dataclass
from pathlib import Path

PLANS = Path(__file__).with_name("plan.json")
# Seconds that bench/load takes beside the rounds; a little more than was seen.
START_SECONDS = 1.5  # to start, check and stop
START_SECONDS_EACH = 0.15  # the same for each server
WARMUP_SECONDS = 1.1
ROUND_SECONDS = 0.3  # to begin and end a measurement
SYSCALLS_SECONDS = 1.5  # to count them, for each server
PEAK_SECONDS = 3.5  # to find the rate of a workload at a constant one


@dataclass(frozen=True)
class Row:
    """One call of bench/load."""

    id: str
    workload: str
    servers: tuple
    pinned: bool = True
    seconds: int = 1
    rounds: int = 3
    baseline: str = "nginx"

    def without(self, servers):
        kept = tuple(name for name in self.servers if name not in servers)
        return Row(**{**vars(self), "servers": kept})

    def arguments(self):
        """Those of bench/load, but for the number of repeats."""
        words = ["--workload", self.workload, "--pipeline", "none"]
        words += ["--servers", ",".join(self.servers), "--baseline", self.baseline]
        words += ["--seconds", str(self.seconds), "--rounds", str(self.rounds)]
        return words + ([] if self.pinned else ["--no-pin"])

    def round_seconds(self):
        """One round: of the mix each server has two, one of them without the heavy requests."""
        times = 2 if self.workload == "mix" else 1
        return len(self.servers) * times * (self.seconds + ROUND_SECONDS)

    def estimate(self):
        """Seconds, if no round has to be repeated."""
        each = START_SECONDS_EACH + WARMUP_SECONDS + SYSCALLS_SECONDS
        peak = PEAK_SECONDS if self.workload == "paced" else 0
        fixed = START_SECONDS + peak + len(self.servers) * each
        return fixed + self.rounds * self.round_seconds()


@dataclass(frozen=True)
class Step:
    """A call of bench/micro or bench/instructions."""

    arguments: tuple
    seconds: float


@dataclass(frozen=True)
class Plan:
    name: str
    rows: tuple
    micro: Step
    instructions: Step
    budget_seconds: float

    def estimate(self):
        """Seconds for all of it, if no round has to be repeated."""
        steps = self.micro.seconds + self.instructions.seconds
        return steps + sum(row.estimate() for row in self.rows)


def repeats(row, spare_seconds):
    """How many rounds may be repeated: for a third of the time that nothing else needs."""
    return max(0, min(row.rounds, int(spare_seconds / 3 / row.round_seconds())))


def load(name, file=PLANS):
    """The plan of that name, full or quick."""
    document = json.loads(file.read_text())
    rows = []
    for row in document[name]["load"]:
        servers = row["servers"]
        named = document["groups"][servers] if isinstance(servers, str) else servers
        rows.append(Row(**{**row, "servers": tuple(named)}))
    steps = {
        key: Step(tuple(document[name][key]["arguments"]), document[name][key]["seconds"])
        for key in ("micro", "instructions")
    }
    budget = document[name]["budget_seconds"]
    return Plan(name, tuple(rows), **steps, budget_seconds=budget)
