"""The programs that make the load: wrk and h2load as fast as answers come, rota-pace at a constant
rate, rota-sockets over WebSockets, resume.py with connections that are resumed."""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from error import BenchError
from workloads import CHAT, MESSAGES, SMALL_FILES, SMALL_FILES_COUNT, STREAMS

ANSWER_TIMEOUT_SECONDS = 5
PACE_WARMUP_SECONDS = 0.3  # within each run, for connections to be accepted
BUSY_MAX = 0.9


@dataclass
class Load:
    """What a generator has seen."""

    answers: int  # all of them, warm-up and heavy ones too
    requests: int  # of them, those that the figures below are about
    requests_per_second: float
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float
    errors: int
    cpu_seconds: float  # that the generator used itself
    heavy_p99_us: float | None = None
    late_mean_us: float | None = None  # how late it was to send what was due
    late_max_us: float | None = None
    late: bool = False  # so late, or so busy, that the figures are the generator's own


def run(command, cores, seconds, environment=None):
    """What `command` prints, and the CPU seconds that it used."""
    name = Path(command[0]).name
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **(environment or {})},
            timeout=seconds + 2 * ANSWER_TIMEOUT_SECONDS + 10,
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{name} does not end") from error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise BenchError(f"{name}: {(done.stderr or done.stdout).strip()}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parse_wrk(output):
    """The JSON line that wrk.lua prints."""
    for line in output.splitlines():
        if line.startswith("result "):
            return json.loads(line[len("result ") :])
    raise BenchError("wrk printed no result:\n" + output.strip())


def run_wrk(server, workload, seconds, cores, prefix):
    threads = 1 if cores else min(workload.connections, len(os.sched_getaffinity(0)))
    command = ["wrk", f"--threads={threads}", f"--connections={workload.connections}"]
    command += [f"--duration={max(1, round(seconds))}s", f"--timeout={ANSWER_TIMEOUT_SECONDS}s"]
    command += [f"--script={Path(__file__).with_name('wrk.lua')}", server.url(workload)]
    told = {
        "BENCH_CONNECTIONS": str(workload.connections),
        "BENCH_DEPTH": str(workload.depth),
        "BENCH_UPLOAD": str(workload.upload),
        "BENCH_CLOSE": "yes" if workload.close else "no",
        "BENCH_FILES": str(SMALL_FILES_COUNT if workload.path.startswith(SMALL_FILES) else 0),
    }
    output, used = run([*prefix, *command], cores, seconds, told)
    result = parse_wrk(output)
    requests = result["requests"]
    batches = requests / workload.depth
    if abs(result["latencies"] - batches) > workload.connections + batches / 100:
        raise BenchError(f"wrk gives {result['latencies']} latencies for {requests} requests")
    return Load(
        answers=requests,
        requests=requests,
        requests_per_second=requests / result["duration_us"] * 1e6,
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
        p999_us=result["p999_us"],
        max_us=result["max_us"],
        errors=sum(result["errors"].values()),
        cpu_seconds=used,
    )


def parse_h2load(output, log):
    """How many were answered, how many a second, percentiles in microseconds, errors.

    A line of the log is of one request: when it began, its status, how many microseconds it took.
    """
    rate = re.search(r"finished in .*?, ([\d.]+) req/s", output)
    counts = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", output)
    if not rate or not counts:
        raise BenchError("h2load printed no result:\n" + output.strip())
    succeeded, *wrong = map(int, counts.groups())
    latencies = sorted(int(line.rsplit("\t", 1)[1]) for line in log.splitlines())
    if len(latencies) < succeeded:
        raise BenchError(f"h2load gives {len(latencies)} latencies for {succeeded} requests")
    at = [latencies[int((len(latencies) - 1) * share)] if latencies else 0
          for share in (0.5, 0.99, 0.999, 1)]
    return succeeded, float(rate[1]), at, sum(wrong)


def run_h2load(server, workload, seconds, cores, prefix):
    threads = 1 if cores else min(workload.connections, len(os.sched_getaffinity(0)))
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="rota-h2load-") as log:
        command = ["h2load", f"--threads={threads}", f"--clients={workload.connections}"]
        command += [f"--max-concurrent-streams={workload.depth}", f"--log-file={log.name}"]
        command += [f"--duration={max(1, round(seconds))}", server.url(workload)]
        output, used = run([*prefix, *command], cores, seconds)
        begin = time.process_time()
        succeeded, rate, (p50, p99, p999, most), wrong = parse_h2load(output, log.read().decode())
        used += time.process_time() - begin  # it is no foreign load
    return Load(succeeded, succeeded, rate, p50, p99, p999, most, wrong, used)


def run_sockets(program, server, workload, seconds, cores, prefix):
    command = [str(program), "--port", server.port, "--path", server.path(workload)]
    command += ["--bytes", workload.upload, "--connections", workload.connections]
    command += ["--depth", workload.depth, "--seconds", max(1, round(seconds))]
    command += ["--chat"] * (workload.over == CHAT)
    output, used = run([*prefix, *map(str, command)], cores, seconds)
    told = json.loads(output)
    return Load(
        answers=told["count"] + told["warmup_count"],
        requests=told["count"],
        requests_per_second=told["rate"],
        **{key: told[key] for key in ("p50_us", "p99_us", "p999_us", "max_us")},
        errors=0,  # it fails at the first
        cpu_seconds=used,
    )


def run_resume(server, workload, seconds, cores, prefix):
    command = [sys.executable, str(Path(__file__).with_name("resume.py"))]
    command += [server.port_of(workload), server.path(workload), workload.connections, seconds]
    output, used = run([*prefix, *map(str, command)], cores, seconds)
    told = json.loads(output)
    return Load(
        answers=told["count"] + workload.connections,  # the first of each has none to resume
        requests=told["count"],
        requests_per_second=told["rate"],
        **{key: told[key] for key in ("p50_us", "p99_us", "p999_us", "max_us", "errors")},
        cpu_seconds=used,
    )


def pace_command(program, server, workload, seconds):
    command = [str(program), "--url", server.url(workload), "--connections", workload.connections]
    command += ["--rate", f"{workload.rate:.1f}", "--seconds", seconds]
    command += ["--warmup", PACE_WARMUP_SECONDS]
    if workload.heavy:
        heavy = workload.heavy
        path = server.path(workload.parts[1])
        command += ["--heavy", path, "--heavy-connections", heavy.connections]
        command += ["--heavy-rate", heavy.rate]
    return list(map(str, command))


def parse_pace(output, cpu_seconds):
    told = json.loads(output)
    light, lateness = told["light"], told["lateness"]
    streams = [light] + ([told["heavy"]] if "heavy" in told else [])
    return Load(
        answers=sum(one["count"] + one["warmup_count"] for one in streams),
        requests=light["count"],
        requests_per_second=light["rate"],
        **{key: light[key] for key in ("p50_us", "p99_us", "p999_us", "max_us")},
        errors=sum(sum(one["errors"].values()) for one in streams),
        cpu_seconds=cpu_seconds,
        heavy_p99_us=told["heavy"]["p99_us"] if "heavy" in told else None,
        late_mean_us=lateness["mean_us"],
        late_max_us=lateness["max_us"],
        late=told["busy"] > BUSY_MAX or lateness["p99_us"] > light["p99_us"] / 2,
    )


def apply(server, workload, seconds, settings, prefix=()):
    """The load of a workload on a server, for so long. `prefix` is a command that runs it."""
    try:
        if workload.paced:
            command = pace_command(settings.pace, server, workload, seconds)
            output, used = run([*prefix, *command], settings.load_cores, seconds)
            return parse_pace(output, used)
        if workload.over in MESSAGES:
            program, cores = settings.pace.with_name("rota-sockets"), settings.load_cores
            return run_sockets(program, server, workload, seconds, cores, prefix)
        if workload.resumed:
            return run_resume(server, workload, seconds, settings.load_cores, prefix)
        closed_loop = run_h2load if workload.over in STREAMS else run_wrk
        return closed_loop(server, workload, seconds, settings.load_cores, prefix)
    except BenchError as error:
        raise BenchError(f"{server.name}: {server.url(workload)}: {error}") from error


def peak_rate(server, workload, settings):
    """Requests a second when the next is sent as soon as an answer has come: the best of three."""
    closed = replace(workload, paced=False)
    loads = [apply(server, closed, settings.warmup, settings) for _ in range(3)]
    return max(load.requests_per_second for load in loads)
