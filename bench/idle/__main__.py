"""What many idle connections cost a server: python3 bench/idle --help."""

import argparse
import datetime
import json
import os
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench/load"))

import generators  # noqa: E402
import plan  # noqa: E402
import procfs  # noqa: E402
import servers  # noqa: E402
import table  # noqa: E402
from crowd import Crowd, read_free_descriptors, read_meminfo  # noqa: E402
from error import BenchError  # noqa: E402
from workloads import Workload  # noqa: E402

BUSY = 16
AT_ONCE = 10_000
TRIES = 3
GIB_KIB = 1 << 20


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench idle",
        description="Opens many connections that have made one request each and then keep silent, "
        "and measures what they cost rota-http and nginx: memory, CPU, and the latency of a busy "
        "few beside them. As many servers and clients as the limit of descriptors demands.",
    )
    add = parser.add_argument
    add("--connections", type=int, default=100_000, metavar="N", help="default: %(default)s")
    add("--seconds", type=float, default=10, metavar="S",
        help="how long CPU and latency are measured, each (default: %(default)g)")
    add("--no-nginx", action="store_true", help="Rota alone")
    add("--websockets", action="store_true",
        help="the connections are WebSockets, which answer pings; Rota alone")
    add("--ping-after", default="30s", metavar="TIME",
        help="of silence; what a ping costs is not what memory an idle client does "
        "(default: %(default)s)")
    add("--most", action="store_true",
        help="then doubles the number with Rota until memory, descriptors or addresses run out")
    add("--floor", type=float, default=4, metavar="GIB",
        help="memory that has to stay available (default: %(default)g)")
    add("--minutes", type=float, default=10, metavar="M",
        help="how long --most goes on (default: %(default)g)")
    add("--warm", type=int, default=1_000, metavar="N",
        help="connections to each server before memory is looked at (default: %(default)s)")
    add("--rota", default=ROOT / "build/apps/http/rota-http", type=Path, metavar="PATH",
        help="the sample app (default: %(default)s)")
    add("--crowd", default=ROOT / "build/bench/rota-crowd", type=Path, metavar="PATH",
        help="the client (default: %(default)s)")
    add("--option", action="append", default=[], metavar="TEXT",
        help="an option of rota-http, as --option=--backend=epoll; as often as wanted")
    add("--json", type=Path, metavar="FILE", help="also write the figures there")
    options = parser.parse_args()
    if not 1 <= options.connections <= 4_000_000:
        parser.error("--connections: from 1 to 4000000")
    if not 1 <= options.seconds <= 600:
        parser.error("--seconds: from 1 to 600")
    if not 0.5 <= options.floor <= 1024:
        parser.error("--floor: from 0.5 to 1024 GiB")
    if not 0.1 <= options.minutes <= 600:
        parser.error("--minutes: from 0.1 to 600")
    if not 1 <= options.warm <= 20_000:
        parser.error("--warm: from 1 to 20000")
    options.rota, options.crowd = options.rota.resolve(), options.crowd.resolve()
    options.floor_kib = int(options.floor * GIB_KIB)
    options.no_nginx = options.no_nginx or options.websockets
    options.say = say
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def check_room(options):
    """Raises BenchError if the connections would take more than the machine has."""
    for tool in (options.rota, options.crowd, "wrk"):
        if not shutil.which(str(tool)):
            raise BenchError(f"{tool} is not there: ./dev bench idle builds what is ours and "
                             "installs wrk")
    need = int(options.connections * plan.PAIR_KIB_LEAST * plan.SAFETY)
    if read_meminfo()[0] - need < options.floor_kib:
        raise BenchError(f"{options.connections} connections take {need // 1024} MiB or more: less "
                         f"than {options.floor:g} GiB would be left")
    if read_free_descriptors() < 2 * options.connections + plan.DESCRIPTORS_SPARE:
        raise BenchError("the system has not so many descriptors (fs.file-max)")


def busy(crowd, seconds, document):
    """What 16 busy connections to the first server see."""
    workload = Workload(BUSY)
    one = crowd.running[0]
    one.usage()  # it still runs
    for left in reversed(range(TRIES)):  # wrk loses count where it is kept from the core too long
        try:
            load = generators.run_wrk(one.server, workload, seconds, os.sched_getaffinity(0), ())
            break
        except BenchError:
            if not left:
                raise
    if load.errors:
        document["remarks"].append(f"{one.server.name}: {load.errors} errors under load")
    return {key: value for key, value in asdict(load).items() if value is not None}


def memory_of(crowd, held, before):
    """What `held` connections take, beside (servers, kernel) of KiB before."""
    idle_kib = crowd.private_kib()
    available_kib, kernel_kib = read_meminfo()
    return {
        "held": held,
        "servers": len(crowd.running),
        "before_kib": before[0],
        "idle_kib": idle_kib,
        "bytes_each": (idle_kib - before[0]) * 1024 / held,
        "whole_bytes_each": idle_kib * 1024 / held,
        "kernel_before_kib": before[1],
        "kernel_kib_each": (kernel_kib - before[1]) / held,
        "available_kib": available_kib,
    }


def measure(crowd, options, document):
    """The result of one kind of server; its connections stay."""
    groups = plan.groups(options.connections, crowd.most)
    crowd.start(groups)
    say(f"{crowd.name}: the busy few alone")
    alone = busy(crowd, options.seconds, document)
    crowd.settle()
    before = crowd.private_kib(), read_meminfo()[1]
    say(f"{crowd.name}: opening {options.connections} connections")
    held, why = crowd.open(groups)
    if why:
        document["remarks"].append(f"{crowd.name}: {held} connections only: {why}")
    if not held:
        raise BenchError(f"{crowd.name}: no connection: {why}")
    if not crowd.settle():
        document["remarks"].append(f"{crowd.name}: the servers did not become quiet")
    result = {"name": crowd.name, **memory_of(crowd, held, before)}
    say(f"{crowd.name}: {held} held, {result['bytes_each']:.0f} bytes each")
    result["cpu_percent"] = 100 * crowd.cpu_seconds(options.seconds) / options.seconds
    result["cpu_percent_per_100k"] = result["cpu_percent"] * 100_000 / held
    result["alone"] = alone
    result["beside"] = busy(crowd, options.seconds, document)
    result["at_once"], result["at_once_seconds"] = crowd.ask(min(AT_ONCE, held))
    return result


def go_on(crowd, first):
    """Doubles the connections of `crowd` while there is room."""
    held, before_kib = first["held"], first["before_kib"]
    steps = [first]
    until = time.monotonic() + 60 * crowd.options.minutes
    while True:
        if time.monotonic() > until:
            why = "time (--minutes)"
            break
        last = steps[-1]
        room = plan.Room(read_meminfo()[0], crowd.options.floor_kib, read_free_descriptors(),
                         plan.SOURCES - len(crowd.running))
        kib_each = last["kernel_kib_each"] + last["whole_bytes_each"] / 1024
        more, why = plan.next_step(held, kib_each, room, crowd.most)
        if not more:
            break
        say(f"{crowd.name}: {more} more")
        groups = plan.groups(more, crowd.most, len(crowd.running))
        already = crowd.private_kib()
        crowd.start(groups)
        before_kib += crowd.private_kib() - already
        opened, stopped = crowd.open(groups, until)
        held += opened
        crowd.settle()
        if opened:
            steps.append(memory_of(crowd, held, (before_kib, first["kernel_before_kib"])))
        why = stopped or why
        if why:
            break
    return {"held": held, "why": why, "steps": steps}


def measure_all(options, names, document, folder):
    most = plan.capacity(document["descriptors_per_process"])
    for name in names:
        with Crowd(name, options, folder, most) as crowd:
            result = measure(crowd, options, document)
            further = go_on(crowd, result) if options.most and name == "rota" else None
            result["lost"] = lost = crowd.count_lost()
            say(f"{name}: drains")
            result["drain_seconds"] = crowd.drain()
        if further:
            document["most"] = {**further, "lost": lost}
        document["results"].append(result)
        if options.json:  # after each: an interrupted run leaves what it has
            options.json.write_text(json.dumps(document, indent=2) + "\n")


def raise_descriptors(connections):
    """Those that the servers and the clients may have each, for one of each if that can be."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = int(Path("/proc/sys/fs/nr_open").read_text())
    wanted = max(hard, min(connections + 2 * plan.RESERVED, most))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))  # root may
    except (OSError, ValueError):
        wanted = hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return wanted


def run(options):
    check_room(options)
    hard = raise_descriptors(options.connections)
    names = ["rota"] + ([] if options.no_nginx or not shutil.which("nginx") else ["nginx"])
    version = ["nginx", "-v"] if "nginx" in names else None
    document = {
        "command": shlex.join(["./dev", "bench", "idle", *sys.argv[1:]]),
        "when": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": procfs.machine(),
        "load_average": os.getloadavg()[0],
        "versions": {
            "rota": servers.version_of(servers.Server("rota", [], version=[str(options.rota),
                                                                           "--version"])),
            "nginx": servers.version_of(servers.Server("nginx", [], version=version)),
        },
        "connections": options.connections,
        "seconds": options.seconds,
        "descriptors_per_process": hard,
        "servers": len(plan.groups(options.connections, plan.capacity(hard))),
        "remarks": [],
        "results": [],
    }
    if not options.no_nginx and "nginx" not in names:
        document["remarks"].append("nginx is not there")
    with tempfile.TemporaryDirectory(prefix="rota-idle-") as folder:
        os.chmod(folder, 0o711)  # nginx gives up being root and reads in it
        measure_all(options, names, document, folder)
    lines = table.heading_lines(document)
    lines += table.result_lines(document["results"], options.seconds)
    if "most" in document:
        lines += table.most_lines(document["most"])
    print("\n".join(lines), flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all processes are stopped
    options = parse_arguments()
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin"  # nginx; not everybody's path has them
    try:
        run(options)
    except (BenchError, OSError) as error:
        say(f"bench: error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
