"""rota-http under callgrind, which counts the instructions that it executes in user space."""

import contextlib
import re
import shutil
import socket
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


def under_valgrind(command, folder):
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out",
            *command]


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


def rota_http(program):
    """How rota-http is called, and how its port gets known: both of a folder."""

    def command(folder):
        return server(program, folder)

    def port(process, folder):
        return wait_for_port(process, Path(folder, "port"))

    return command, port


def on_free_port(command_for):
    """The same of a server that is told its port: command_for(folder, port)."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        number = probe.getsockname()[1]

    def command(folder):
        return command_for(folder, number)

    def port(process, _):
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError), script.connect(number):
                return number
            time.sleep(0.05)
        raise InstructionsError("the server does not listen")

    return command, port


def collected(how, case, turns, profile=None):
    """Instructions from the start to the end of a server that has answered `turns` turns.

    `how` is as rota_http() has it.
    `profile` is where to leave what callgrind_annotate reads.
    """
    command, wait_for = how
    with tempfile.TemporaryDirectory(prefix="rota-instructions-") as folder:
        log, process = Path(folder, "log"), None
        try:
            with log.open("wb") as said:
                process = subprocess.Popen(
                    under_valgrind(command(folder), folder),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                )
            port = wait_for(process, folder)
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


def per_request(how, case, profile=None):
    """Instructions per request: what a long run has more than a short one, start-up cancelled."""
    short = collected(how, case, SHORT_TURNS)
    long = collected(how, case, SHORT_TURNS + case.turns, profile)
    return (long - short) / (case.turns * case.requests_per_turn)
