"""Instructions per request of rota-http under callgrind: python3 bench/instructions --help."""

import argparse
import shutil
import sys
from pathlib import Path

import baseline
import callgrind
import command
import script
from error import InstructionsError

ROOT = Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/instructions",
        description="Counts the instructions that rota-http executes in user space for a request, "
        "and compares them with the baseline. Exits 1 if one is more than "
        f"{baseline.SLACK:.0%} above it, or as much as its script may vary by.",
    )
    add = parser.add_argument
    add("--rota", default=ROOT / "build/apps/http/rota-http", type=Path, metavar="PATH",
        help="the sample app, of a release build (default: %(default)s)")
    add("--only", metavar="TEXT", help="only the scripts that have TEXT in their names")
    add("--update", action="store_true", help="make what is measured the baseline")
    add("--baseline", type=Path, default=Path(__file__).with_name("baseline.json"), metavar="FILE",
        help="another baseline")
    add("--profile", type=Path, metavar="FOLDER",
        help="leave there what callgrind_annotate reads, a file for each script")
    add("--limit", type=int, default=300, metavar="SECONDS",
        help="give up after so long (default: %(default)s)")
    add("--json", type=Path, metavar="FILE", help="also write the figures there")
    return parser.parse_args()


def choose_cases(only):
    cases = [case for case in script.CASES if only is None or only in case.name]
    if not cases:
        raise InstructionsError(f"--only {only}: no such script")
    return cases


def measure(options):
    figures = {}
    for case in choose_cases(options.only):
        profile = None
        if options.profile:
            options.profile.mkdir(parents=True, exist_ok=True)
            profile = options.profile / ("callgrind." + case.name.replace(" ", "-"))
        figures[case.name] = callgrind.per_request(
            callgrind.rota_http(options.rota), case, profile
        )
        print(f"{case.name}: {figures[case.name]:.1f}", file=sys.stderr, flush=True)
    return figures


def run(options):
    if options.update and options.only:
        raise InstructionsError("--update takes all scripts, so not with --only")
    for tool in (options.rota, "valgrind"):
        if not shutil.which(tool):
            raise InstructionsError(f"{tool} is not there: ./dev bench builds and installs all")
    made_with = baseline.conditions(options.rota)
    known = baseline.load(options.baseline)
    figures = measure(options)
    document = baseline.document(made_with, figures)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        baseline.store(options.json, document)
    if options.update:
        baseline.store(options.baseline, document)
    other = baseline.differences(made_with, known["made_with"]) if known else ["there is none"]
    before = {} if other else known["instructions_per_request"]
    print("\n".join(f"- {key}: {value}" for key, value in made_with.items()), end="\n\n")
    print("\n".join(baseline.table(figures, before)), flush=True)
    if other:
        print("\nThese cannot be compared with the baseline:", *other, sep="\n- ", flush=True)
    slack = {case.name: case.slack for case in script.CASES if case.slack}
    worse = baseline.too_high(figures, before, slack)
    if not worse or options.update:
        return 0
    print("bench: above the baseline:", *worse, sep="\n  ", file=sys.stderr)
    print("bench: find out why; if it is worth it, --update", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(command.main(parse_arguments, run))
