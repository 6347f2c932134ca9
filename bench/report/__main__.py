"""All figures, tables and charts of bench/results: python3 bench/report --help."""

import argparse
import datetime
import json
import signal
import sys
import time
from pathlib import Path

import charts
import compact
import measure
import peers
import plan as plans
import tables
import targets

ROOT = Path(__file__).resolve().parents[2]
RESULTS = "results.json"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/report",
        description="Measures all that is in a plan, and writes tables and charts of it.",
    )
    add = parser.add_argument
    add("--build", default=ROOT / "build", type=Path, metavar="FOLDER",
        help="where ours has been built, and where peers and single figures go "
        "(default: %(default)s)")
    add("--out", type=Path, metavar="FOLDER",
        help="where the page goes (default: bench/results; with --quick the build's)")
    add("--from", dest="source", type=Path, metavar="FOLDER",
        help="measure nothing: write the page anew from the results.json there, or from the single "
        "figures that a run has left (bench/raw of the build)")
    add("--quick", action="store_true",
        help="a few short rounds, under 3 minutes: do the tools work")
    add("--only", metavar="NAMES", help="comma-separated rows of plan.json, micro, instructions: "
        "measure only these anew, and keep what there is of the others")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if not options.out:
        options.out = options.build / "bench/results" if options.quick else ROOT / "bench/results"
    return options


def write(document, folder):
    """The page, its charts and results.json; charts without figures are taken away."""
    document["targets"] = targets.evaluate(document)
    texts, titles = charts.draw(document)
    folder.mkdir(parents=True, exist_ok=True)
    for chart in charts.files():
        if chart not in texts:
            (folder / chart).unlink(missing_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text)
    (folder / "README.md").write_text(tables.page(document, titles))
    (folder / RESULTS).write_text(compact.compact_json(document) + "\n")


def render(options):
    """The page from what has been measured before."""
    document = compact.read(options.source / RESULTS)
    if not document:
        session = compact.read(options.source / "session.json")
        if not session:
            print(f"bench: error: neither {RESULTS} nor session.json in {options.source}",
                  file=sys.stderr)
            return 1
        document = compact.document(options.source, plans.load(session["plan"]), session)
    write(document, options.out)
    return 0


def told_of(session, plan, begun):
    """What the files of the single parts do not tell."""
    return {
        "command": "./dev bench" + (" --quick" if plan.name == "quick" else ""),
        "plan": plan.name,
        "when": begun.isoformat(timespec="seconds"),
        "took_seconds": round(session.elapsed()),
        "left_out": session.left_out,
        "failed": {name: session.public(why) for name, why in session.failed.items()},
    }


def joined(told, before, only):
    """With what an earlier run tells of the rows that this one leaves as they are."""
    failed = {name: why for name, why in before.get("failed", {}).items() if name not in only}
    left_out = {**before.get("left_out", {}), **told["left_out"]}
    failed |= told["failed"]
    took = before.get("took_seconds", 0) + told["took_seconds"]
    return {**told, "took_seconds": took, "left_out": left_out, "failed": failed}


def run(options):
    begun = datetime.datetime.now().astimezone()
    plan = plans.load("quick" if options.quick else "full")
    folder = options.build / ("bench/raw-quick" if options.quick else "bench/raw")
    folder.mkdir(parents=True, exist_ok=True)
    rota = options.build / "apps/http/rota-http"
    names = list(dict.fromkeys(name for row in plan.rows for name in row.servers))
    clock = time.monotonic()
    measure.say("building the peers")
    left_out = peers.build(options.build / "bench/peers")
    absent = peers.absent(names, rota, options.build, left_out)
    for name, why in absent.items():
        measure.say(f"{name}: {why}")
    session = measure.Session(plan, folder, rota, options.build, absent)
    session.begun = clock
    only = options.only.split(",") if options.only else None
    unknown = set(only or ()) - {name for name, _, _ in session.steps()}
    if unknown:
        print(f"bench: error: --only: {', '.join(sorted(unknown))} unknown", file=sys.stderr)
        return 1
    before = (compact.read(folder / "session.json") or {}) if only else {}
    for name, _, _ in session.steps():
        if only is None or name in only:
            for file in (folder / f"load-{name}.json", folder / f"{name}.json"):
                file.unlink(missing_ok=True)

    def keep():
        told = told_of(session, plan, begun)
        if only:
            told = joined(told, before, only)
        (folder / "session.json").write_text(json.dumps(told, indent=2) + "\n")
        write(compact.document(folder, plan, told), options.out)

    try:
        session.run(keep, only)
    except measure.Interrupted:
        measure.say("interrupted; what there is has been kept")
        keep()
        return 130
    measure.say(f"took {measure.in_words(session.elapsed())}; see {options.out}/README.md")
    return 1 if session.failed else 0


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, interrupt)
    options = parse_arguments()
    try:
        return render(options) if options.source else run(options)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
