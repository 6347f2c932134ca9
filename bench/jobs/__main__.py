"""The job queue beside Redis and PostgreSQL: python3 bench/jobs --help."""

import argparse
import datetime
import json
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench/load"))

import measure  # noqa: E402
import procfs  # noqa: E402
import queues  # noqa: E402
import servers  # noqa: E402
import table  # noqa: E402
from error import BenchError  # noqa: E402


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench jobs",
        description="Adds, takes and acknowledges jobs at rota-http with each of its stores, at "
        "Redis and at PostgreSQL, in turn; then memory for each job, and what a cycle costs beside "
        "a backlog. Writes jobs.md, and jobs.json with all figures.",
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="a little of each, into build/bench/results")
    add("--only", metavar="NAMES", default=",".join(measure.SECTIONS),
        help="comma-separated, of %(default)s; the others stay as they were measured before")
    add("--out", type=Path, metavar="FOLDER", help="where to write (default: bench/results)")
    add("--seconds", type=float, metavar="S", help="length of a measurement (default: 2)")
    add("--rounds", type=int, metavar="N", help="default: 5")
    add("--clients", type=numbers, metavar="LIST", help="default: 1,16,256")
    add("--payload", type=int, default=100, metavar="BYTES", help="default: %(default)s")
    add("--memory-jobs", type=int, metavar="N", help="default: 100000")
    add("--backlogs", type=numbers, metavar="LIST", help="default: 1000,100000,1000000")
    add("--pin", action=argparse.BooleanOptionalAction, default=True,
        help="queues on one core, clients on another (default: pinned)")
    add("--no-postgres", action="store_true", help="without PostgreSQL")
    add("--no-redis", action="store_true", help="without Redis")
    add("--folder", type=Path, default=Path("/tmp"), metavar="FOLDER",
        help="where the queues' files are (default: %(default)s)")
    add("--rota", default=ROOT / "build/apps/http/rota-http", type=Path, metavar="PATH",
        help="the sample app (default: %(default)s)")
    add("--jobload", default=ROOT / "build/bench/rota-jobload", type=Path, metavar="PATH",
        help="the clients (default: %(default)s)")
    options = parser.parse_args()
    options.only = options.only.split(",")
    unknown = set(options.only) - set(measure.SECTIONS)
    if unknown:
        parser.error(f"--only: {', '.join(unknown)} unknown")
    if max(options.clients or [0]) > queues.CLIENTS_MAX:
        parser.error(f"--clients: at most {queues.CLIENTS_MAX}")
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def make_settings(options, folder):
    quick = options.quick
    server, load, watched = measure.cores_of(options.pin)
    return measure.Settings(
        seconds=options.seconds or (0.5 if quick else 2),
        rounds=options.rounds or (1 if quick else 5),
        clients=options.clients or [1, 16, 256],
        payload=options.payload,
        memory_jobs=options.memory_jobs or (10_000 if quick else 100_000),
        backlogs=options.backlogs or ([1_000, 10_000] if quick else [1_000, 100_000, 1_000_000]),
        rota=options.rota.resolve(),
        jobload=options.jobload.resolve(),
        folder=folder,
        server_cores=server,
        load_cores=load,
        watched_cores=watched,
        redis=not options.no_redis and shutil.which("redis-server") is not None,
        say=say,
    )


def filesystem_of(folder):
    """Durability is worth what is below it."""
    said = subprocess.run(["stat", "--file-system", "--format=%T", folder], capture_output=True,
                          text=True, check=False).stdout.strip()
    return said or "an unknown file system"


def rota_version():
    if not shutil.which("git"):
        return ""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()


def version_of(*command):
    return servers.version_of(servers.Server(command[0], [], version=list(map(str, command))))


def describe(options, settings, postgres):
    programs = postgres and postgres.programs
    return {
        "machine": procfs.machine(),
        "filesystem": filesystem_of(settings.folder),
        "versions": {
            "rota": rota_version(),
            "Redis": settings.redis and version_of("redis-server", "--version"),
            "PostgreSQL": programs and version_of(programs / "postgres", "--version"),
        },
        "quick": options.quick,
    }


def earlier_sections(path):
    try:
        return json.loads(path.read_text())["sections"]
    except FileNotFoundError:
        return {}


def postgres_for(options, settings, remarks):
    if options.no_postgres:
        remarks.append("without PostgreSQL")
        return nullcontext()
    with queues.on_cores(settings.server_cores):
        return queues.postgres_or_none(remarks)


def measure_section(name, settings, postgres, remarks):
    has_store = postgres is not None and queues.knows_postgres(settings.rota)
    if postgres and not has_store:
        remarks.append("rota-http has been built without PostgreSQL")
    found = measure.SECTIONS[name](settings, postgres, has_store)
    return {**found, "when": datetime.date.today().isoformat(),
            "pinned": settings.server_cores is not None}


def run(options):
    out = options.out or ROOT / ("build/bench/results" if options.quick else "bench/results")
    out.mkdir(parents=True, exist_ok=True)
    remarks = []
    sections = earlier_sections(out / "jobs.json")
    with tempfile.TemporaryDirectory(prefix="rota-bench-", dir=options.folder) as folder:
        settings = make_settings(options, Path(folder))
        if not settings.redis:
            remarks.append("without Redis")
        with postgres_for(options, settings, remarks) as postgres:
            for name in options.only:
                sections[name] = measure_section(name, settings, postgres, remarks)
                document = {**describe(options, settings, postgres), "sections": sections,
                            "remarks": list(dict.fromkeys(remarks))}
                # After each: an interrupted run leaves what it has.
                (out / "jobs.json").write_text(json.dumps(document, indent=1) + "\n")
                (out / "jobs.md").write_text("\n".join(table.document_lines(document)) + "\n")
    print("\n".join(table.document_lines(document)), flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all processes are stopped
    options = parse_arguments()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        run(options)
    except (BenchError, OSError, RuntimeError) as error:
        say(f"bench: error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
