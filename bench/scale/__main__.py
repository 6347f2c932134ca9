"""What grows with workers, and what more cores would bring: python3 bench/scale --help."""

import argparse
import datetime
import os
import signal
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(1, str(HERE.parent / "load"))

import growth  # noqa: E402
import model  # noqa: E402
import procfs  # noqa: E402
import sharing  # noqa: E402
import table  # noqa: E402
from error import BenchError  # noqa: E402


def numbers(text):
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: numbers with commas between them") from error
    if not found or min(found) < 1 or max(found) > 256:
        raise argparse.ArgumentTypeError(f"{text!r}: each is 1 to 256")
    return found


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/scale",
        description="Measures what a request costs rota-http as it has more workers, by what its "
        "threads are for; counts the lines of memory that move between threads; and says what "
        "follows for machines with more cores. Exits 1 where 64 workers cost more than is allowed.",
    )
    add = parser.add_argument
    add("--build", default=ROOT / "build", type=Path, metavar="FOLDER",
        help="a release build (default: %(default)s)")
    add("--counting", default=ROOT / "build-scale", type=Path, metavar="FOLDER",
        help="a build with lines.cpp in it (default: %(default)s)")
    add("--workers", type=numbers, default=[1, 2, 4, 8, 16, 32, 64], metavar="N,N...")
    add("--counted", type=numbers, default=[2, 8, 32], metavar="N,N...",
        help="numbers of workers for the lines (default: 2,8,32)")
    add("--topology", action="append", choices=growth.TOPOLOGIES, help="only this one")
    add("--rounds", type=int, default=5)
    add("--seconds", type=float, default=1.0, help="of each run (default: %(default)s)")
    add("--limit", type=float, default=1.1, metavar="RATIO",
        help="what most workers may cost by as many as cores (default: %(default)s)")
    add("--out", type=Path, metavar="FILE", help="also write the tables there")
    return parser.parse_args()


def conditions():
    made = procfs.machine()
    return (f"{made['cpu']}, {made['cores']} cores, {made['kernel']}; "
            f"{datetime.date.today().isoformat()}")


def run(options):
    topologies = options.topology or list(growth.TOPOLOGIES)
    cores = len(os.sched_getaffinity(0))
    counts = sorted({*options.workers, cores})
    program = options.build / "apps/http/rota-http"
    samples = growth.measure(program, options.build, topologies, counts, options.rounds,
                             options.seconds)
    grown = {key: growth.median(taken) for key, taken in samples.items()}
    counting = options.counting / "apps/http/rota-http"
    moved = {}
    for topology in topologies:
        for workers in options.counted:
            moved[topology, workers] = sharing.measure(counting, options.counting, topology,
                                                       workers, options.seconds)
    text = table.document(conditions(), cores, grown, moved, counting, options)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")
    dear = table.too_dear(grown, cores, max(counts), options.limit)
    for line in dear:
        print(f"scale: {line}", file=sys.stderr)
    return 1 if dear else 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers are stopped
    try:
        return run(parse_arguments())
    except BenchError as error:
        print(f"scale: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
