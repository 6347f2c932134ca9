"""The figures as Markdown."""


def thousands(number):
    return f"{number:,}"


def heading_lines(document):
    machine = document["machine"]
    limit = document["descriptors_per_process"]
    lines = [
        "## Idle connections",
        "",
        f"- {machine['cpu']}, {machine['cores']} cores, {machine['memory_mib']} MiB, "
        f"{machine['kernel']}",
        f"- {document['when']}; load average {document['load_average']:.1f} before; "
        + ", ".join(f"{name} {said}" for name, said in document["versions"].items() if said),
        f"- {thousands(limit)} descriptors a process: {document['servers']} server"
        f"{'' if document['servers'] == 1 else 's'} and as many clients for "
        f"{thousands(document['connections'])} connections"
        + ("; with a larger limit (ulimit -Hn) it would be one" if document["servers"] > 1 else ""),
    ]
    return lines + [f"- {remark}" for remark in document["remarks"]]


def rate(load):
    return f"{load['requests_per_second']:,.0f}"


def latency(load):
    return f"{load['p50_us']:,.0f} / {load['p99_us']:,.0f}"


def result_rows(seconds):
    """(what it is, how it is written) for each figure of a server."""
    return [
        ("connections held", lambda one: thousands(one["held"])),
        ("... lost in the meantime", lambda one: thousands(one["lost"])),
        ("user-space bytes for each", lambda one: f"{one['bytes_each']:,.0f}"),
        ("... with all that the servers had before", lambda one: f"{one['whole_bytes_each']:,.0f}"),
        ("memory of the servers before, MiB", lambda one: f"{one['before_kib'] / 1024:.1f}"),
        ("... with the idle connections, MiB", lambda one: f"{one['idle_kib'] / 1024:.1f}"),
        ("kernel memory for both ends of each, KiB", lambda one: f"{one['kernel_kib_each']:.1f}"),
        (f"CPU while idle, % of a core ({seconds:g} s)", lambda one: f"{one['cpu_percent']:.2f}"),
        ("... for 100,000 connections", lambda one: f"{one['cpu_percent_per_100k']:.2f}"),
        ("16 busy connections alone: p50 / p99, us", lambda one: latency(one["alone"])),
        ("... beside the idle ones: p50 / p99, us", lambda one: latency(one["beside"])),
        ("... alone: requests/s", lambda one: rate(one["alone"])),
        ("... beside the idle ones: requests/s", lambda one: rate(one["beside"])),
        ("so many of the idle ones speak at once", lambda one: thousands(one["at_once"])),
        ("... all are answered after, ms",
         lambda one: f"{1e3 * one['at_once_seconds']:,.0f}"),
        ("ended by SIGTERM with the idle ones open after, s",
         lambda one: f"{one['drain_seconds']:.1f}"),
    ]


def result_lines(results, seconds):
    lines = ["", "| | " + " | ".join(one["name"] for one in results) + " |",
             "|---|" + "---:|" * len(results)]
    for what, written in result_rows(seconds):
        lines.append(f"| {what} | " + " | ".join(map(written, results)) + " |")
    return lines


def most_lines(most):
    lines = ["", "### As many as there can be", "",
             "| connections | servers | user-space bytes for each | kernel memory for each, KiB "
             "| still available, MiB |",
             "|---:|---:|---:|---:|---:|"]
    for step in most["steps"]:
        lines.append(
            f"| {thousands(step['held'])} | {step['servers']} | {step['bytes_each']:,.0f} | "
            f"{step['kernel_kib_each']:.1f} | {step['available_kib'] // 1024:,} |"
        )
    return [*lines, "",
            f"{thousands(most['held'])} connections held, {thousands(most['lost'])} of them lost; "
            f"no more for lack of: {most['why']}."]
