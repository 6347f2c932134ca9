"""What the linker and the compiler were told is in the binary: hardening_test.py PROGRAM LIBRARY.

A program has the mark of a shadow stack only if the C library's start files have it, so it is the
objects of a library of ours that are asked for it."""

import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def readelf(*options):
    return run("readelf", "-W", *options)


def holds(name, truth):
    print(f"{'ok' if truth else 'MISSING'}: {name}")
    return truth


def watched_returns(library):
    notes = readelf("-n", library)
    return notes.count("SHSTK") == notes.count("\nFile: ") > 0


def main(program, library):
    header = readelf("-h", program)
    segments = readelf("-l", program)
    dynamic = readelf("-d", program)
    symbols = readelf("--dyn-syms", program)
    stack = [line for line in segments.splitlines() if "GNU_STACK" in line]
    checks = [
        holds("position independent", "DYN (" in header),
        holds("relocations read-only", "GNU_RELRO" in segments),
        holds("bound at start", "BIND_NOW" in dynamic or "NOW" in dynamic),
        holds("stack not executable", len(stack) == 1 and " RWE " not in stack[0]),
        holds("no segment both writable and executable", " RWE " not in segments),
        holds("stack protector", "__stack_chk_fail" in symbols),
        holds("checked libc calls", "_chk@" in symbols),
    ]
    if "X86-64" in header:
        code = run("objdump", "-d", "--no-show-raw-insn", program)
        checks.append(holds("returns watched", watched_returns(library)))
        probe = r"sub +\$0x1000,%rsp\n.*\t(or|mov)q +\$0x0,\(%rsp\)"  # as GCC and as clang do it
        checks.append(holds("stack probed page by page", re.search(probe, code)))
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
