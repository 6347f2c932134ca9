"""One document of all that was measured: medians and spreads, no single rounds.

A spread is [median, lowest, highest] here, rounded to four digits that count.
"""

import json
import statistics

OURS = ("rota", "rota-per-worker", "rota-dedicated", "floor", "target", "target-per-worker")
# Those whose ratios to all the others are kept.
SUBJECTS = ("rota", "rota-per-worker", "rota-dedicated", "target")
RATIOS = ("requests_per_second", "p50_us", "p99_us", "cpu_us_per_request")
FIGURES = (
    "requests_per_second",
    "p50_us",
    "p99_us",
    "p999_us",
    "cpu_us_per_request",
    "server_cores",
    "load_cores",
    "memory_mib",
    "memory_peak_mib",
    "alone_p99_us",
    "heavy_p99_us",
    "p99_by_alone",
)


def shorten(value):
    """Four digits that count, or all of a larger number."""
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def spread(values):
    return [shorten(f(values)) for f in (statistics.median, min, max)]


def from_summary(figure):
    """The spread of a summary of bench/load; None if there is none."""
    return figure and [shorten(figure[key]) for key in ("median", "min", "max")]


def ratios(rounds, subject, other):
    """{figure: spread of the subject's by the other's}, taken within each round."""
    found = {}
    for figure in RATIOS:
        pairs = [(one[subject].get(figure), one[other].get(figure)) for one in rounds]
        values = [mine / theirs for mine, theirs in pairs if mine is not None and theirs]
        if values:
            found[figure] = spread(values)
    return found


def load_result(row, raw):
    """What is kept of the file that bench/load wrote for a row; None if it holds no result."""
    if not raw["results"]:
        return None
    result = raw["results"][0]
    names = list(result["summary"])
    missing = [name for name in row.servers if name not in names]
    servers = {}
    for name, summary in result["summary"].items():
        figures = {key: from_summary(summary.get(key)) for key in FIGURES}
        count = summary.get("syscalls_per_request")
        figures["syscalls_per_request"] = count and shorten(count)
        figures["errors"] = summary["errors"]
        by = {key: from_summary(summary["ratio"].get(key)) for key in RATIOS}
        figures["by_baseline"] = {key: value for key, value in by.items() if value}
        servers[name] = {key: value for key, value in figures.items() if value is not None}
    kept = result["rounds"]
    return {
        "id": row.id,
        "name": result["name"],
        "pinned": result["pinned"],
        "rate": result.get("rate") if result.get("paced") else None,
        "mixed": bool(result.get("heavy")),
        "bytes": {"1m": 1 << 20, "16k": 16 << 10, "echo": 64 << 10}.get(row.workload),
        "seconds": raw["settings"]["seconds"],
        "rounds": len(kept),
        "dropped": result["dropped"],
        "disturbed": result["disturbed"],
        "foreign_cores": shorten(
            max((sample["foreign_cores"] for one in kept for sample in one.values()), default=0)
        ),
        "baseline": result["baseline"],
        "command": " ".join(["./dev bench load", *row.without(missing).arguments()]),
        "missing": missing,
        "servers": servers,
        "ratios": {
            subject: {other: ratios(kept, subject, other) for other in names if other != subject}
            for subject in SUBJECTS
            if subject in names
        },
    }


def micro_result(raw, step):
    cases = []
    for case in raw["cases"]:
        figures, compared = {}, {}
        for name, values in case["values"].items():
            figures[name] = spread([value for value in values if value is not None])
            pairs = zip(values, case["values"].get("Rota", []))
            by_rota = [v / mine for v, mine in pairs if v is not None and mine]
            if name != "Rota" and by_rota:
                compared[name] = spread(by_rota)
        cases.append(
            {"name": case["name"], "unit": case["unit"], "figures": figures, "ratios": compared}
        )
    return {
        "command": " ".join(["./dev bench micro --peers", *step.arguments]),
        "rounds": raw["rounds"],
        "versions": raw["versions"],
        "left_out": raw["left_out"],
        "cases": cases,
    }


def read(file):
    """The JSON in a file; None where there is none, or half of one."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return None


def document(folder, plan, session):
    """All that the raw files in `folder` tell. `session` is what the run itself knows."""
    made = {
        **session,
        "plan": plan.name,
        "planned": [row.id for row in plan.rows],
        "machine": None,
        "versions": {},
        "load": [],
        "micro": None,
        "instructions": None,
    }
    for row in plan.rows:
        raw = read(folder / f"load-{row.id}.json")
        result = raw and load_result(row, raw)
        if not result:
            continue
        made["load"].append(result)
        made["machine"] = made["machine"] or raw["machine"]
        # The first that is told: once the page is being written, the checkout is called dirty.
        made["versions"] = {**{k: v for k, v in raw["versions"].items() if v}, **made["versions"]}
    micro = read(folder / "micro.json")
    if micro:
        made["micro"] = micro_result(micro, plan.micro)
        made["versions"]["compiler"] = micro["programs"]["Rota"]["compiler"]
    counted = read(folder / "instructions.json")
    if counted:
        made["instructions"] = {"command": "./dev bench instructions", **counted}
    return made


def compact_json(value, indent=0):
    """JSON with a line for each innermost list or object, so that changes can be read."""
    inner = "  " * (indent + 1)
    text = json.dumps(value)
    if not isinstance(value, (dict, list)) or not value or len(text) + len(inner) <= 100:
        return text
    if isinstance(value, dict):
        items = [f"{json.dumps(k)}: {compact_json(v, indent + 1)}" for k, v in value.items()]
        start, end = "{}"
    else:
        items = [compact_json(item, indent + 1) for item in value]
        start, end = "[]"
    return f"{start}\n{inner}" + f",\n{inner}".join(items) + "\n" + "  " * indent + end
