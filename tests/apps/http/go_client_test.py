#!/usr/bin/env python3
"""rota-http as the clients of Go's own library find it, by HTTP/1.1 and, over TLS, by HTTP/2.

usage: go_client_test.py <rota-http>        exits 77 where there is no Go
"""

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from https_server import MADE, Https
from programs import check, run_tests

CLIENT = Path(__file__).with_name("go_client.go")
PROGRAM_S = 240  # it is compiled first


def test_all(program):
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "files")
        files.mkdir()
        (files / "big.bin").write_bytes(os.urandom(3_000_000))
        (files / "a.js").write_bytes(b"alert(1);\n" * 450)
        (files / "a.js.gz").write_bytes(gzip.compress(b"alert(1);\n" * 450))
        built = Path(folder, "client")
        environment = {"HOME": folder, "PATH": os.environ["PATH"], "GO111MODULE": "off"}
        subprocess.run(["go", "build", "-o", built, CLIENT], env=environment, check=True,
                       timeout=PROGRAM_S)
        with Https(program, "--files", files) as server:
            for protocol, words in (("HTTP/1.1", [f"http://127.0.0.1:{server.port}"]),
                                    ("HTTP/2.0", [f"https://localhost:{server.tls_port}",
                                                  MADE.ca])):
                said = subprocess.run([built, *words], capture_output=True, text=True,
                                      timeout=PROGRAM_S, check=True).stdout
                check(said.startswith(f"{protocol} ") and said.endswith(" 0 do not hold\n"), said)
                print(said, end="", flush=True)


if __name__ == "__main__":
    if not shutil.which("go"):
        print("no Go here")
        sys.exit(77)
    run_tests(globals(), *sys.argv[1:])
