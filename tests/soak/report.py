"""The summary of a soak, in Markdown."""

from samples import MIB, quarter

FIGURES = (("MiB resident", "rss_bytes", MIB), ("descriptors", "descriptors", 1),
           ("routines", "routines", 1), ("connections", "connections", 1))


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def figures_table(before, samples, after):
    lines = [row("", "before", "1st quarter", "2nd", "3rd", "4th", "least", "most", "after"),
             row(*["---"] * 9)]
    for name, figure, unit in FIGURES:
        values = [getattr(one, figure) for one in samples]
        means = [quarter(samples, number, figure) for number in range(4)]
        cells = [getattr(before, figure), *means, min(values), max(values), getattr(after, figure)]
        lines.append(row(name, *("-" if cell is None else f"{cell / unit:.1f}" for cell in cells)))
    return lines


def clients_table(right):
    lines = [row("clients", "right answers"), row("---", "---:")]
    return lines + [row(kind, count) for kind, count in sorted(right.items())]


def summary(document, before, samples, after):
    """All lines: what was run, what the server held, what it answered, the verdict."""
    seconds = samples[-1].seconds
    requests = after.requests - before.requests
    cpu = after.cpu_seconds - before.cpu_seconds
    lines = [f"- {document['when']}, {document['machine']}",
             f"- `{document['command']}`, {document['version']}",
             f"- {seconds / 60:.1f} minutes, {requests} requests ({requests / seconds:.0f}/s), "
             f"{cpu:.1f} s of CPU, {len(samples)} samples; log lines: {document['log']}", ""]
    lines += figures_table(before, samples, after) + [""]
    lines += clients_table(document["right"]) + [""]
    problems = document["problems"]
    lines += [f"- {problem}" for problem in problems]
    lines.append(f"**{'failed' if problems else 'passed'}**: {sum(document['right'].values())} "
                 f"right answers, {document['wrong']} wrong")
    return lines
