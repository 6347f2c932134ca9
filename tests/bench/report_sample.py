"""Figures that were made up, in the form that the programs write, for the tests of the report."""

import json
import statistics

MACHINE = {"cpu": "a made-up machine", "cores": 2, "memory_mib": 1, "kernel": "made-up 1.0"}
FIGURES = ("requests_per_second", "p50_us", "p99_us", "p999_us", "cpu_us_per_request")


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def samples(cpu, number):
    """What a server did in a round: all of it follows from its CPU time."""
    value = cpu * (1 + number / 100)
    made = {figure: value for figure in FIGURES}
    made["requests_per_second"] = 1e6 / value
    return {**made, "foreign_cores": 0.01}


def load(row, cpu, disturbed=0):
    """The file of bench/load for a row of the plan; `cpu` is {server: us for a request}."""
    rounds = [{name: samples(us, number) for name, us in cpu.items()} for number in range(3)]
    summary = {}
    for name in cpu:
        figures = {figure: spread([one[name][figure] for one in rounds]) for figure in FIGURES}
        summary[name] = {**figures, "errors": 0, "ratio": {}, "syscalls_per_request": 2.0}
        if row.id == "mix":
            summary[name]["p99_by_alone"] = spread([cpu[name]] * 3)
    result = {
        "name": f"made up: {row.workload}",
        "pinned": row.pinned,
        "paced": row.workload in ("paced", "mix"),
        "rate": 1234,
        "heavy": {"path": "/spin/1"} if row.workload == "mix" else None,
        "dropped": 1,
        "disturbed": disturbed,
        "baseline": row.baseline,
        "left_out": [],
        "summary": summary,
        "rounds": rounds,
    }
    return {
        "machine": MACHINE,
        "versions": {"rota": "made-up", "nginx": None},
        "settings": {"seconds": 1},
        "results": [result],
    }


def micro(times):
    """`times` is {case: {program: ns}}."""
    names = {name: "made up" for case in times.values() for name in case if name != "Rota"}
    return {
        "rounds": 3,
        "versions": names,
        "left_out": {},
        "programs": {"Rota": {"compiler": "made-up 1"}},
        "cases": [
            {"name": case, "unit": "ns", "values": {name: [ns] * 3 for name, ns in by.items()}}
            for case, by in times.items()
        ],
    }


def write(folder, plan, cpu, times=None, disturbed=0):
    """Fills a folder as a run would; of each row those of its servers that are in `cpu`."""
    for row in plan.rows:
        known = {name: cpu[name] for name in row.servers if name in cpu}
        if known:
            (folder / f"load-{row.id}.json").write_text(json.dumps(load(row, known, disturbed)))
    if times:
        (folder / "micro.json").write_text(json.dumps(micro(times)))
        counted = {"made_with": {"compiler": "made-up"}, "instructions_per_request": {"a": 1000.4}}
        (folder / "instructions.json").write_text(json.dumps(counted))


SESSION = {
    "command": "./dev bench",
    "plan": "full",
    "when": "2001-02-03T04:05:06+00:00",
    "took_seconds": 60,
    "left_out": {"h2o": "not built, needs apt-get install h2o"},
    "failed": {},
}
