#!/usr/bin/env python3
"""Has a foreign project take Rota, build a small echo server with it, and talks to that server.

usage: take.py <subproject|pkg-config|cmake> <source root> <build root> <work folder>

The work folder is kept, so that a second run is incremental. What gets installed goes to a folder
of its own under the system's temporary one: pkg-config has no way to say a path with spaces.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

TEXT = b"as it was sent\nin two lines\n"


def call(*command, **options):
    command = [str(part) for part in command]
    print("$", " ".join(command), flush=True)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)


def fresh_project(source_root, folder):
    """The foreign project's files, beside what an earlier run has built."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in (source_root / "tests/consumer/project").iterdir():
        target = folder / file.name
        if not target.exists() or target.read_bytes() != file.read_bytes():
            shutil.copyfile(file, target)
    return folder


def installed(build_root, stack):
    """Installs what a user links against; gives the prefix it landed in."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rota-")))
    call("meson", "install", "-C", build_root, "--no-rebuild", "--tags", "devel",
         "--destdir", folder, "--quiet")
    return next(folder.rglob("include/rota")).parents[1]


def as_subproject(source_root, _, folder, __):
    project = fresh_project(source_root, folder / "project")
    (project / "subprojects").mkdir(exist_ok=True)
    link = project / "subprojects/rota"
    if not link.exists():
        link.symlink_to(source_root, target_is_directory=True)
    build = project / "build"
    if not (build / "build.ninja").exists():
        call("meson", "setup", "--buildtype=plain", build, project)
    call("ninja", "-C", build)
    leftovers = [name for name in build.rglob("*_tests") if name.is_file()]
    leftovers += list(build.rglob("rota-http"))
    if leftovers:
        raise SystemExit(f"a subproject builds more than the library: {leftovers}")
    return build / "echo"


def through_pkg_config(source_root, build_root, folder, stack):
    prefix = installed(build_root, stack)
    project = fresh_project(source_root, folder / "project")
    (project / "echo").unlink(missing_ok=True)
    description = next(prefix.rglob("rota.pc")).parent
    call(
        "make", "-C", project, f"CXX={os.environ.get('CXX', 'c++')}",
        f"PKG_CONFIG=pkg-config --define-variable=prefix={prefix}",
        env={**os.environ, "PKG_CONFIG_PATH": str(description)},
    )
    return project / "echo"


def through_cmake(source_root, build_root, folder, stack):
    prefix = installed(build_root, stack)
    project = fresh_project(source_root, folder / "project")
    build = project / "build"
    shutil.rmtree(build, ignore_errors=True)
    call("cmake", "-G", "Ninja", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", build)
    return build / "echo"


def echoes(program):
    """Starts the server, which prints its port, has a text echoed, and asks the server to end."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as server:
        try:
            lines = (line.split() for line in server.stdout)
            port = next(int(words[1]) for words in lines if words[:1] == [b"port"])
            with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                client.sendall(TEXT)
                client.shutdown(socket.SHUT_WR)
                answer = b""
                while piece := client.recv(4096):
                    answer += piece
            server.terminate()
            server.wait(timeout=60)
        finally:
            server.kill()
    print(f"echoed {len(answer)} of {len(TEXT)} bytes, exit code {server.returncode}")
    return answer == TEXT and server.returncode == 0


def main():
    how, source_root, build_root, folder = sys.argv[1:5]
    ways = {
        "subproject": as_subproject,
        "pkg-config": through_pkg_config,
        "cmake": through_cmake,
    }
    with contextlib.ExitStack() as stack:
        program = ways[how](Path(source_root), Path(build_root), Path(folder), stack)
        return 0 if echoes(program) else 1


if __name__ == "__main__":
    sys.exit(main())
