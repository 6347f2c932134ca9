"""Lines of memory that move between threads for a request: rota-http with lines.cpp in it."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import counters
import growth
import generators
from error import BenchError
from workloads import Workload

PLACES_SHOWN = 8


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
    if after.lost or after.threads > counters.THREADS:
        raise BenchError(f"{after.lost} lines and places, or {after.threads} threads, are too many "
                         "for lines.cpp")
    return after.since(before), answered.answers


def parse_places(said, codes, root):
    """{code: "file:line"} from what addr2line says: the innermost place that is no library's."""
    names = {}
    for code, block in zip(codes, re.split(r"^0x[0-9a-f]+$", said, flags=re.M)[1:]):
        frames = [os.path.normpath(line.split(" (")[0]) for line in block.strip().splitlines()]
        ours = [frame for frame in frames if frame.startswith(f"{root}/")]
        names[code] = (ours or frames or [hex(code)])[0].removeprefix(f"{root}/")
    return names


def name_places(program, codes):
    words = ["addr2line", "-e", str(program), "-a", "-i", *map(hex, codes)]
    try:
        said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
    except (OSError, subprocess.SubprocessError):
        said = ""
    return {code: hex(code) for code in codes} | parse_places(said, codes, growth.ROOT)


def busiest(moved, program):
    """[(moves, needless, where)], most first; and behind them the others with most needless."""
    names = name_places(program, list(moved.places))
    lines = {}
    for code, counts in moved.places.items():
        before = lines.get(names[code], (0, 0))
        lines[names[code]] = tuple(map(sum, zip(before, counts)))
    top = sorted(lines.items(), key=lambda item: -item[1][0])[:PLACES_SHOWN]
    needless = sorted(lines.items(), key=lambda item: -item[1][1])[:PLACES_SHOWN]
    top += [item for item in needless if item not in top and item[1][1] > 0]
    return [(moves, needless, where) for where, (moves, needless) in top]
