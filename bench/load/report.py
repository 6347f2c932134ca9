"""Figures as Markdown tables."""


def table(rows):
    """Lines of a Markdown table that reads well as text; the first row is the head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        lines.append("| " + " | ".join(cells) + " |")
        if number == 0:
            rules = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
            lines.append("| " + " | ".join(rules) + " |")
    return lines


def in_us(value):
    """Latencies of a few dozen microseconds with a decimal."""
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def with_range(spread):
    if not spread:
        return "-"
    return f"{spread['median']:.2f} ({spread['min']:.2f}-{spread['max']:.2f})"


def median(figure, form):
    """A cell with the median of a figure, in the form that is given."""
    return lambda figures: form(figures[figure]["median"])


def pair(first, second, form, between):
    """A cell with the medians of two figures."""
    return lambda figures: between.join(
        form(figures[figure]["median"]) for figure in (first, second)
    )


def ratio(figure):
    return lambda figures: with_range(figures["ratio"].get(figure))


def short_ratio(figures):
    rate = figures["ratio"].get("requests_per_second")
    return f"{rate['median']:.2f}" if rate else "-"


def syscalls(figures):
    count = figures.get("syscalls_per_request")
    return "-" if count is None else f"{count:.2f}"


def fixed(digits):
    return lambda value: f"{value:.{digits}f}"


REQUESTS = ("requests/s", median("requests_per_second", fixed(0)))
CORES = ("cores: server, load", pair("server_cores", "load_cores", fixed(2), ", "))
MEMORY = ("MiB (most)", lambda f: pair("memory_mib", "memory_peak_mib", fixed(0), " (")(f) + ")")
CPU = ("CPU us/request", median("cpu_us_per_request", fixed(2)))
SYSCALLS = ("system calls/request", syscalls)
LATE = ("late us: mean, max", pair("late_mean_us", "late_max_us", in_us, ", "))
P50 = ("p50 us", median("p50_us", in_us))
P99 = ("p99 us", median("p99_us", in_us))
P999 = ("p99.9 us", median("p999_us", in_us))


def columns_of(result):
    """(head, cell) of each column after the first."""
    cpu_ratio = (f"CPU/request, x {result['baseline']}", ratio("cpu_us_per_request"))
    if result["heavy"]:
        return [
            ("alone: p50 us", median("alone_p50_us", in_us)),
            ("p99 us", median("alone_p99_us", in_us)),
            ("p99.9 us", median("alone_p999_us", in_us)),
            ("beside: p50 us", P50[1]),
            P99,
            P999,
            ("p99, x alone", lambda figures: with_range(figures["p99_by_alone"])),
            ("heavy: p99 us", median("heavy_p99_us", in_us)),
            CORES,
            LATE,
        ]
    if result["paced"]:
        p99_ratio = (f"p99, x {result['baseline']}", ratio("p99_us"))
        return [REQUESTS, P50, P99, P999, CPU, SYSCALLS, CORES, MEMORY, LATE, p99_ratio, cpu_ratio]
    return [
        REQUESTS,
        P50,
        P99,
        CPU,
        ("user + system", pair("user_us_per_request", "system_us_per_request", fixed(2), " + ")),
        ("switches/request", median("switches_per_request", fixed(3))),
        SYSCALLS,
        CORES,
        MEMORY,
        (f"requests/s, x {result['baseline']}", short_ratio),
        cpu_ratio,
    ]


def heading(result):
    rounds = f"{len(result['rounds'])} rounds"
    if result["dropped"]:
        rounds += f", {result['dropped']} dropped for foreign load or a late one"
    if result["disturbed"]:
        rounds += f", {result['disturbed']} kept though disturbed"
    pinned = "one core each" if result["pinned"] else "not pinned"
    rate = f", {result['rate']:.0f} requests/s" if result["paced"] else ""
    return f"### {result['name']}{rate} ({pinned}; {rounds})"


def workload_lines(result):
    """A heading and the table of one workload."""
    columns = columns_of(result)
    rows = [["server", *(head for head, _ in columns)]]
    rows += [
        [name, *(cell(figures) for _, cell in columns)]
        for name, figures in result["summary"].items()
    ]
    lines = ["", heading(result), "", *table(rows)]
    for name, figures in result["summary"].items():
        if figures["errors"]:
            lines.append(f"{name}: {figures['errors']} errors counted by the load generator")
    if result["left_out"]:
        lines.append(f"left out, as they lack this: {', '.join(result['left_out'])}")
    return lines


def heading_lines(document):
    """What the figures below depend on."""
    machine, versions = document["machine"], document["versions"]
    governor = machine["frequency_governor"]
    cores = f"{machine['cores']} cores" + (f" ({governor})" if governor else "")
    software = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return [
        f"- command: `{document['command']}`",
        f"- machine: {machine['cpu']}, {cores}, {machine['memory_mib']} MiB; {machine['kernel']}",
        f"- versions: {software}",
        f"- {document['when']}; medians of {document['settings']['rounds']} interleaved rounds of "
        f"{document['settings']['seconds']:g} s each",
    ]
