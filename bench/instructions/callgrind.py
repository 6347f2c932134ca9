"""rota-http under callgrind, which counts the instructions that it executes in user space."""

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import script
from error import InstructionsError

START_SECONDS = 60.0
END_SECONDS = 30.0
SHORT_TURNS = 50
COLLECTED = re.compile(r"Collected : (\d+)")


def server(program, folder):
    """The server as it runs under valgrind, which knows no io_uring: one worker, and epoll."""
    return [str(program), "--host", "127.0.0.1", "--port", "0", "--port-file", f"{folder}/port",
            "--store", "memory", "--workers", "1", "--backend", "epoll", "--log-level", "warning"]


def command(program, folder):
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out"]
    return [*valgrind, *server(program, folder)]


def wait_for_port(process, path):
    """The port that the server writes to `path` when it listens."""
    deadline = time.monotonic() + START_SECONDS
    while not (path.exists() and path.read_text().strip()):
        if process.poll() is not None:
            raise InstructionsError(f"the server ended at once with {process.returncode}")
        if time.monotonic() > deadline:
            raise InstructionsError(f"the server does not listen after {START_SECONDS:.0f} s")
        time.sleep(0.05)
    return int(path.read_text())


def collected(program, case, turns, profile=None):
    """Instructions from the start to the end of a server that has answered `turns` turns.

    `profile` is where to leave what callgrind_annotate reads.
    """
    with tempfile.TemporaryDirectory(prefix="rota-instructions-") as folder:
        log, process = Path(folder, "log"), None
        try:
            with log.open("wb") as said:
                process = subprocess.Popen(
                    command(program, folder), stdin=subprocess.DEVNULL, stdout=said, stderr=said
                )
            port = wait_for_port(process, Path(folder, "port"))
            script.play(case, process.pid, port, turns)
            process.terminate()
            process.wait(END_SECONDS)
        except (OSError, InstructionsError, subprocess.TimeoutExpired) as error:
            tail = "\n    ".join(log.read_text(errors="replace").strip().splitlines()[-5:])
            raise InstructionsError(f"{case.name}: {error}\n    {tail}") from error
        finally:
            if process and process.poll() is None:
                process.kill()
                process.wait()
        if profile:
            shutil.copy(Path(folder, "callgrind.out"), profile)
        found = COLLECTED.search(log.read_text(errors="replace"))
    if process.returncode != 0 or not found:
        raise InstructionsError(f"{case.name}: no figure from callgrind ({process.returncode})")
    return int(found[1])


def per_request(program, case, profile=None):
    """Instructions per request: what a long run has more than a short one, start-up cancelled."""
    short = collected(program, case, SHORT_TURNS)
    long = collected(program, case, SHORT_TURNS + case.turns, profile)
    return (long - short) / (case.turns * case.requests_per_turn)
