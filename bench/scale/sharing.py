"""Lines of memory that move between threads for a request: rota-http with lines.cpp in it."""

import os
import subprocess
import tempfile
from pathlib import Path

import counters
import growth
import generators
from error import BenchError
from workloads import Workload

PLACES_SHOWN = 12


def measure(rota, build, topology, workers, seconds):
    """(moves, requests) of one run."""
    with tempfile.TemporaryDirectory(prefix="rota-scale-") as folder:
        file = Path(folder, "lines")
        os.environ["ROTA_LINES"] = str(file)
        try:
            with growth.start(rota, build, topology, workers, folder) as running:
                load = Workload(growth.CONNECTIONS)
                generators.run_wrk(running.server, load, growth.WARMUP_SECONDS, None, [])
                if not file.exists():
                    raise BenchError(f"{rota} does not count: ./dev bench scale builds one")
                before = counters.parse(file.read_bytes())
                answered, _ = growth.ask(running, seconds)
                after = counters.parse(file.read_bytes())
        finally:
            del os.environ["ROTA_LINES"]
    return after.since(before), answered.answers


def name_places(program, codes):
    """What addr2line says of them: {code: function}."""
    words = ["addr2line", "-e", str(program), "-f", "-C", "-s", *map(hex, codes)]
    try:
        said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    except (OSError, subprocess.SubprocessError):
        return {code: hex(code) for code in codes}
    lines = said.splitlines()
    return {code: f"{name.partition('(')[0]} {where}"
            for code, name, where in zip(codes, lines[::2], lines[1::2])}


def busiest(moved, program):
    """[(moves, needless, where)], most first."""
    top = sorted(moved.places.items(), key=lambda item: -item[1][0])[:PLACES_SHOWN]
    names = name_places(program, [code for code, _ in top])
    return [(moves, needless, names[code]) for code, (moves, needless) in top]
