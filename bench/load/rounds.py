"""Interleaved rounds: every server in turn under the same load, again and again."""

import statistics
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import generators
import procfs

SHARE_OF_PEAK = 0.6
RATIOS = ("requests_per_second", "p50_us", "p99_us", "cpu_us_per_request")


@dataclass
class Sample:
    """What one server did in one round. What a workload does not have is None."""

    requests: int
    requests_per_second: float
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float
    cpu_us_per_request: float
    user_us_per_request: float
    system_us_per_request: float
    switches_per_request: float
    server_cores: float  # how many cores it kept busy
    load_cores: float  # how many the generator did
    foreign_cores: float  # how many something else did
    memory_mib: float
    memory_peak_mib: float
    errors: int
    late: bool = False
    late_mean_us: float | None = None
    late_max_us: float | None = None
    heavy_p99_us: float | None = None
    alone_p50_us: float | None = None  # the same without the heavy requests
    alone_p99_us: float | None = None
    alone_p999_us: float | None = None
    p99_by_alone: float | None = None


NO_FIGURES = {"requests", "foreign_cores", "errors", "late"}
FIGURES = [name for name in Sample.__dataclass_fields__ if name not in NO_FIGURES]


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
    pace: Path  # rota-pace


def measure_once(running, workload, settings):
    """One server under load for settings.seconds."""
    procfs.forget_peak(running.process.pid)
    foreign = procfs.ForeignLoad(settings.watched_cores, [running.process.pid])
    earlier = running.usage()
    load = generators.apply(running.server, workload, settings.seconds, settings)
    later = running.usage()
    cpu = later.cpu_since(earlier)
    foreign_cores, elapsed = foreign.cores_used(cpu + load.cpu_seconds)
    user, system = later.split_since(earlier)
    if load.requests == 0:
        running.fail("answered no request under load")
    memory, peak = procfs.memory_mib(running.process.pid)
    told = asdict(load)
    answers, load_seconds = told.pop("answers"), told.pop("cpu_seconds")
    return Sample(
        **told,
        cpu_us_per_request=cpu / answers * 1e6,
        user_us_per_request=user / answers * 1e6,
        system_us_per_request=system / answers * 1e6,
        switches_per_request=later.switches_since(earlier) / answers,
        server_cores=cpu / elapsed,
        load_cores=load_seconds / elapsed,
        foreign_cores=foreign_cores,
        memory_mib=memory,
        memory_peak_mib=peak,
    )


def measure(running, workload, settings):
    """As above; if there are heavy requests, once more without them, for comparison."""
    if not workload.heavy:
        return measure_once(running, workload, settings)
    alone = measure_once(running, replace(workload, heavy=None), settings)
    beside = measure_once(running, workload, settings)
    return replace(
        beside,
        errors=alone.errors + beside.errors,
        foreign_cores=max(alone.foreign_cores, beside.foreign_cores),
        late=alone.late or beside.late,
        alone_p50_us=alone.p50_us,
        alone_p99_us=alone.p99_us,
        alone_p999_us=alone.p999_us,
        p99_by_alone=beside.p99_us / alone.p99_us,
    )


def disturbance(taken):
    return max(sample.foreign_cores for sample in taken.values())


def late(taken):
    return any(sample.late for sample in taken.values())


def complaint(taken, limit):
    """What speaks against a round; nothing if it counts."""
    said = []
    if disturbance(taken) > limit:
        said.append(f"disturbed: {disturbance(taken):.2f} cores of foreign load")
    if late(taken):
        said.append("the load came late")
    return ", ".join(said)


def choose(taken, wanted, limit):
    """The rounds that count: the undisturbed ones, then the least disturbed, in their order."""
    best = sorted(taken, key=lambda one: (late(one), max(0.0, disturbance(one) - limit)))[:wanted]
    return [one for one in taken if one in best]


def with_rate(workload, baseline, settings, say):
    """A workload at a constant rate with that rate, if it was left to the baseline's peak."""
    if not workload.paced or workload.rate:
        return workload
    peak = generators.peak_rate(baseline.server, workload, settings)
    say(f"{workload.name}: peak of {baseline.server.name} {peak:.0f} requests/s")
    return replace(workload, rate=round(peak * SHARE_OF_PEAK))


def run_workload(servers, workload, settings, say):
    """Rounds until enough are undisturbed or no repeat is left; the rounds and how it went."""
    limit = settings.foreign_cores_max
    for running in servers:
        generators.apply(running.server, workload, settings.warmup, settings)
    taken, clean = [], 0
    while clean < settings.rounds and len(taken) < settings.rounds + settings.repeats:
        taken.append(
            {running.server.name: measure(running, workload, settings) for running in servers}
        )
        against = complaint(taken[-1], limit)
        clean += not against
        note = f", {against}" if against else ""
        say(f"{workload.name}: round {len(taken)} ({clean} of {settings.rounds}){note}")
    kept = choose(taken, settings.rounds, limit)
    disturbed = sum(bool(complaint(one, limit)) for one in kept)
    return kept, {"dropped": len(taken) - len(kept), "disturbed": disturbed}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summarize(kept, names, baseline):
    """Per server: each figure's median, and the ratio to the baseline, taken round by round."""
    summary = {}
    for name in names:
        figures = {}
        for figure in FIGURES:
            values = [getattr(one[name], figure) for one in kept]
            figures[figure] = None if None in values else spread(values)
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
