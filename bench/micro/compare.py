#!/usr/bin/env python3
"""Times the primitives of Rota and of others in turn, and compares.

Builds the peers of peers/peers.json, runs all programs one after the other in several short rounds,
and prints a table: for each case the median of the rounds, and its ratio to Rota's of the same
round. Run by ./dev bench micro --peers.
"""

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACES = "/usr/sbin:/usr/bin:/sbin:/bin"
BUILD_SECONDS = 300
RUN_SECONDS = 120
SHARED = ["harness.cpp", "process.cpp", "program.cpp", "report.cpp"]
HEADERS = ["peers/wake.hpp", "harness.hpp", "process.hpp", "program.hpp", "report.hpp"]
CPP = ["g++", "-std=c++20", "-O3", "-DNDEBUG", "-march=native", "-flto=auto", "-pthread"]
CPP += ["-DFMT_HEADER_ONLY", "-I.", "-Ipeers", *SHARED]
# One look at many routines, 100,000 of them without --quick: taken in that size, a few times.
FULL_ROUNDS = 3
ALL_AT_ONCE = ["memory of a sleeping", "start a routine that sleeps"]


class Failure(Exception):
    """Said to the user as it is."""


def say(text):
    print(f"micro: {text}", file=sys.stderr, flush=True)


def missing(packages):
    """Those that apt has not installed."""
    absent = []
    for package in packages:
        query = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
        try:
            status = subprocess.run(query, capture_output=True, text=True, check=False).stdout
        except OSError as error:
            raise Failure(f"without apt's dpkg-query no peer can be built: {error}") from error
        if status != "installed":
            absent.append(package)
    return absent


def environment(extra=None):
    """With what apt has installed in front, even where somebody has another toolchain there."""
    return {**os.environ, "PATH": f"{PLACES}:{os.environ.get('PATH', '')}", **(extra or {})}


def build(peer, output):
    """The peer's program, built if it is older than what it is made of."""
    program = output / peer["program"]
    sources = [HERE / name for name in [*peer["sources"], "peers/peers.json"]]
    if "{c++}" in peer["build"]:
        sources += [HERE / name for name in SHARED + HEADERS]
    if program.exists() and all(
        source.stat().st_mtime <= program.stat().st_mtime for source in sources
    ):
        return program
    new = output / (peer["program"] + ".new")
    command = []
    for word in peer["build"]:
        command += CPP if word == "{c++}" else [word.replace("{new}", str(new))]
    extra = {k: v.replace("{output}", str(output)) for k, v in peer["environment"].items()}
    say(f"building {peer['name']}")
    done = subprocess.run(
        command, cwd=HERE / peer["folder"], env=environment(extra), check=False,
        stdout=sys.stderr, timeout=BUILD_SECONDS,
    )
    if done.returncode != 0:
        raise Failure(f"{peer['name']} could not be built, see above: {shlex.join(command)}")
    new.replace(program)
    return program


def version(peer):
    done = subprocess.run(
        peer["version"], env=environment(), capture_output=True, text=True, check=False
    )
    return " ".join(done.stdout.split())


def measure(name, program, arguments):
    """What the program writes with these arguments."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.json"
        command = [str(program), *arguments, "--json", str(path)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS
        )
        if done.returncode != 0:
            raise Failure(f"{name}: {shlex.join(command)}: {done.stderr.strip() or 'it died'}")
        return json.loads(path.read_text())


def collect(programs, rounds, only):
    """(settings by program, {case: {"unit", "values": {program: [figure or None of each round]}}})

    The programs take turns, each round from another one on.
    """
    settings, cases = {}, {}
    names = list(programs)
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            document = measure(name, programs[name], ["--quick", "--only", only])
            figures = [
                figure
                for figure in document["figures"]
                if not figure["name"].startswith(tuple(ALL_AT_ONCE))
            ]
            for text in ALL_AT_ONCE if number < FULL_ROUNDS else []:
                full = measure(name, programs[name], ["--only", text])["figures"]
                figures += [figure for figure in full if only in figure["name"]]
            settings.setdefault(name, {k: v for k, v in document.items() if k != "figures"})
            for figure in figures:
                case = cases.setdefault(figure["name"], {"unit": figure["unit"], "values": {}})
                values = case["values"].setdefault(name, [None] * rounds)
                values[number] = figure["median"]
    return settings, cases


def ratio(values, base):
    """The median of the rounds' ratios, None if no round has both."""
    both = [v / b for v, b in zip(values, base) if v is not None and b]
    return statistics.median(both) if both else None


def digits(value):
    """Three that count, or all of a large number."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def summarise(cases, names):
    """Adds medians, spread and ratios to each case."""
    for case in cases.values():
        base = case["values"].get(names[0])
        case["summary"] = {}
        for name, values in case["values"].items():
            known = [value for value in values if value is not None]
            entry = {
                "median": statistics.median(known),
                "lowest": min(known),
                "highest": max(known),
            }
            if base is not None and name != names[0]:
                entry["ratio"] = ratio(values, base)
            case["summary"][name] = entry


def cell(case, name):
    entry = case["summary"].get(name)
    if entry is None:
        return ""
    text = digits(entry["median"])
    return text if entry.get("ratio") is None else f"{text} ({digits(entry['ratio'])}x)"


def table(cases, names):
    rows = [["what", "unit", *names], ["---", "---", *["---:"] * len(names)]]
    for name, case in cases.items():
        if len(case["values"]) > 1:
            rows.append([name, case["unit"], *(cell(case, program) for program in names)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows[1] = ["-" * width if i < 2 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join(
        "| " + " | ".join(
            word.ljust(width) if i < 2 else word.rjust(width)
            for i, (word, width) in enumerate(zip(row, widths))
        ) + " |"
        for row in rows
    )


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rota", required=True, type=Path, help="rota-micro")
    parser.add_argument("--output", required=True, type=Path, help="folder for built peers")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="one round: do they all run")
    parser.add_argument("--only", default="", help="cases with this in their names")
    parser.add_argument("--names", help="peers, separated by commas (default: all)")
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1:
        parser.error("--rounds: at least 1")
    return chosen


def choose(peers, names):
    if names is None:
        return peers
    wanted = names.split(",")
    unknown = set(wanted) - {peer["name"] for peer in peers}
    if unknown:
        raise Failure(f"no peer is called {', '.join(sorted(unknown))}")
    return [peer for peer in peers if peer["name"] in wanted]


def run(chosen, command):
    output = chosen.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    programs, versions, absent = {"Rota": chosen.rota.resolve()}, {}, {}
    for peer in choose(json.loads((HERE / "peers/peers.json").read_text()), chosen.names):
        lacking = missing(peer["packages"])
        if lacking:
            absent[peer["name"]] = lacking
            say(f"{peer['name']}: left out, needs apt-get install {' '.join(lacking)}")
        else:
            programs[peer["name"]] = build(peer, output)
            versions[peer["name"]] = version(peer)
    rounds = 1 if chosen.quick else chosen.rounds
    settings, cases = collect(programs, rounds, chosen.only)
    names = list(programs)
    summarise(cases, names)
    machine = settings["Rota"]["machine"]
    when = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    print(f"- command: `{command}`")
    print(f"- machine: {machine['cpu']}, {machine['cores']} cores; {machine['kernel']}")
    print(f"- versions: {'; '.join(f'{n}: {v}' for n, v in versions.items())}; "
          f"C++ by {settings['Rota']['compiler']}")
    for name, packages in absent.items():
        print(f"- {name} is left out: needs apt-get install {' '.join(packages)}")
    if not settings["Rota"]["optimized"]:
        print("- NOT OPTIMIZED: these figures mean nothing")
    print(f"- {when}; medians of {rounds} interleaved rounds (in brackets: of the rounds' ratios "
          "to Rota; above 1 is slower, or larger)\n")
    print(table(cases, names))
    if chosen.json:
        document = {
            "command": command,
            "when": when,
            "machine": {**machine, "architecture": platform.machine()},
            "rounds": rounds,
            "versions": versions,
            "left_out": absent,
            "programs": settings,
            "cases": [{"name": name, **case} for name, case in cases.items()],
        }
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(document, indent=2) + "\n")


def main(arguments):
    chosen = parse(arguments)
    try:
        run(chosen, shlex.join(["compare.py", *arguments]))
    except (Failure, OSError, subprocess.TimeoutExpired) as error:
        print(f"micro: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
