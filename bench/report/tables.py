"""The page bench/results/README.md: all tables, and what they hold for."""

CELLS = {
    "requests/s": lambda f: middle(f, "requests_per_second", whole),
    "p50 us": lambda f: middle(f, "p50_us", three),
    "p99 us": lambda f: middle(f, "p99_us", three),
    "p99.9 us": lambda f: middle(f, "p999_us", three),
    "alone: p99 us": lambda f: middle(f, "alone_p99_us", three),
    "beside: p99 us": lambda f: middle(f, "p99_us", three),
    "heavy: p99 us": lambda f: middle(f, "heavy_p99_us", three),
    "p99, x alone": lambda f: ranged(f.get("p99_by_alone")),
    "CPU us/request": lambda f: ranged(f.get("cpu_us_per_request")),
    "system calls/request": lambda f: one(f.get("syscalls_per_request")),
    "cores: server, load": lambda f: both(f, "server_cores", "load_cores", ", "),
    "MiB (most)": lambda f: f"{middle(f, 'memory_mib', whole)} "
    f"({middle(f, 'memory_peak_mib', whole)})",
}
USUAL = ["requests/s", "p50 us", "p99 us", "CPU us/request", "system calls/request"]
USUAL += ["cores: server, load", "MiB (most)"]
PACED = ["p50 us", "p99 us", "p99.9 us", "CPU us/request", "system calls/request"]
PACED += ["cores: server, load", "MiB (most)"]
MIXED = ["alone: p99 us", "beside: p99 us", "p99, x alone", "heavy: p99 us"]


def three(value):
    """Three digits that count, or all of a large number."""
    if 0 < value < 0.1:
        return f"{value:.2g}"
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"


def whole(value):
    return f"{value:,.0f}"


def one(value):
    return "-" if value is None else f"{value:.2f}"


def middle(figures, key, form):
    return form(figures[key][0]) if figures.get(key) else "-"


def both(figures, first, second, between):
    form = "{:.2f}".format
    return middle(figures, first, form) + between + middle(figures, second, form)


def ranged(spread):
    """A median with its range, where there was more than one round."""
    if not spread:
        return "-"
    median, low, high = spread
    return three(median) + (f" ({three(low)}-{three(high)})" if low != high else "")


def table(rows, left=1):
    """Lines of a Markdown table, the first row being the head; `left` columns are texts."""
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(rows[0]))]
    rules = ["-" * w if i < left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return [
        "| " + " | ".join(
            word.ljust(width) if i < left else word.rjust(width)
            for i, (word, width) in enumerate(zip(row, widths))
        ) + " |"
        for row in [rows[0], rules, *rows[1:]]
    ]


def place_of(result):
    return "a core each" if result["pinned"] else "two cores shared"


def plural(count, what):
    return f"{count} {what}" + ("" if count == 1 else "s")


def state_of(result):
    """How the rounds went, in words."""
    words = "Server and load have a core each"
    if not result["pinned"]:
        words = "Server and load share two cores"
    if result["rate"]:
        words += f"; {result['rate']:,.0f} requests/s"
    words += f"; {plural(result['rounds'], 'round')} of {result['seconds']:g} s"
    if result["dropped"]:
        words += f", {result['dropped']} more dropped for foreign load or a late one"
    if result["disturbed"]:
        words += f", **{result['disturbed']} kept though disturbed** (by up to "
        words += f"{result['foreign_cores']:.2f} cores of foreign load)"
    return words


def load_lines(result):
    """The table of one workload, in the order of the first figure that matters."""
    heads = MIXED if result["mixed"] else PACED if result["rate"] else USUAL
    if result["mixed"]:
        compared = []
    elif result["rate"]:
        compared = [("p99", "p99_us")]
    else:
        compared = [("requests/s", "requests_per_second"), ("CPU/request", "cpu_us_per_request")]
    by = [f"{head}, x {result['baseline']}" for head, _ in compared]
    rows = [["server", *heads, *by]]
    for name, figures in result["servers"].items():
        cells = [CELLS[head](figures) for head in heads]
        cells += [ranged(figures["by_baseline"].get(key)) for _, key in compared]
        rows.append([name, *cells])
    title = f"### {result['name']}, {place_of(result)}"
    lines = ["", title, "", state_of(result) + ".", "", *table(rows)]
    if result["bytes"]:
        lines += ["", *byte_lines(result)]
    wrong = {name: f["errors"] for name, f in result["servers"].items() if f.get("errors")}
    if wrong:
        said = ", ".join(f"{name} {count}" for name, count in wrong.items())
        lines += ["", f"Errors that the load generator counted: {said}."]
    if result["missing"]:
        lines += ["", f"Not here: {', '.join(result['missing'])}."]
    lines += ["", f"`{result['command']}`"]
    return lines


def byte_lines(result):
    told = []
    for name, figures in result["servers"].items():
        if figures.get("cpu_us_per_request"):
            told.append(f"{name} {result['bytes'] / figures['cpu_us_per_request'][0] / 1000:.2f}")
    return [f"GB of bodies per CPU second: {', '.join(told)}."]


def target_lines(targets):
    verdicts = {True: "met", False: "**not met**", None: "?"}
    rows = [["target", "wanted", "figure", "", "remark"]]
    for target in targets:
        figure = ranged(target["figure"])
        verdict = verdicts[target["met"]]
        rows.append([target["what"], target["target"], figure, verdict, target["note"]])
    counts = [sum(t["met"] is value for t in targets) for value in (True, False, None)]
    summary = f"{counts[0]} met, {counts[1]} not met"
    summary += f", {counts[2]} not measured" if counts[2] else ""
    return ["## Targets", "", f"{summary}. {JUDGED}", "", *table(rows, left=5)]


def micro_lines(micro):
    names = ["Rota", *micro["versions"]]
    rows = [["what", "unit", *names]]
    for case in micro["cases"]:
        cells = []
        for name in names:
            figure, by = case["figures"].get(name), case["ratios"].get(name)
            ratio = f" ({three(by[0])}x)" if by else ""
            cells.append((three(figure[0]) if figure else "-") + ratio)
        rows.append([case["name"], case["unit"], *cells])
    told = f"Medians of {plural(micro['rounds'], 'round')}; in brackets the median of their ratios "
    lines = ["## Primitives", "", told + "to Rota: above 1 is slower, or larger."]
    lines += ["", *table(rows, left=2)]
    for name, packages in micro["left_out"].items():
        lines += ["", f"{name} is left out: apt-get install {' '.join(packages)}"]
    return [*lines, "", f"`{micro['command']}`"]


def instruction_lines(counted):
    rows = [["script", "instructions/request"]]
    rows += [[n, whole(value)] for n, value in counted["instructions_per_request"].items()]
    made = ", ".join(f"{key} {value}" for key, value in counted["made_with"].items())
    lines = ["## Instructions per request of rota-http", ""]
    lines += [f"In user space, under callgrind: {made}.", "", *table(rows)]
    return [*lines, "", f"`{counted['command']}`"]


def source_line(document):
    """Machine, kernel and day, in one line."""
    machine = document["machine"]
    when = document["when"][:10]
    if not machine:
        return when
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['kernel']}; {when}"


def head_lines(document, charts):
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    machine = document["machine"]
    memory = f"; {machine['memory_mib']:,} MiB" if machine else ""
    lines = ["# Figures", "", f"Written by `{document['command']}`; "]
    lines[-1] += "[how they are made](../README.md#how-a-figure-under-load-is-made)."
    lines += ["", f"- {source_line(document)}{memory}", f"- versions: {versions}"]
    if document.get("took_seconds"):
        lines.append(f"- it took {document['took_seconds'] / 60:.1f} minutes")
    for name, why in document.get("left_out", {}).items():
        lines.append(f"- {name}: {why}")
    for name, why in document.get("failed", {}).items():
        lines.append(f"- not measured: {name}: {why}")
    measured = {result["id"] for result in document["load"]}
    absent = [i for i in document["planned"] if i not in {*measured, *document.get("failed", {})}]
    if absent:
        lines.append(f"- not measured: {', '.join(absent)}")
    disturbed = [result["id"] for result in document["load"] if result["disturbed"]]
    if disturbed:
        lines.append(f"- **disturbed by foreign load, not to be quoted**: {', '.join(disturbed)}")
    if document["plan"] != "full":
        lines.append("- **a trial of the tools: too short for figures**")
    for file, title in charts.items():
        lines += ["", f"![{title}]({file})"]
    return lines


def page(document, charts):
    """The whole page; `charts` maps the files of the charts to their titles."""
    lines = [*head_lines(document, charts), "", *target_lines(document["targets"]), ""]
    lines += ["## Under load", "", LEGEND]
    for result in document["load"]:
        lines += load_lines(result)
    if document["micro"]:
        lines += ["", *micro_lines(document["micro"])]
    if document["instructions"]:
        lines += ["", *instruction_lines(document["instructions"])]
    return "\n".join(lines) + "\n"


JUDGED = """Figures are rota's by the other's, the median of the ratios within rounds: those of
`rota-per-worker` for requests/s on two cores, of `target` where handlers work. Peers are all
servers but ours, nginx too."""
LEGEND = """Medians, in brackets the lowest and the highest round. `rota` is the sample app,
`rota-per-worker` the same with a ring for each worker, `rota-dedicated` with threads that keep to
receiving, working and sending, `floor` no server but what the kernel takes
anyway, `target` and `target-per-worker` are Rota with work in its handlers. The others are told of
in [peers](../peers/README.md)."""
