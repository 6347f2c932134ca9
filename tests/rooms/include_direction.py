#!/usr/bin/env python3
"""A wrong include is not found: tried with the very flags that each room is built with.

usage: include_direction.py <source root> <build root>

For each room it takes the compile command of one of the room's sources, asks the compiler for
headers instead, and expects those of the room and of those below to be found, and others not.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

SEES = {  # each room, and those below it
    "framework": {"framework"},
    "json": {"json"},
    "io": {"framework", "io"},
    "io/tls": {"framework", "io", "io/tls"},
    "io/coding": {"io/coding"},
    "io/http": {"framework", "json", "io", "io/http"},
    "io/files": {"framework", "json", "io", "io/http", "io/files"},
    "io/http1": {"framework", "json", "io", "io/http", "io/http1"},
    "io/http2": {"framework", "json", "io", "io/http", "io/http2"},
    "io/http_server": {"framework", "json", "io", "io/tls", "io/http", "io/files", "io/http1",
                       "io/http2", "io/http_server"},
    "io/http_coding": {"framework", "json", "io", "io/tls", "io/http", "io/files", "io/http1",
                       "io/http2", "io/http_server", "io/coding", "io/http_coding"},
    "io/websocket": {"framework", "json", "io", "io/tls", "io/http", "io/files", "io/http1",
                     "io/http2", "io/http_server", "io/coding", "io/websocket"},
}
HEADER_ROOT = {
    "framework": "rota", "json": "rota/json", "io": "rota/io", "io/tls": "rota/crypto",
    "io/http": "rota/http", "io/http1": "rota/http", "io/http_server": "rota/http",
    "io/files": "rota/http", "io/http2": "rota/http",
    "io/coding": "rota/coding",
    "io/http_coding": "rota/http",
    "io/websocket": "rota/http",
}
OPTIONAL = {"io/tls", "io/http2"}  # rooms that a build may be without
SEES_MOST = {"io/tls": "stream.cpp"}  # of a room with several libraries, a source of the highest


def sources_of(entry):
    """Several, if they are compiled as one."""
    file = (Path(entry["directory"]) / entry["file"]).resolve()
    included = re.findall(r"^#include ?[<\"](/.*)[>\"]$", file.read_text(), flags=re.M)
    return [Path(name).resolve() for name in included] or [file]


def command_of(room, database, source_root):
    """The compiler and the flags of the room's first source, and the folder they hold in."""
    folder = (source_root / room / "src").resolve()
    for entry in database:
        if any(folder in source.parents and source.name == SEES_MOST.get(room, source.name)
               for source in sources_of(entry)):
            flags = entry.get("arguments") or shlex.split(entry["command"])
            keep, skip = [], 0
            for flag in flags:
                if skip:
                    skip -= 1
                elif flag in {"-o", "-MF", "-MQ", "-MT", "-c", "-include"}:
                    skip = 1
                elif flag not in {"-MD", "-MMD", entry["file"]} and "ccache" not in flag:
                    keep.append(flag)
            return keep, entry["directory"]
    if room in OPTIONAL:
        return None, folder
    raise SystemExit(f"no compile command for a source in {room}/src")


def found(command, folder, headers):
    """Which of the headers the compiler finds: by one run of its preprocessor."""
    asked = "".join(
        f"#if __has_include({header})\nfound {number}\n#endif\n"
        for number, header in enumerate(headers)
    )
    run = subprocess.run(
        [*command, "-x", "c++", "-E", "-P", "-"],
        cwd=folder,
        input=asked,
        text=True,
        capture_output=True,
        check=True,
    )
    numbers = (line.split()[1] for line in run.stdout.splitlines() if line.startswith("found "))
    return {headers[int(number)] for number in numbers}


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
        if command is None:
            continue
        probes = [(public_header(other, source_root), other in below) for other in SEES]
        own = private_headers(room, source_root)
        probes += [(f'"{name}"', True) for name in sorted(own)[:1]]
        for other in SEES:
            foreign = private_headers(other, source_root) - own
            probes += [(f'"{name}"', False) for name in sorted(foreign)[:1]]
        there = found(command, folder, [header for header, _ in probes])
        for header, expected in probes:
            checked += 1
            if (header in there) != expected:
                print(f"{room}: {header} is {'not found' if expected else 'found'}")
                wrong += 1
    print(f"{checked} includes tried, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
