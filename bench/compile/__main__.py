#!/usr/bin/env python3
"""How long users wait for their compiler: the README's first server, and the same server by others.

usage: ./dev bench compile [--rounds N] [--out FILE] [--compiler NAME]

Each is compiled in turn, N times, without an optimisation and with -O2. The figures are medians of
the compiler's CPU time (user and system), with the least and the most, and its largest memory.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "load"))
import procfs  # noqa: E402

ROTA_INCLUDES = [f"-I{ROOT / room / 'include'}" for room in
                 ("framework", "json", "io", "io/tls", "io/http", "io/files", "io/http1",
                  "io/http_server")]
LEVELS = ("-O0", "-O2")


@dataclass
class Program:
    name: str
    source: str
    header: str  # what has to be installed for it
    flags: list = field(default_factory=list)
    seconds: dict = field(default_factory=lambda: {level: [] for level in LEVELS})
    memory_mib: int = 0
    lines: int = 0


def readme_server():
    blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    return next(block for block in blocks if "http::serve(" in block)


def compiled(command, program, folder):
    """CPU seconds and MiB of one run of the compiler; None if it refuses."""
    source = Path(folder, "server.cpp")
    source.write_text(program.source)
    child = subprocess.Popen([*command, *program.flags, str(source)], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        return None
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def measure(compiler, rounds, programs):
    common = [compiler, "-std=c++23"]
    with tempfile.TemporaryDirectory(prefix="rota-compile-") as folder:
        output = ["-c", "-o", str(Path(folder, "server.o"))]
        present = []
        for program in programs:
            if compiled([*common, "-fsyntax-only"], program, folder) is None:
                print(f"bench: {program.name} does not compile here: it needs <{program.header}>",
                      file=sys.stderr)
                continue
            text = subprocess.run([*common, *program.flags, "-E", "-P", "-x", "c++", "-"],
                                  input=program.source, capture_output=True, text=True, check=True)
            program.lines = text.stdout.count("\n")
            present.append(program)
        for _ in range(rounds):
            for level in LEVELS:
                for program in present:
                    seconds, memory = compiled([*common, level, *output], program, folder)
                    program.seconds[level].append(seconds)
                    program.memory_mib = max(program.memory_mib, memory)
    return present


def shown(seconds):
    return f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})"


def table(compiler, rounds, programs):
    machine = procfs.machine()
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    lines = [
        "# Compile time of a first server",
        "",
        f"- {machine['cpu']}; {version.stdout.splitlines()[0]}",
        f"- the server of the [README](../../README.md), and the same by others "
        f"([sources](../compile)); medians of {rounds}, in turn, of the compiler's CPU seconds",
        "- cpp-httplib as Debian packages it: declarations, and a library; Boost.Beast has none",
        "",
        "| | " + " | ".join(f"{level}, CPU s" for level in LEVELS) + " | memory | lines read |",
        "|---|" + "---|" * (len(LEVELS) + 2),
    ]
    for program in programs:
        cells = [shown(program.seconds[level]) for level in LEVELS]
        lines.append(f"| {program.name} | " + " | ".join(cells) +
                     f" | {program.memory_mib} MiB | {program.lines:,} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="the table goes there, too")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    programs = measure(options.compiler, options.rounds, [
        Program("Rota", readme_server(), "rota/http/server.hpp", ROTA_INCLUDES),
        Program("cpp-httplib", (HERE / "httplib.cpp").read_text(), "httplib.h"),
        Program("Boost.Beast", (HERE / "beast.cpp").read_text(), "boost/beast.hpp"),
    ])
    if not programs or programs[0].name != "Rota":
        return 1
    text = table(options.compiler, options.rounds, programs)
    print(text, end="")
    if options.out:
        options.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
