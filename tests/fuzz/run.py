#!/usr/bin/env python3
"""Runs fuzz targets that were built with libFuzzer, two at a time.

usage: run.py <build folder> <source root> <seconds in all>

The corpora in tests/fuzz/corpus are read only; what is found on the way is kept in the build
folder, and goes on from there the next time. Exits 1 if a target ended itself, with where the
input is.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

AT_ONCE = 2
EXECUTIONS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
FINDING = re.compile(r"Test unit written to (.+)$", re.M)
GRACE_S = 120  # for a target to end when its time is over


def run(program, source, folder, seconds):
    """(name, executions, exit code, [files of findings], output)"""
    name = program.name.removeprefix("fuzz_")
    kept = folder / "found" / name
    findings = folder / "findings" / name
    kept.mkdir(parents=True, exist_ok=True)
    findings.mkdir(parents=True, exist_ok=True)
    command = [program, kept, source / "tests/fuzz/corpus" / name,
               f"-max_total_time={seconds}", f"-artifact_prefix={findings}/", "-max_len=2048",
               "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              errors="replace", timeout=seconds + GRACE_S, check=False)
        output, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as error:
        output, code = f"{name} did not end: {error}", 1
    count = EXECUTIONS.search(output)
    return name, int(count[1]) if count else 0, code, FINDING.findall(output), output


def main():
    folder, source, seconds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    programs = sorted(path for path in (folder / "tests/fuzz").glob("fuzz_*")
                      if path.is_file() and os.access(path, os.X_OK))
    if not programs:
        sys.exit(f"no targets in {folder}/tests/fuzz")
    each = max(1, seconds * min(AT_ONCE, len(programs)) // len(programs))
    failed = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name, count, code, found, output in pool.map(
                lambda p: run(p, source, folder, each), programs):
            print(f"{name:10} {count:10} executions in {each} s: "
                  f"{'nothing found' if code == 0 else 'FAILED'}", flush=True)
            if code != 0:
                failed += 1
                print(output[-6000:])
                for path in found:
                    print(f"the input: {path}\nto replay: {folder}/tests/fuzz/fuzz_{name} {path}")
    print(f"{len(programs)} targets, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
