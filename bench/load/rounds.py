"""Interleaved rounds: every server in turn under the same load, again and again."""

import json
import os
import resource
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import procfs
from error import BenchError

ANSWER_TIMEOUT_SECONDS = 5
RATIOS = ("requests_per_second", "p50_us", "p99_us", "cpu_us_per_request")
FIGURES = (
    *RATIOS,
    "user_us_per_request",
    "system_us_per_request",
    "switches_per_request",
    "server_cores",
    "load_cores",
)


@dataclass
class Sample:
    """What one server did in one round."""

    requests: int
    requests_per_second: float
    p50_us: float
    p99_us: float
    max_us: float
    cpu_us_per_request: float
    user_us_per_request: float
    system_us_per_request: float
    switches_per_request: float
    server_cores: float  # how many cores it kept busy
    load_cores: float  # how many wrk did
    foreign_cores: float  # how many something else did
    errors: int


@dataclass
class Settings:
    seconds: float
    rounds: int
    repeats: int  # rounds that may be dropped, for each workload
    warmup: float
    foreign_cores_max: float
    server_cores: set | None  # None: not pinned
    load_cores: set | None
    watched_cores: set  # where foreign load matters


def parse_wrk(output):
    """The JSON line that wrk.lua prints."""
    for line in output.splitlines():
        if line.startswith("result "):
            return json.loads(line[len("result ") :])
    raise BenchError("wrk printed no result:\n" + output.strip())


def wrk_command(url, workload, seconds, threads):
    command = ["wrk", f"--threads={threads}", f"--connections={workload.connections}"]
    command += [f"--duration={max(1, round(seconds))}s", f"--timeout={ANSWER_TIMEOUT_SECONDS}s"]
    return [*command, f"--script={Path(__file__).with_name('wrk.lua')}", url]


def run_wrk(url, workload, seconds, cores):
    """What wrk measured, and the CPU seconds that it needed itself."""
    threads = 1 if cores else min(workload.connections, len(os.sched_getaffinity(0)))
    command = wrk_command(url, workload, seconds, threads)
    told = {
        "BENCH_CONNECTIONS": str(workload.connections),
        "BENCH_DEPTH": str(workload.depth),
        "BENCH_UPLOAD": str(workload.upload),
        "BENCH_CLOSE": "yes" if workload.close else "no",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **told},
            timeout=seconds + 2 * ANSWER_TIMEOUT_SECONDS + 10,
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{url}: wrk does not end") from error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        raise BenchError(f"{url}: wrk: {(run.stderr or run.stdout).strip()}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return parse_wrk(run.stdout), used


def measure(running, workload, settings):
    """One server under load for settings.seconds."""
    begin = time.monotonic()
    idle = procfs.idle_seconds(settings.watched_cores)
    earlier = running.usage()
    url = running.server.url(workload)
    result, load_seconds = run_wrk(url, workload, settings.seconds, settings.load_cores)
    later = running.usage()
    idle = procfs.idle_seconds(settings.watched_cores) - idle
    elapsed = time.monotonic() - begin
    busy = elapsed * len(settings.watched_cores) - idle
    cpu = later.cpu_since(earlier)
    user, system = later.split_since(earlier)
    requests = result["requests"]
    if requests == 0:
        running.fail("answered no request under load")
    batches = requests / workload.depth
    if abs(result["latencies"] - batches) > workload.connections + batches / 100:
        raise BenchError(f"wrk gives {result['latencies']} latencies for {requests} requests")
    return Sample(
        requests=requests,
        requests_per_second=requests / result["duration_us"] * 1e6,
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
        max_us=result["max_us"],
        cpu_us_per_request=cpu / requests * 1e6,
        user_us_per_request=user / requests * 1e6,
        system_us_per_request=system / requests * 1e6,
        switches_per_request=later.switches_since(earlier) / requests,
        server_cores=cpu / elapsed,
        load_cores=load_seconds / elapsed,
        foreign_cores=(busy - cpu - load_seconds) / elapsed,
        errors=sum(result["errors"].values()),
    )


def disturbance(taken):
    return max(sample.foreign_cores for sample in taken.values())


def choose(taken, wanted, limit):
    """The rounds that count: the undisturbed ones, then the least disturbed, in their order."""
    best = sorted(taken, key=lambda one: max(0.0, disturbance(one) - limit))[:wanted]
    return [one for one in taken if one in best]


def run_workload(servers, workload, settings, say):
    """Rounds until enough are undisturbed or no repeat is left; the rounds and how it went."""
    for running in servers:
        url = running.server.url(workload)
        run_wrk(url, workload, settings.warmup, settings.load_cores)
    taken, clean = [], 0
    while clean < settings.rounds and len(taken) < settings.rounds + settings.repeats:
        taken.append(
            {running.server.name: measure(running, workload, settings) for running in servers}
        )
        foreign = disturbance(taken[-1])
        undisturbed = foreign <= settings.foreign_cores_max
        clean += undisturbed
        note = "" if undisturbed else f", disturbed: {foreign:.2f} cores of foreign load"
        say(f"{workload.name}: round {len(taken)} ({clean} of {settings.rounds}){note}")
    kept = choose(taken, settings.rounds, settings.foreign_cores_max)
    disturbed = sum(disturbance(one) > settings.foreign_cores_max for one in kept)
    return kept, {"dropped": len(taken) - len(kept), "disturbed": disturbed}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summarize(kept, names, baseline):
    """Per server: each figure's median, and the ratio to the baseline, taken round by round."""
    summary = {}
    for name in names:
        figures = {
            figure: spread([getattr(one[name], figure) for one in kept]) for figure in FIGURES
        }
        figures["errors"] = sum(one[name].errors for one in kept)
        figures["ratio"] = {}
        if baseline in names:
            for figure in RATIOS:
                pairs = [(getattr(o[name], figure), getattr(o[baseline], figure)) for o in kept]
                ratios = [mine / theirs for mine, theirs in pairs if theirs]
                if ratios:
                    figures["ratio"][figure] = spread(ratios)
        summary[name] = figures
    return summary


def as_json(kept):
    return [{name: asdict(sample) for name, sample in one.items()} for one in kept]
