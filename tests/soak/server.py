"""The server that a soak is for."""

import re
import subprocess
import time
from collections import Counter
from pathlib import Path

import jobs
import requests

START_S = 30
END_S = 60


class SoakError(Exception):
    """Said to the user in one line."""


class Server:
    """rota-http on a free port, stopped in the end."""

    def __init__(self, options, folder):
        self.log_path = options.log or Path(folder) / "log"
        port_file = Path(folder) / "port"
        self.command = [
            str(options.rota), "--port", "0", "--port-file", str(port_file),
            "--store", "memory",
            "--header-timeout", f"{requests.HEADER_TIMEOUT_S}s", "--lease", jobs.LEASE,
            "--max-body", str(requests.BODY_MAX), *options.option]
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self.process.pid
        until = time.monotonic() + START_S
        while not port_file.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                self.end()
                raise SoakError(f"the server does not start: {self.log_path.read_text()[-500:]}")
            time.sleep(0.01)
        self.port = int(port_file.read_text())

    def end(self):
        """The exit code, after SIGTERM."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def log_levels(self):
        """How many lines of each level the log has."""
        found = re.findall(r"^\d\S+ (\w+) ", self.log_path.read_text(errors="replace"), re.M)
        return dict(Counter(found))
