"""What was promised, and whether the figures keep it."""

import operator
from dataclasses import dataclass

from compact import OURS

PEERS = "every peer"
CHECKS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}
ACROSS = "channel round trip between two workers on two cores"


@dataclass(frozen=True)
class Goal:
    """A figure of `subject`, by that of `other` if there is one, held against a limit."""

    what: str
    row: str
    subject: str
    figure: str
    check: str
    limit: float
    other: str | None = None
    inverted: bool = False  # the other's figure by the subject's

    @property
    def target(self):
        limit = f"{self.check} {self.limit:.2f}"
        if self.other is None:
            return limit
        return f"{limit} x {'each peer' if self.other == PEERS else self.other}"


def against_all(row, what, ratio):
    """CPU for a request, against nginx with that ratio at most, and against every peer."""
    figure = "cpu_us_per_request"
    return [
        Goal(f"CPU/request, {what}", row, "rota", figure, "<=", ratio, "nginx"),
        Goal(f"CPU/request, {what}", row, "rota", figure, "<", 1, PEERS),
        Goal(f"CPU/request, {what}", row, "rota", figure, "<=", 1.1, "floor"),
    ]


RATE = "requests_per_second"
TWO = "plaintext-64-two-cores"
GOALS = [
    *against_all("plaintext-64", "64 connections", 0.8),
    *against_all("plaintext-512", "512 connections", 0.8),
    Goal(
        "CPU/request, 64 connections, dedicated",
        "plaintext-64", "rota-dedicated", "cpu_us_per_request", "<=", 0.95, "nginx",
    ),
    Goal("CPU/request, two cores", TWO, "rota", "cpu_us_per_request", "<=", 0.7, "nginx"),
    Goal("requests/s, two cores", TWO, "rota-per-worker", RATE, ">=", 1.15, "nginx"),
    Goal("requests/s, two cores", TWO, "rota-per-worker", RATE, ">", 1, PEERS),
    Goal(
        "CPU/request, 16 deep: nginx's by rota's",
        "plaintext-64x16", "rota", "cpu_us_per_request", ">=", 8, "nginx", inverted=True,
    ),
    Goal("CPU/request, 16 deep", "plaintext-64x16", "rota", "cpu_us_per_request", "<", 1, PEERS),
    Goal("p99 at 60% of nginx's peak", "paced", "rota", "p99_us", "<=", 1, PEERS),
    Goal("p50, 1 connection", "plaintext-1", "rota", "p50_us", "<=", 1.05, PEERS),
    Goal(
        "requests/s, 20 us of work, two cores: shared to sharded",
        "spin20", "target", RATE, ">=", 0.95, "target-per-worker",
    ),
    Goal("light requests' p99 beside heavy ones, by alone", "mix", "target", "p99_by_alone",
         "<=", 2),
    Goal(
        "bytes per CPU second, 1 MiB", "1m", "rota", "cpu_us_per_request", ">=", 1, "nginx",
        inverted=True,
    ),
    Goal("requests/s, a connection for each", "accept", "rota", RATE, ">=", 1, "nginx"),
]


def find(load, identity):
    return next((result for result in load if result["id"] == identity), None)


def inverse(spread):
    middle, low, high = spread
    return [1 / middle, 1 / high, 1 / low] if low > 0 else None


def candidates(goal, result):
    """{other server, or nothing: spread} that the goal is about."""
    if goal.other is None:
        figure = result["servers"].get(goal.subject, {}).get(goal.figure)
        return {"": figure} if figure else {}
    compared = result["ratios"].get(goal.subject, {})
    names = [goal.other]
    if goal.other == PEERS:
        names = [name for name in compared if name not in OURS]
    found = {name: compared.get(name, {}).get(goal.figure) for name in names}
    if goal.inverted:
        found = {name: spread and inverse(spread) for name, spread in found.items()}
    return {name: spread for name, spread in found.items() if spread}


def unmeasured(what, target, why):
    return {"what": what, "target": target, "figure": None, "met": None, "note": why}


def why_missing(goal, document):
    failed = document.get("failed", {}).get(goal.row)
    if failed:
        return f"not measured: {failed}"
    result = find(document["load"], goal.row)
    if not result:
        return "not measured"
    lacking = [n for n in (goal.subject, goal.other) if n and n not in result["servers"]]
    named = ", ".join(name for name in lacking if name != PEERS)
    return f"not measured: {named or 'no peer'} missing"


def evaluate_goal(goal, document):
    result = find(document["load"], goal.row)
    found = candidates(goal, result) if result else {}
    if not found:
        return unmeasured(goal.what, goal.target, why_missing(goal, document))
    worst = max if goal.check in ("<", "<=") else min
    name = worst(found, key=lambda one: found[one][0])
    notes = []
    if goal.other == PEERS:
        notes.append(f"the closest of {len(found)}: {name}")
        absent = [one for one in result["missing"] if one not in OURS]
        notes += [f"without {', '.join(absent)}"] if absent else []
    if len({CHECKS[goal.check](value, goal.limit) for value in found[name]}) == 2:
        notes.append("rounds on both sides")
    if result["disturbed"]:
        notes.append("disturbed")
    return {
        "what": goal.what,
        "target": goal.target,
        "figure": found[name],
        "met": CHECKS[goal.check](found[name][0], goal.limit),
        "note": "; ".join(notes),
    }


def micro_targets(micro):
    made = []
    for case_name in ("spawn and join a routine", ACROSS):
        cases = micro["cases"] if micro else []
        case = next((case for case in cases if case["name"] == case_name), None)
        for peer in ("Go", "Asio"):
            figure = case and case["ratios"].get(peer)
            target = f"{peer}'s time > 1.00 x ours"
            if figure:
                both = len({value > 1 for value in figure}) == 2
                made.append(
                    {"what": case_name, "target": target, "figure": figure,
                     "met": figure[0] > 1, "note": "rounds on both sides" if both else ""}
                )
            else:
                made.append(unmeasured(case_name, target, f"not measured: {peer} or the case"))
    return made


def evaluate(document):
    """A row of the table for each target."""
    rows = [evaluate_goal(goal, document) for goal in GOALS]
    rows += micro_targets(document["micro"])
    if document["instructions"]:
        rows.append(
            {"what": "instructions per request", "target": "published", "figure": None,
             "met": True, "note": "below"}
        )
    else:
        rows.append(unmeasured("instructions per request", "published", "not measured"))
    return rows
