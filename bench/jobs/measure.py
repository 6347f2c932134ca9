"""What is measured of the queues: throughput, memory for each job, the cost beside a backlog."""

import os
import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import fill
import procfs
from queues import PgbenchQueue, RedisQueue, RotaQueue, on_cores

FIGURES = ("rate", "p50_us", "p99_us", "cpu_us", "server_cores", "load_cores", "foreign_cores")
BACKLOG_CLIENTS = 16
KEY_BYTES = 20
CYCLES_EACH = 5  # of a client at least, or it is measured again, for longer
LONGER_TIMES = 3
SECONDS_MAX = 20


@dataclass
class Settings:
    seconds: float
    rounds: int
    clients: list
    payload: int
    memory_jobs: int
    backlogs: list
    rota: Path
    jobload: Path
    folder: Path
    server_cores: set | None  # None: not pinned
    load_cores: set | None
    watched_cores: set
    redis: bool
    say: object


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def once(queue, clients, settings):
    """One queue under load, for long enough that a rate means something."""
    seconds = settings.seconds
    for _ in range(LONGER_TIMES):
        found = once_for(seconds, queue, clients, settings)
        needed = CYCLES_EACH * found["p50_us"] / 1e6
        if needed <= seconds:
            break
        seconds = min(1.5 * needed, SECONDS_MAX)
    return found


def once_for(seconds, queue, clients, settings):
    pids = queue.pids() + ([queue.postgres.pid] if queue.postgres else [])
    foreign = procfs.ForeignLoad(settings.watched_cores, pids)
    earlier = queue.cpu()
    told = queue.load(settings.jobload, clients, seconds, settings.payload, settings.load_cores)
    cpu = queue.cpu().since(earlier)
    foreign_cores, elapsed = foreign.cores_used(cpu + told["load_seconds"])
    return {
        "rate": told["rate"], "p50_us": told["p50_us"], "p99_us": told["p99_us"],
        "cpu_us": cpu / told["all"] * 1e6,
        "server_cores": cpu / elapsed,
        "load_cores": told["load_seconds"] / elapsed,
        "foreign_cores": foreign_cores,
    }


def interleaved(queues, clients, settings, what):
    """Medians of rounds in which every queue has its turn."""
    taken = {queue.name: [] for queue in queues}
    for number in range(settings.rounds):
        for queue in queues:
            taken[queue.name].append(once(queue, clients, settings))
        settings.say(f"{what}: round {number + 1} of {settings.rounds}")
    return {name: {figure: spread([one[figure] for one in rounds]) for figure in FIGURES}
            for name, rounds in taken.items()}


def rota_stores(postgres):
    return ["memory", "sqlite"] + (["postgres"] if postgres else [])


def start_all(stack, settings, postgres, has_store, pgbench):
    """Every queue, in the order of the table; a plain table of PostgreSQL only if it is wanted."""
    folder = settings.folder
    queues = [RotaQueue(store, settings.rota, folder, postgres if store == "postgres" else None)
              for store in rota_stores(postgres if has_store else None)]
    if settings.redis:
        queues += [RedisQueue(dialect, fsync, folder) for fsync in ("no", "everysec", "always")
                   for dialect in ("list", "stream")]
    if postgres and pgbench:
        queues.append(PgbenchQueue(folder, postgres))
    with on_cores(settings.server_cores):
        return [stack.enter_context(queue) for queue in queues]


def throughput(settings, postgres, has_store):
    with ExitStack() as stack:
        queues = start_all(stack, settings, postgres, has_store, pgbench=True)
        return {
            "seconds": settings.seconds, "rounds": settings.rounds, "payload": settings.payload,
            "durability": {queue.name: queue.durability for queue in queues},
            "clients": {str(count): interleaved(queues, count, settings, f"{count} clients")
                        for count in settings.clients},
        }


def memory(settings, postgres, has_store):
    """Growth by so many jobs, from a queue that has already been used."""
    with ExitStack() as stack:
        queues = start_all(stack, settings, postgres, has_store, pgbench=False)
        result = {}
        for queue in queues:
            once(queue, BACKLOG_CLIENTS, settings)
            fill.fill(queue, fill.AT_ONCE, settings.payload)
            resident, disk = queue.resident_bytes(), queue.disk_bytes()
            fill.fill(queue, settings.memory_jobs, settings.payload, fill.AT_ONCE)
            result[queue.name] = {
                "resident": (queue.resident_bytes() - resident) / settings.memory_jobs,
                "disk": (queue.disk_bytes() - disk) / settings.memory_jobs,
            }
            settings.say(f"memory: {queue.name}: {result[queue.name]['resident']:.0f} bytes a job")
    return {"jobs": settings.memory_jobs, "payload": settings.payload, "key": KEY_BYTES,
            "queues": result}


def backlog(settings, postgres, has_store):
    """The cost of a cycle beside so many jobs, half of them in progress."""
    stores = rota_stores(postgres if has_store else None)
    with ExitStack() as stack:
        queues = {}
        for store in stores:
            for size in settings.backlogs:
                queue = RotaQueue(store, settings.rota, settings.folder,
                                  postgres if store == "postgres" else None, f"{store}, {size}")
                with on_cores(settings.server_cores):
                    queues[store, size] = stack.enter_context(queue)
                begin = time.monotonic()
                fill.fill(queue, size, settings.payload)
                fill.take_http(queue, size // 2)
                settings.say(f"backlog: {queue.name} jobs in {time.monotonic() - begin:.0f} s")
        if postgres and has_store:
            # As autovacuum does within a minute.
            for (store, _), queue in queues.items():
                if store == "postgres":
                    postgres.psql("VACUUM ANALYZE", queue.database)
        figures = interleaved(list(queues.values()), BACKLOG_CLIENTS, settings, "backlog")
    return {"clients": BACKLOG_CLIENTS, "seconds": settings.seconds, "rounds": settings.rounds,
            "payload": settings.payload, "sizes": settings.backlogs,
            "stores": {store: {str(size): figures[f"{store}, {size}"] for size in settings.backlogs}
                       for store in stores}}


SECTIONS = {"throughput": throughput, "memory": memory, "backlog": backlog}


def cores_of(pinned):
    """(server's, load's, those to watch)."""
    two = procfs.two_cores() if pinned else None
    if not two:
        return None, None, os.sched_getaffinity(0)
    return {two[0]}, {two[1]}, set(two)
