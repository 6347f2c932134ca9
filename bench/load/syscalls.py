"""How many system calls a server makes, counted by perf: in a run of its own, as counting costs."""

import functools
import os
import subprocess

import generators
import procfs

EVENT = "raw_syscalls:sys_enter"
SECONDS = 1


def stat(file, *arguments):
    return ["perf", "stat", "-x,", "-o", str(file), "-e", EVENT, *arguments, "--"]


@functools.cache
def permitted():
    """Whether perf is there and may count."""
    try:
        command = [*stat(os.devnull), "true"]
        return subprocess.run(command, capture_output=True, check=False, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def parse(text):
    """The count in what perf writes, or None if there is none."""
    for line in text.splitlines():
        count, *rest = line.split(",")
        if EVENT in rest and count.isdigit():
            return int(count)
    return None


def per_request(running, workload, settings):
    """System calls of a server by its answers under this load; None if nothing can be counted."""
    if not permitted():
        return None
    file = running.folder / "syscalls"
    members = ",".join(map(str, procfs.family(running.process.pid)))
    prefix = stat(file, "-p", members)
    load = generators.apply(running.server, workload, SECONDS, settings, prefix)
    count = parse(file.read_text())
    return count / load.answers if count is not None and load.answers else None
