"""Runs what documents show of rota-http against rota-http, and compares.

usage: against_app.py <rota-http> <document>...

Every console block is run, but for those behind a C++ block, which show that block's program. Port
8080 stands for a free one, "…" in what is shown for anything. Each document gets a server of its
own. A table of options, if there is one, has to name every option of --help with its default.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check import LIMIT_S, commands, shows

BLOCK = re.compile(r"^```(cpp|console)\n(.*?)^```$", re.M | re.S)
OPTION_ROW = re.compile(r"^\| `(--[\w-]+)` \| ([^|]*?) ?\|", re.M)
# Some versions of CLI11 write "TIME=10s", others "TIME [10s]".
OPTION_HELP = re.compile(r"^ +(?:-\w,)?(--[\w-]+)(?: \w+(?:(?:=| \[)([^\s\]]+)\]?)?)?(?:$| )", re.M)


def console_blocks(text):
    found = BLOCK.findall(text)
    return [body for i, (kind, body) in enumerate(found)
            if kind == "console" and (i == 0 or found[i - 1][0] != "cpp")]


def serve(program, folder):
    """rota-http in its own folder, and its port."""
    port_file = Path(folder) / "port"
    server = subprocess.Popen([Path(program).resolve(), "--port", "0", "--port-file", port_file,
                               "--log-level", "warning"], cwd=folder)
    end = time.monotonic() + LIMIT_S
    while not port_file.exists():
        if time.monotonic() > end or server.poll() is not None:
            server.kill()
            raise SystemExit("rota-http does not listen")
        time.sleep(0.01)
    return server, port_file.read_text().strip()


def run_blocks(program, text):
    """[(command, expected, printed)]"""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        server, port = serve(program, folder)
        try:
            for block in console_blocks(text):
                for command, expected in commands(block):
                    command = re.sub(r"([:/])8080\b", rf"\g<1>{port}", command)
                    run = subprocess.run(["bash", "-c", command], cwd=folder, timeout=LIMIT_S,
                                         capture_output=True, text=True, check=False)
                    results.append((command, expected, run.stdout))
        finally:
            server.terminate()
            results.append(("exit status after SIGTERM", "0", str(server.wait(LIMIT_S))))
    return results


def run_options(program, text):
    listed = dict(OPTION_ROW.findall(text))
    if not listed:
        return []
    help_text = subprocess.run([program, "--help"], capture_output=True, text=True,
                               timeout=LIMIT_S, check=True).stdout
    known = dict(OPTION_HELP.findall(help_text))
    for name in ("--help", "--version"):
        del known[name]
    return [("options and their defaults", str(sorted(listed.items())), str(sorted(known.items())))]


def main():
    program, *documents = sys.argv[1:]
    failed = 0
    for document in documents:
        text = Path(document).read_text(encoding="utf-8")
        results = run_blocks(program, text) + run_options(program, text)
        if len(results) < 2:
            raise SystemExit(f"{document} shows nothing")
        for what, expected, printed in results:
            good = shows(expected, printed)
            failed += not good
            print(f"{'ok' if good else 'FAILED'}: {what}")
            if not good:
                print(f"--- {document} shows\n{expected}--- it printed\n{printed}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
