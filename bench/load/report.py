"""Figures as Markdown tables."""

from rounds import FIGURES

COLUMNS = (
    "server",
    "requests/s",
    "p50 us",
    "p99 us",
    "CPU us/request",
    "user",
    "system",
    "switches/request",
    "server cores",
    "wrk cores",
)


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


def ratio_cells(ratio):
    """Requests/s and CPU as multiples of the baseline's, with the range of the latter."""
    rate, cpu = ratio.get("requests_per_second"), ratio.get("cpu_us_per_request")
    return [
        f"{rate['median']:.2f}" if rate else "-",
        f"{cpu['median']:.2f} ({cpu['min']:.2f}-{cpu['max']:.2f})" if cpu else "-",
    ]


def workload_lines(result):
    """A heading and the table of one workload."""
    baseline = result["baseline"]
    rounds = f"{len(result['rounds'])} rounds"
    if result["dropped"]:
        rounds += f", {result['dropped']} dropped for foreign load"
    if result["disturbed"]:
        rounds += f", {result['disturbed']} kept though disturbed"
    pinned = "one core each" if result["pinned"] else "not pinned"
    rows = [[*COLUMNS, f"requests/s, x {baseline}", f"CPU/request, x {baseline}"]]
    for name, figures in result["summary"].items():
        median = {figure: figures[figure]["median"] for figure in FIGURES}
        row = [
            name,
            f"{median['requests_per_second']:.0f}",
            in_us(median["p50_us"]),
            in_us(median["p99_us"]),
            f"{median['cpu_us_per_request']:.2f}",
            f"{median['user_us_per_request']:.2f}",
            f"{median['system_us_per_request']:.2f}",
            f"{median['switches_per_request']:.3f}",
            f"{median['server_cores']:.2f}",
            f"{median['load_cores']:.2f}",
        ]
        rows.append(row + ratio_cells(figures["ratio"]))
    lines = ["", f"### {result['name']} ({pinned}; {rounds})", "", *table(rows)]
    for name, figures in result["summary"].items():
        if figures["errors"]:
            lines.append(f"{name}: {figures['errors']} errors counted by wrk")
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
