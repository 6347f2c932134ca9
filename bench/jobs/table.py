"""The figures as Markdown."""

from report import table

DISTURBED = 0.10  # cores of foreign load


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def with_range(figure):
    return f"{number(figure['median'])} ({number(figure['min'])}-{number(figure['max'])})"


def ratio(figure, base):
    """Of the medians; a run that is too short for a cycle has no rate."""
    return f"{figure['median'] / base['median']:.2f}" if base["median"] else "-"


def rounds_of(found):
    return f"{found['rounds']} interleaved round" + ("" if found["rounds"] == 1 else "s")


def foreign(results):
    """The most foreign load in the median round of any queue."""
    return max(one["foreign_cores"]["median"] for one in results.values())


def remark(results):
    most = foreign(results)
    if most <= DISTURBED:
        return []
    return ["", f"**Disturbed by foreign load** of up to {most:.1f} cores: rates are too low, and "
            "CPU for a cycle a little too high; ratios hold better than either."]


def heading_lines(document):
    machine = document["machine"]
    software = ", ".join(f"{name} {said}" for name, said in document["versions"].items() if said)
    return [
        "# The job queue beside others",
        "",
        "Written by `./dev bench jobs`; [how it is made](../README.md#job-queues).",
        "",
        f"- {machine['cpu']}, {machine['cores']} cores, {machine['memory_mib']:,} MiB, "
        f"{machine['kernel']}; files on {document['filesystem']}",
        f"- versions: {software}",
        *(f"- {remark}" for remark in document["remarks"]),
    ]


def throughput_lines(found):
    pinned = "the queue on one core, clients on another" if found["pinned"] else "not pinned"
    lines = ["", "## Cycles a second", "",
             f"A cycle: add a job of {found['payload']} bytes, take one, acknowledge it; three "
             f"requests of a client, each after the answer to the last. Medians of "
             f"{rounds_of(found)} of {found['seconds']:g} s, in brackets the "
             f"lowest and the highest; {pinned}. {found['when']}."]
    for clients, results in found["clients"].items():
        rows = [["queue", "a job is on", "cycles/s", "x ours of its kind", "p50 us", "p99 us",
                 "CPU us/cycle", "cores: queue, load"]]
        for name, one in results.items():
            base = base_of(found["durability"], name, results)
            rows.append([
                name, found["durability"][name], with_range(one["rate"]),
                ratio(one["rate"], base["rate"]) if base else "-",
                number(one["p50_us"]["median"]), number(one["p99_us"]["median"]),
                number(one["cpu_us"]["median"]),
                f"{one['server_cores']['median']:.2f}, {one['load_cores']['median']:.2f}"])
        plural = "" if clients == "1" else "s"
        lines += ["", f"### {clients} client{plural}", "", *table(rows), *remark(results)]
    return lines


def base_of(durability, name, results):
    """Ours that promises as much; nothing if none does."""
    ours = [other for other in ("rota, memory", "rota, sqlite")
            if durability.get(other) == durability[name]]
    return results.get(ours[0]) if ours else None


def memory_lines(found):
    rows = [["queue", "resident bytes/job", "... without key and payload", "bytes/job in files"]]
    content = found["payload"] + found["key"]
    for name, one in found["queues"].items():
        rows.append([name, number(one["resident"]), number(one["resident"] - content),
                     number(one["disk"]) if one["disk"] else "-"])
    return ["", "## Memory of a queued job", "",
            f"Growth of the queue's process, and of its files, by {found['jobs']:,} jobs with keys "
            f"of {found['key']} and payloads of {found['payload']} bytes; the memory of a "
            f"PostgreSQL beside it is a cache of fixed size. {found['when']}.", "", *table(rows)]


def backlog_lines(found):
    sizes = list(map(str, found["sizes"]))
    rows = [["store", *(f"{int(size):,} jobs" for size in sizes), "CPU, largest by smallest",
             "cycles/s, largest by smallest"]]
    all_results = {}
    for store, by_size in found["stores"].items():
        first, last = list(by_size.values())[0], list(by_size.values())[-1]
        rows.append([
            store, *(with_range(by_size[size]["cpu_us"]) if size in by_size else "-"
                     for size in sizes),
            *(ratio(last[figure], first[figure]) for figure in ("cpu_us", "rate"))])
        all_results |= {(store, size): one for size, one in by_size.items()}
    return ["", "## Beside a backlog", "",
            f"CPU of a cycle (three requests), from {found['clients']} clients, in a queue that "
            f"already has so many jobs, half of them in progress; medians of "
            f"{rounds_of(found)} of {found['seconds']:g} s. {found['when']}.",
            "", *table(rows), *remark(all_results)]


LINES = {"throughput": throughput_lines, "memory": memory_lines, "backlog": backlog_lines}


def document_lines(document):
    lines = heading_lines(document)
    for name, written in LINES.items():
        if name in document["sections"]:
            lines += written(document["sections"][name])
    return lines
