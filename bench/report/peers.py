"""The servers that ours is compared with: built, or named with what is missing."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
TABLES = (BENCH / "load/servers.json", BENCH / "peers/peers.json")
BUILD_SECONDS = 540
SAID = re.compile(r"peers: ([\w.-]+): (.*)")


def parse_build(output):
    """{peer: why it is left out} from what bench/peers/build says."""
    found = (SAID.fullmatch(line.strip()) for line in output.splitlines())
    said = {match[1]: match[2] for match in found if match}
    return {
        name: why.replace("see above", "as its compiler said")
        for name, why in said.items()
        if why != "ready"
    }


def build(output):
    """Builds all that can be; {peer: why it is left out}."""
    command = [str(BENCH / "peers/build"), str(output)]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=False, timeout=BUILD_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        return parse_build(output.decode() if isinstance(output, bytes) else output)
    print(done.stdout, end="", file=sys.stderr, flush=True)
    return parse_build(done.stdout)


def known():
    """{name: command} of the tables."""
    rows = [row for table in TABLES for row in json.loads(table.read_text())]
    return {row["name"]: row["command"] for row in rows}


def program_of(command, words):
    """The program that a command of the table starts."""
    program = command[0]
    for word, value in words.items():
        program = program.replace(word, value)
    return program


def absent(names, rota, folder, left_out):
    """{name: why} of those that cannot be started. `folder` is that of the build."""
    words = {"{rota}": str(rota), "{build}": str(folder), "{output}": str(folder / "bench/peers")}
    commands = known()
    why = {}
    for name in names:
        if name in left_out:
            why[name] = left_out[name]
        elif name not in commands:
            why[name] = "in no table of servers"
        else:
            program = program_of(commands[name], words)
            if not shutil.which(program):
                why[name] = f"{Path(program).name} is not there"
    return why
