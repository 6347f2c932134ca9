#!/usr/bin/env python3
"""Has a foreign project take Rota, build a small server with it, and talks to that server.

usage: take.py <subproject,jobs,pkg-config,cmake> <source root> <build root> <work folder>

Several ways are gone one after the other. The work folder is kept, so that a second run is
incremental. What gets installed goes to a folder of its own under the system's temporary one:
pkg-config has no way to say a path with spaces.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

TEXT = b"as it was sent\nin two lines\n"
ITEMS = '[{"name":"a","count":1},{"name":"b","count":2}]\n'
UNITY = ["-Dunity=on", "-Dunity_size=1000", "-Db_pch=false"]
SEALED = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"  # SHA-256 of "abc"


def call(*command, **options):
    command = [str(part) for part in command]
    print("$", " ".join(command), flush=True)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)


def fresh_project(source_root, folder, name="project"):
    """The foreign project's files, beside what an earlier run has built."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in (source_root / "tests/consumer" / name).iterdir():
        target = folder / file.name
        if not target.exists() or target.read_bytes() != file.read_bytes():
            shutil.copyfile(file, target)
    return folder


def installed(build_root, stack):
    """Installs what a user links against; gives the prefix it landed in."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rota-")))
    call("meson", "install", "-C", build_root, "--destdir", folder, "--quiet", "--no-rebuild",
         "--tags", "devel")
    return next(folder.rglob("include/rota")).parents[1]


def made_by(build):
    """The libraries and programs that a build makes."""
    shown = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True,
                           capture_output=True, text=True).stdout
    return {Path(name).name for name, _, rule in
            (line.partition(": ") for line in shown.splitlines()) if rule.endswith("LINKER")}


def check_only_the_library(build, *programs):
    made = made_by(build)
    others = {name for name in made if not name.startswith("librota_")}
    if others != set(programs) or "librota_http.a" not in made:
        raise SystemExit(f"not the library alone is built: {sorted(made)}")


def set_up_alone(source_root, folder):
    """A build of what is installed and nothing else, as the README has it."""
    build = folder / "rota"
    if not (build / "build.ninja").exists():
        call("meson", "setup", build, source_root, "--buildtype=plain", "-Dtests=disabled",
             "-Dapps=disabled", "-Dbench=disabled")
    check_only_the_library(build)


def set_up_with_subproject(source_root, project, *options):
    (project / "subprojects").mkdir(exist_ok=True)
    link = project / "subprojects/rota"
    if not link.exists():
        link.symlink_to(source_root, target_is_directory=True)
    build = project / "build"
    if (build / "build.ninja").exists():
        call("meson", "configure", *options, build)
    else:
        call("meson", "setup", "--buildtype=plain", *options, build, project)
    return build


def as_subproject(source_root, _, folder, __):
    """What is built then; with_jobs() builds it."""
    project = fresh_project(source_root, folder / "project")
    check_only_the_library(set_up_with_subproject(source_root, project), "echo")
    return []


def with_jobs(source_root, _, folder, __):
    """Without the stores that need a library each; each library's sources as one."""
    project = fresh_project(source_root, folder / "project", "jobs_project")
    shutil.copyfile(source_root / "tests/consumer/project/echo.cpp", project / "echo.cpp")
    build = set_up_with_subproject(source_root, project, "-Drota:sqlite=disabled",
                                   "-Drota:postgres=disabled", *UNITY)
    call("ninja", "-C", build, "echo", "worker")
    if "rota-http" in made_by(build):
        raise SystemExit("a subproject with the job queues builds the sample app")
    return [(build / "echo", echoes), (build / "worker", does_a_job)]


def reads_json(prefix, program):
    """What reads JSON is found and works, where it was installed."""
    if not list(prefix.rglob("librota_json.a")):
        print("skipped: it was built without what reads JSON")
        return
    shown = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout
    if shown != ITEMS:
        raise SystemExit(f"{program} shows {shown!r}")
    print(f"JSON: {shown}", end="")


def seals(prefix, program):
    """What sees OpenSSL is found and works, where it was installed."""
    if not list(prefix.rglob("librota_crypto.a")):
        print("skipped: it was built without what sees OpenSSL")
        return
    shown = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout
    if shown != SEALED:
        raise SystemExit(f"{program} shows {shown!r}")


def through_pkg_config(source_root, build_root, folder, stack):
    set_up_alone(source_root, folder)
    prefix = installed(build_root, stack)
    project = fresh_project(source_root, folder / "project")
    description = next(prefix.rglob("rota.pc")).parent
    programs = ["echo"] + ["items"] * (description / "rota-json.pc").exists()
    programs += ["sealed"] * (description / "rota-crypto.pc").exists()
    for name in programs:
        (project / name).unlink(missing_ok=True)
    call(
        "make", "-C", project, *programs, f"CXX={os.environ.get('CXX', 'c++')}",
        f"PKG_CONFIG=pkg-config --define-variable=prefix={prefix}",
        env={**os.environ, "PKG_CONFIG_PATH": str(description)},
    )
    reads_json(prefix, project / "items")
    seals(prefix, project / "sealed")
    return [(project / "echo", echoes)]


def through_cmake(source_root, build_root, folder, stack):
    prefix = installed(build_root, stack)
    project = fresh_project(source_root, folder / "project")
    build = project / "build"
    shutil.rmtree(build, ignore_errors=True)
    call("cmake", "-G", "Ninja", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", build)
    reads_json(prefix, build / "items")
    seals(prefix, build / "sealed")
    finds_what_is_asked_for(source_root, prefix, folder)
    return [(build / "echo", echoes)]


def finds_what_is_asked_for(source_root, prefix, folder):
    """Components that are there, and versions within a range."""
    version = next(prefix.rglob("rotaConfigVersion.cmake"))
    version.write_text(re.sub(r'PACKAGE_VERSION "[^"]*"', 'PACKAGE_VERSION "0.2.9"',
                              version.read_text()))
    build = folder / "asking"
    shutil.rmtree(build, ignore_errors=True)
    call("cmake", "-G", "Ninja", "-S", source_root / "tests/consumer/asking_project", "-B", build,
         f"-DCMAKE_PREFIX_PATH={prefix}")


def echoes(port, _):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(TEXT)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := client.recv(4096):
            answer += piece
    print(f"echoed {len(answer)} of {len(TEXT)} bytes")
    return answer == TEXT


def does_a_job(port, lines):
    job = json.dumps({"payload": "to-ann"}).encode()
    urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/queues/texts/jobs", job, timeout=20).close()
    print(done := next(lines, []))
    return done == [b"job", b"to-ann"]


def works(program, talk):
    """Starts the server, which prints its port, talks to it, and asks it to end."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as server:
        try:
            lines = (line.split() for line in server.stdout)
            port = next(int(words[1]) for words in lines if words[:1] == [b"port"])
            good = talk(port, lines)
            server.terminate()
            server.wait(timeout=60)
        finally:
            server.kill()
    print(f"exit code {server.returncode}")
    return good and server.returncode == 0


def main():
    hows, source_root, build_root, folder = sys.argv[1:5]
    ways = {
        "subproject": as_subproject,
        "jobs": with_jobs,
        "pkg-config": through_pkg_config,
        "cmake": through_cmake,
    }
    for how in hows.split(","):
        with contextlib.ExitStack() as stack:
            made = ways[how](Path(source_root), Path(build_root), Path(folder) / how, stack)
            if not all(works(program, talk) for program, talk in made):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
