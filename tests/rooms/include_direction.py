#!/usr/bin/env python3
"""A wrong include does not compile: tried with the very flags that each room is built with.

usage: include_direction.py <source root> <build root>

For each room it takes the compile command of one of the room's sources, has the compiler read an
include instead, and expects headers of the room and of those below to compile, and others not.
"""

import json
import shlex
import subprocess
import sys
from pathlib import Path

SEES = {  # each room, and those below it
    "framework": {"framework"},
    "json": {"json"},
    "io": {"framework", "io"},
    "io/http": {"framework", "json", "io", "io/http"},
    "io/http1": {"framework", "json", "io", "io/http", "io/http1"},
    "io/http_server": {"framework", "json", "io", "io/http", "io/http1", "io/http_server"},
}
HEADER_ROOT = {
    "framework": "rota", "json": "rota/json", "io": "rota/io", "io/http": "rota/http",
    "io/http1": "rota/http", "io/http_server": "rota/http",
}


def command_of(room, database, source_root):
    """The compiler and the flags of the room's first source, and the folder they hold in."""
    folder = (source_root / room / "src").resolve()
    for entry in database:
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if folder in source.parents:
            flags = entry.get("arguments") or shlex.split(entry["command"])
            keep, skip = [], 0
            for flag in flags:
                if skip:
                    skip -= 1
                elif flag in {"-o", "-MF", "-MQ", "-MT", "-c"}:
                    skip = 1
                elif flag not in {"-MD", "-MMD", entry["file"]} and "ccache" not in flag:
                    keep.append(flag)
            return keep, entry["directory"]
    raise SystemExit(f"no compile command for a source in {room}/src")


def compiles(command, folder, header):
    """Whether an include of the header compiles; any failure but "not found" is an error."""
    run = subprocess.run(
        [*command, "-x", "c++", "-fsyntax-only", "-"],
        cwd=folder,
        input=f"#include {header}\n",
        text=True,
        capture_output=True,
        check=False,
    )
    not_found = "No such file or directory" in run.stderr or "file not found" in run.stderr
    if run.returncode != 0 and not not_found:
        raise SystemExit(f"{header} fails for another reason:\n{run.stderr}")
    return run.returncode == 0


def public_header(room, source_root):
    folder = source_root / room / "include" / HEADER_ROOT[room]
    return f"<{HEADER_ROOT[room]}/{min(path.name for path in folder.glob('*.hpp'))}>"


def private_headers(room, source_root):
    return {path.name for path in (source_root / room / "src").glob("*.hpp")}


def main():
    source_root, build_root = (Path(argument).resolve() for argument in sys.argv[1:3])
    database = json.loads((build_root / "compile_commands.json").read_text())
    wrong = checked = 0
    for room, below in SEES.items():
        command, folder = command_of(room, database, source_root)
        probes = [(public_header(other, source_root), other in below) for other in SEES]
        own = private_headers(room, source_root)
        probes += [(f'"{name}"', True) for name in sorted(own)[:1]]
        for other in SEES:
            foreign = private_headers(other, source_root) - own
            probes += [(f'"{name}"', False) for name in sorted(foreign)[:1]]
        for header, expected in probes:
            checked += 1
            if compiles(command, folder, header) != expected:
                print(f"{room}: {header} {'does not compile' if expected else 'compiles'}")
                wrong += 1
    print(f"{checked} includes tried, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
