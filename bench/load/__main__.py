"""Servers under load, in interleaved rounds: python3 bench/load --help."""

import argparse
import datetime
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import answers
import procfs
import report
import rounds
import syscalls
from error import BenchError
from rounds import Settings
from servers import Running, known_servers, make_certificate, parse_server, version_of
from workloads import (
    CONNECTIONS,
    CONNECTIONS_OF_ALL,
    MESSAGES,
    NAMED,
    SPIN,
    STREAMS,
    parse_workloads,
)

ROOT = Path(__file__).resolve().parents[2]
BASELINE = "nginx"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/load",
        description="Runs servers under load, in turn, and compares what they need.",
    )
    add = parser.add_argument
    add("--rota", default=ROOT / "build/apps/http/rota-http", type=Path, metavar="PATH",
        help="the sample app (default: %(default)s)")
    add("--build", default=ROOT / "build", type=Path, metavar="FOLDER",
        help="where the other programs have been built (default: %(default)s)")
    add("--servers", metavar="NAMES",
        help="comma-separated, of bench/load/servers.json and bench/peers/peers.json "
        "(default: rota,nginx; with --no-pin nginx-reuseport too; target and target-per-worker "
        "if a workload has work for handlers)")
    add("--server", action="append", default=[], metavar="NAME=COMMAND@PORT/PATH",
        help="adds another one; {workers} in the command is filled in, and {port} if PORT is 0")
    add("--baseline", default=BASELINE, metavar="NAME",
        help="the server that the others are compared with (default: %(default)s)")
    add("--workload", default="plaintext", metavar="NAMES",
        help=f"comma-separated, of {', '.join(NAMED)}, or all; each may be followed by its size, "
        "as in json:256,plaintext:64x16 (default: %(default)s)")
    add("--connections", metavar="LIST",
        help=f"the sizes of plaintext (default: {CONNECTIONS}; of all: {CONNECTIONS_OF_ALL})")
    add("--pipeline", default="64x16", metavar="LIST",
        help="those with pipelining, CONNECTIONSxDEPTH, or none (default: %(default)s)")
    add("--rate", type=float, metavar="N",
        help="requests a second of the workload paced (default: "
        f"{rounds.SHARE_OF_PEAK:.0%}% of what the baseline answers at most, measured before)")
    add("--seconds", type=int, metavar="N", help="length of a measurement (default: 3)")
    add("--rounds", type=int, metavar="N", help="rounds that count (default: 5)")
    add("--pin", action=argparse.BooleanOptionalAction, default=True,
        help="servers with one worker on one core, the load on another; otherwise a worker for "
        "each core, placed by the kernel (default: pinned)")
    add("--foreign", type=float, default=0.10, metavar="CORES",
        help="drop and repeat rounds in which anything else keeps more cores busy than this "
        "(default: %(default)s)")
    add("--repeats", type=int, metavar="N",
        help="how many rounds of a workload may be dropped (default: as many as count)")
    add("--quick", action="store_true", help="two rounds of a second: do the tools work")
    add("--json", type=Path, metavar="FILE", help="also write everything that was measured there")
    return parser.parse_args()


def default_servers(options, workloads):
    names = ["rota", "nginx"] + ([] if options.pin else ["nginx-reuseport"])
    if any(SPIN in workload.needs for workload in workloads):
        names += ["target", "target-per-worker"]
    return ",".join(names)


def choose_servers(options, workloads):
    known = known_servers(options.rota, options.build.resolve())
    names = options.servers or default_servers(options, workloads)
    unknown = [name for name in names.split(",") if name not in known]
    if unknown:
        raise BenchError(f"--servers: {', '.join(unknown)} unknown; there is {', '.join(known)}")
    servers = [known[name] for name in names.split(",")]
    servers += [parse_server(text) for text in options.server]
    if len({server.name for server in servers}) != len(servers):
        raise BenchError("two servers have the same name")
    generators = {generator_of(workload, options) for workload in workloads}
    for tool in [*generators, *(server.command[0] for server in servers)]:
        if not shutil.which(tool):
            raise BenchError(
                f"{tool} is not there: ./dev bench builds what is ours and installs wrk and nginx, "
                "bench/peers/build FOLDER builds the others"
            )
    return servers


def pace_of(options):
    return options.build.resolve() / "bench/rota-pace"


def generator_of(workload, options):
    if workload.paced:
        return str(pace_of(options))
    if workload.over in MESSAGES:
        return str(pace_of(options).with_name("rota-sockets"))
    if workload.resumed:
        return "python3"
    return "h2load" if workload.over in STREAMS else "wrk"


def choose_workloads(options):
    chosen = parse_workloads(options.workload, options.connections, options.pipeline)
    if options.rate is None:
        return chosen
    if not 1 <= options.rate <= 1e6:
        raise BenchError("--rate: from 1 to 1000000 requests a second")
    fixed = [w if w.rate or not w.paced else replace(w, rate=options.rate) for w in chosen]
    if fixed == chosen:
        raise BenchError("--rate is for the workload paced")
    return fixed


def make_settings(options):
    cores = procfs.two_cores() if options.pin else None
    if options.pin and not cores:
        say("one core only: nothing can be pinned")
    quick = options.quick
    count = options.rounds or (2 if quick else 5)
    return Settings(
        seconds=options.seconds or (1 if quick else 3),
        rounds=count,
        repeats=options.repeats if options.repeats is not None else 1 if quick else count,
        warmup=1,
        foreign_cores_max=options.foreign,
        server_cores={cores[0]} if cores else None,
        load_cores={cores[1]} if cores else None,
        watched_cores=set(cores) if cores else os.sched_getaffinity(0),
        pace=pace_of(options),
    )


def rota_version():
    try:
        git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def describe(settings, servers, baseline):
    """All that a reader needs to judge the figures, and to make them again."""
    names = [server.name for server in servers]
    wrk = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False)
    versions = {"rota": rota_version()}
    versions["wrk"] = " ".join((wrk.stdout or wrk.stderr).split()[1:2])
    versions.update({server.name: said for server in servers if (said := version_of(server))})
    plain = {key: sorted(v) if isinstance(v, set) else v for key, v in vars(settings).items()}
    del plain["pace"]
    return {
        "command": shlex.join(["python3", *sys.argv]),
        "when": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": procfs.machine(),
        "versions": versions,
        "baseline": baseline if baseline in names else names[0],
        "settings": {**plain, "pinned": settings.server_cores is not None},
        "servers": [],
        "remarks": [],
        "results": [],
    }


def say(text):
    print(text, file=sys.stderr, flush=True)


def check_all(running, workloads):
    """Remarks on all servers; raises BenchError if one does not answer what it will be asked."""
    remarks = []
    for server in (one.server for one in running):
        if "workers" in server.lacks:
            remarks.append(f"{server.name}: chooses the number of its threads itself")
        for workload in filter(server.can, workloads):
            for part in workload.parts:
                remarks += answers.check(server, part)
    return list(dict.fromkeys(remarks))


def measure(running, workload, settings, baseline):
    """The result of one workload, or None if no server can do it."""
    able = [one for one in running if one.server.can(workload)]
    names = [one.server.name for one in able]
    if not able:
        return None
    against = baseline if baseline in names else names[0]
    workload = rounds.with_rate(workload, able[names.index(against)], settings, say)
    kept, how = rounds.run_workload(able, workload, settings, say)
    summary = rounds.summarize(kept, names, against)
    for one in able:
        count = syscalls.per_request(one, workload, settings)
        summary[one.server.name]["syscalls_per_request"] = count
    return {
        "name": workload.name,
        **{key: value for key, value in asdict(workload).items() if key != "label"},
        "pinned": settings.server_cores is not None,
        "baseline": against,
        "left_out": [one.server.name for one in running if one not in able],
        **how,
        "summary": summary,
        "rounds": rounds.as_json(kept),
    }


def run(options):
    workloads = choose_workloads(options)
    servers = choose_servers(options, workloads)
    settings = make_settings(options)
    document = describe(settings, servers, options.baseline)
    workers = 1 if settings.server_cores else len(os.sched_getaffinity(0))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # for the servers and the load
    print("\n".join(report.heading_lines(document)), flush=True)

    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rota-bench-"))
        os.chmod(folder, 0o711)  # servers that give up being root read their pages in it
        make_certificate(folder)
        running = []
        for server in servers:
            one = Running(server, folder, workers, settings.server_cores)
            running.append(stack.enter_context(one))
            document["servers"].append({"name": server.name, "command": shlex.join(one.command)})
        document["remarks"] = check_all(running, workloads)
        for remark in document["remarks"]:
            print(f"- {remark}", flush=True)
        for workload in workloads:
            result = measure(running, workload, settings, document["baseline"])
            if result is None:
                print(f"\n### {workload.name}: no server that can", flush=True)
                continue
            document["results"].append(result)
            print("\n".join(report.workload_lines(result)), flush=True)
            if options.json:  # after each workload: an interrupted run leaves what it has
                options.json.write_text(json.dumps(document, indent=2) + "\n")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers are stopped
    options = parse_arguments()
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin"  # nginx; not everybody's path has them
    try:
        run(options)
    except BenchError as error:
        say(f"bench: error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
