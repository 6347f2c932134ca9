"""Compiles the loops that people write first in all the ways that are there, and runs them.

usage: spellings.py <spellings.cpp> <compiler of this build> <build root>
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 300
OPTIONS = [["-O0"], ["-O2"], ["-O3"], ["-O1", "-fsanitize=address,undefined"]]


def compilers(own):
    """That of the build, and each other that is there."""
    found = [own]
    for name in ("g++", "g++-12", "g++-13", "g++-14", "clang++-19"):
        path = shutil.which(name)
        if not path:
            print(f"skipped: no {name} here")
        elif os.path.realpath(path) not in [os.path.realpath(shutil.which(c[-1])) for c in found]:
            found.append([path])
    return found


def try_out(command, source, binary, flags, options):
    """What is wrong, or nothing."""
    wanted = ["-std=c++23", "-Wall", "-Wextra", "-Werror"]
    built = subprocess.run(
        [*command, *wanted, *options, source, "-o", binary, *flags],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    if built.returncode != 0:
        return "does not compile:\n" + built.stderr
    ran = subprocess.run([binary], capture_output=True, text=True, timeout=LIMIT_S)
    if ran.returncode != 0 or not ran.stdout.endswith("all ran\n"):
        return f"exit status {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return None


def main():
    source, own, build = sys.argv[1], shlex.split(sys.argv[2]), sys.argv[3]
    environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(build, "meson-uninstalled"))
    told = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "rota"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    flags = shlex.split(told.stdout)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for command in compilers(own):
            for options in OPTIONS:
                wrong = try_out(command, source, os.path.join(folder, "a.out"), flags, options)
                failed += wrong is not None
                print(f"{' '.join([command[-1], *options])}: {wrong or 'ok'}", flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
