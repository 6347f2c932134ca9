"""The figures that are committed, what they hold for, and how far others may be above them."""

import json
import os
import platform
import re
import subprocess
from pathlib import Path

from error import InstructionsError

SLACK = 0.05
COMPILER = re.compile(rb"(?:GCC: \([^)\0]*\)|clang version) (\d+\.\d+\.\d+)")


def compilers_in(data):
    """What the compilers that made an ELF file say of themselves in it, such as "gcc 12.2.0"."""
    found = {
        ("gcc " if match[0].startswith(b"GCC") else "clang ") + match[1].decode()
        for match in COMPILER.finditer(data)
    }
    return ", ".join(sorted(found)) or "unknown"


def library_in(listing, name):
    """The file that `name` is loaded from, as `ldd` lists it: its version is in the real name."""
    found = re.search(rf"{name}\S* => (\S+)", listing)
    return Path(os.path.realpath(found[1])).name if found else "linked in"


def tool_version(*command):
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstructionsError(f"{command[0]}: {error}") from error
    return run.stdout.strip()


def conditions(program):
    """What the figures depend on besides the source: they compare only where all of it is equal."""
    flags = Path("/proc/cpuinfo").read_text()
    vectors = [name for name in ("avx512f", "avx2") if re.search(rf"\b{name}\b", flags)]
    return {
        "compiler": compilers_in(Path(program).read_bytes()),
        "libllhttp": library_in(tool_version("ldd", str(program)), "libllhttp"),
        "libc": os.confstr("CS_GNU_LIBC_VERSION"),
        "machine": " ".join([platform.machine(), *vectors[:1]]),  # libc chooses its memcpy by it
        "valgrind": tool_version("valgrind", "--version"),
    }


def load(path):
    """The baseline, or None if there is none yet."""
    if not path.exists():
        return None
    return json.loads(path.read_text())


def store(path, document):
    path.write_text(json.dumps(document, indent=2) + "\n")


def document(made_with, figures):
    return {
        "made_with": made_with,
        "instructions_per_request": {name: round(value, 1) for name, value in figures.items()},
    }


def differences(mine, theirs):
    """Lines about the conditions that are not those of the baseline."""
    return [
        f"{key}: {mine.get(key)} here, {theirs.get(key)} there"
        for key in sorted({*mine, *theirs})
        if mine.get(key) != theirs.get(key)
    ]


def change(figure, before):
    """How far a figure is above (or below, if negative) that of the baseline, as a part of it."""
    return figure / before - 1


def too_high(figures, before, slack=None):
    """Lines about the figures that are more than the slack above those of the baseline.

    `slack` has those by name that have another than SLACK.
    """
    slack = slack or {}
    return [
        f"{name}: {value:.0f} instructions per request, {change(value, before[name]):+.1%} "
        f"({before[name]:.0f} in the baseline, {slack.get(name, SLACK):.0%} allowed)"
        for name, value in figures.items()
        if name in before and change(value, before[name]) > slack.get(name, SLACK)
    ]


def table(figures, before):
    """Lines of a Markdown table; `before` is empty where there is nothing to compare with."""
    rows = [["script", "instructions/request", "baseline", "change"]]
    for name, value in figures.items():
        known = before.get(name)
        compared = [f"{known:.0f}", f"{change(value, known):+.1%}"] if known else ["-", "-"]
        rows.append([name, f"{value:.0f}", *compared])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rules = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    cells = [[r[0].ljust(widths[0]), *map(str.rjust, r[1:], widths[1:])] for r in rows]
    return ["| " + " | ".join(row) + " |" for row in [cells[0], rules, *cells[1:]]]
