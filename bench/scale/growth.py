"""CPU for a request as there are more workers, by what threads are for."""

import os
import statistics
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(1, str(HERE.parent / "load"))

import generators  # noqa: E402
import model  # noqa: E402
import procfs  # noqa: E402
import servers  # noqa: E402
from error import BenchError  # noqa: E402
from workloads import Workload  # noqa: E402

TOPOLOGIES = {"split": "rota", "per_worker": "rota-per-worker", "dedicated": "rota-dedicated"}
CONNECTIONS = 256
WARMUP_SECONDS = 1
# The names that the library gives its threads: pthread_setname_np(3).
ROLES = {"rota-read": "receiving", "rota-write": "sending", "rota-worker": "workers"}


@dataclass
class Sample:
    """Of one run: CPU in microseconds and context switches, for a request."""

    costs: model.Costs
    other_us: float  # what is none of the three
    switches: float
    foreign_cores: float

    @property
    def total_us(self):
        return self.costs.total + self.other_us


def role_of(name):
    for start, role in ROLES.items():
        if name.startswith(start):
            return role
    return "other"


def roles_of(pid):
    """{thread: what it is for}."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            name = Path(f"/proc/{pid}/task/{thread}/comm").read_text()
        except OSError:
            continue  # it has just ended
        found[int(thread)] = role_of(name)
    return found


def split_by_role(earlier, later, roles):
    """Nanoseconds of CPU by role, of the threads that there were before and after."""
    spent = dict.fromkeys([*ROLES.values(), "other"], 0)
    for thread, ns in later.ran_ns.items():
        spent[roles.get(thread, "other")] += ns - earlier.ran_ns.get(thread, 0)
    return spent


def ask(running, seconds):
    """What one server used under load for so long."""
    workload = Workload(CONNECTIONS)
    foreign = procfs.ForeignLoad(set(os.sched_getaffinity(0)), [running.process.pid])
    earlier = running.usage()
    load = generators.run_wrk(running.server, workload, seconds, None, [])
    later = running.usage()
    if load.errors or not load.answers:
        running.fail(f"{load.errors} of {load.answers} answers are wrong")
    cpu = later.cpu_since(earlier)
    foreign_cores, _ = foreign.cores_used(cpu + load.cpu_seconds)
    spent = split_by_role(earlier, later, roles_of(running.process.pid))
    us = {role: ns / 1e3 / load.answers for role, ns in spent.items()}
    costs = model.Costs(us["receiving"], us["sending"], us["workers"])
    switches = later.switches_since(earlier) / load.answers
    return load, Sample(costs, us["other"], switches, foreign_cores)


def start(rota, build, topology, workers, folder):
    table = servers.known_servers(rota, build)
    server = replace(table[TOPOLOGIES[topology]])  # of its own, since its ports are written to it
    servers.make_certificate(folder)
    return servers.Running(server, folder, workers, None)


def measure(rota, build, topologies, counts, rounds, seconds):
    """{(topology, workers): the samples}, in turn, so that all have the same weather."""
    if not Path("/proc/self/schedstat").exists():
        raise BenchError("the kernel does not tell what threads have run (CONFIG_SCHED_INFO)")
    samples = {(topology, workers): [] for topology in topologies for workers in counts}
    for number in range(rounds):
        for (topology, workers), taken in samples.items():
            print(f"scale: round {number + 1} of {rounds}, {topology}, {workers} workers",
                  file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(prefix="rota-scale-") as folder, \
                    start(rota, build, topology, workers, folder) as running:
                generators.run_wrk(running.server, Workload(CONNECTIONS), WARMUP_SECONDS, None, [])
                taken.append(ask(running, seconds)[1])
    return samples


def median(samples):
    """Figure by figure."""
    def middle(of):
        return statistics.median(map(of, samples))
    costs = model.Costs(middle(lambda s: s.costs.receiving), middle(lambda s: s.costs.sending),
                        middle(lambda s: s.costs.workers))
    return Sample(costs, middle(lambda s: s.other_us), middle(lambda s: s.switches),
                  max(s.foreign_cores for s in samples))
