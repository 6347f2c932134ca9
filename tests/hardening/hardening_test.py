"""What the linker and the compiler were told is in the binary: hardening_test.py PROGRAM."""

import subprocess
import sys


def readelf(*options):
    done = subprocess.run(["readelf", "-W", *options], capture_output=True, text=True, check=True)
    return done.stdout


def holds(name, truth):
    print(f"{'ok' if truth else 'MISSING'}: {name}")
    return truth


def main(program):
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
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
