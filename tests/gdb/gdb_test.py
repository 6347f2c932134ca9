#!/usr/bin/env python3
"""tools/gdb/rota.py on a core file.

usage: gdb_test.py <rota.py> <program> <program with little debug info>
Exits 77 where there is no gdb that may be used.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PATIENCE_S = 150
SKIPPED = 77


def gdb(*arguments):
    command = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
               *[str(a) for a in arguments]]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=PATIENCE_S, check=False).stdout


def skip(why, output=""):
    print(f"skipped: {why}\n{output}")
    sys.exit(SKIPPED)


def expect(pattern, output):
    if not re.search(pattern, output, re.MULTILINE):
        print(f"not there: {pattern}\n--- output of gdb\n{output}")
        sys.exit(1)


def main():
    script, program, with_little = sys.argv[1:]
    if shutil.which("gdb") is None:
        skip("there is no gdb")
    if "1" not in gdb("-ex", "python print(1)").split():
        skip("this gdb has no Python")
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        core = Path(folder) / "core"
        made = gdb("-ex", "break all_is_parked", "-ex", "run", "-ex", f"generate-core-file {core}",
                   "-ex", "kill", program)
        if not core.exists():
            if re.search(r"ptrace|not permitted|personality|Cannot|cannot", made):
                skip("gdb may not run programs here", made)
            expect("a core file", made)
        seen = gdb("-ex", f"source {script}", "-ex", "rota routines", "-ex", "rota workers",
                   program, core)
    expect(r"^consumer#\d+ on worker 0: blocked at channel::pop in \S*parked\.cpp:\d+, \d+ ms "
           r"before the latest wait$", seen)
    expect(r"^sleeper#\d+ on worker 0: blocked at sleep in \S*parked\.cpp:\d+, ", seen)
    expect(r"^holder#\d+ on worker 1: running$", seen)
    expect(r"^3 routines$", seen)
    expect(r"^worker 0: (parked|running), thread \d+$", seen)
    expect(r"^worker 1: running, runs holder#\d+, thread \d+$", seen)
    without = gdb("-ex", f"source {script}", "-ex", "rota routines", "/bin/true")
    expect("no debug info of Rota here.*-femit-class-debug-always", without)
    little = gdb("-ex", "break all_is_parked", "-ex", "run", "-ex", f"source {script}",
                 "-ex", "rota routines", "-ex", "kill", with_little)
    # All, if the libraries were compiled with it.
    expect("^no(t enough)? debug info of Rota here: .*-femit-class-debug-always|^3 routines$",
           little)


if __name__ == "__main__":
    main()
