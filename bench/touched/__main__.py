"""Memory that rota-http touches for a request: python3 bench/touched --help."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Chance has a say in where a server's memory lies: what is above the baseline has to be so in each.
SERVERS_MAX = 3
sys.path.insert(1, str(HERE.parent / "instructions"))  # how the server is asked, and its conditions

import baseline  # noqa: E402
import callgrind  # noqa: E402
import cases  # noqa: E402
import command  # noqa: E402
import figures as table  # noqa: E402
import lines  # noqa: E402
from error import InstructionsError  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/touched",
        description="Counts the lines of memory (64 bytes) that rota-http touches for a connection "
        "that makes a request, beyond those that all connections share, and its references to "
        "data; compares them with the baseline, and shows nginx beside it where it is installed. "
        "Exits 1 if one is above the baseline by more than is allowed.",
    )
    add = parser.add_argument
    add("--rota", default=ROOT / "build/apps/http/rota-http", type=Path, metavar="PATH",
        help="the sample app, of a release build (default: %(default)s)")
    add("--only", metavar="TEXT", help="only the cases that have TEXT in their names")
    add("--no-nginx", action="store_true", help="Rota only")
    add("--update", action="store_true", help="make what is measured the baseline")
    add("--baseline", type=Path, default=HERE / "baseline.json", metavar="FILE",
        help="another baseline")
    add("--profile", type=Path, metavar="FOLDER",
        help="leave there what callgrind_annotate reads, a file for each case: where lines miss")
    add("--limit", type=int, default=300, metavar="SECONDS",
        help="give up after so long (default: %(default)s)")
    add("--json", type=Path, metavar="FILE", help="also write the figures there")
    return parser.parse_args()


def measure(how, which, name, profiles=None):
    print(f"{name}: {', '.join(case.name for case in which)}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="rota-touched-") as folder:
        try:
            return lines.measure(how, which, folder, profiles)
        except (OSError, InstructionsError) as error:
            log = Path(folder, "log")
            tail = log.read_text(errors="replace").strip().splitlines()[-5:] if log.exists() else []
            raise InstructionsError("\n    ".join([f"{name}: {error}", *tail])) from error


def measure_again(options, which, mine, before):
    """The figures, the lowest of several servers for what would be too high."""
    for _ in range(SERVERS_MAX - 1):
        names = {name for name, _ in table.too_high(mine, before)}
        if not names:
            break
        asked = [case for case in which if case.name in names]
        more = measure(callgrind.rota_http(options.rota), asked, "rota, once more")
        mine = table.lowest(mine, more)
    return mine


def run(options):
    if options.update and options.only:
        raise InstructionsError("--update takes all cases, so not with --only")
    for tool in (options.rota, "valgrind", "vgdb"):
        if not shutil.which(tool):
            raise InstructionsError(f"{tool} is not there: ./dev bench builds and installs all")
    which = [case for case in cases.CASES if options.only is None or options.only in case.name]
    if not which:
        raise InstructionsError(f"--only {options.only}: no such case")
    made_with = baseline.conditions(options.rota)
    known = baseline.load(options.baseline)
    if options.profile:
        options.profile.mkdir(parents=True, exist_ok=True)
    differs = baseline.differences(made_with, known["made_with"]) if known else ["there is none"]
    before = {} if differs else known["touched"]
    mine = measure(callgrind.rota_http(options.rota), which, "rota", options.profile)
    if not options.update:
        mine = measure_again(options, which, mine, before)
    nginx = None if options.no_nginx else shutil.which("nginx", path=table.PATH)
    asked = [case for case in which if case.nginx]
    others = measure(lines.nginx(nginx), asked, "nginx") if nginx and asked else {}
    document = table.document(made_with, mine, others)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        baseline.store(options.json, document)
    if options.update:
        baseline.store(options.baseline, table.document(made_with, mine, {}))
    print("\n".join(f"- {key}: {value}" for key, value in made_with.items()), end="\n\n")
    print("\n".join(table.lines(mine, before, others)), flush=True)
    if differs:
        print("\nThese cannot be compared with the baseline:", *differs, sep="\n- ", flush=True)
    worse = table.too_high(mine, before)
    if not worse or options.update:
        return 0
    print("bench: above the baseline:", *(said for _, said in worse), sep="\n  ", file=sys.stderr)
    print("bench: find out why; if it is worth it, --update", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(command.main(parse_arguments, run))
