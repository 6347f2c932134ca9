#!/usr/bin/env python3
"""tools/gdb/rota.py on a core file of rota-http with clients connected.

usage: server_test.py <rota.py> <rota-http with debug info> [options of it...]
       exits 77 where there is no gdb that may look at another process
"""

import shutil
import sys
import tempfile
from pathlib import Path

from gdb_test import expect, gdb, skip
from programs import check, equal, eventually
from rota_http import RotaHttp, read_answer

GET = b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n"
SLEEPERS = 3
READERS = 2


def write_core(server, core):
    made = gdb("-p", server.pid, "-ex", f"generate-core-file {core}", "-ex", "detach")
    if not core.exists():
        if "ptrace" in made or "not permitted" in made:
            skip("gdb may not look at another process here", made)
        expect("a core file", made)


def main():
    script, program, *options = sys.argv[1:]
    if shutil.which("gdb") is None:
        skip("there is no gdb")
    if "1" not in gdb("-ex", "python print(1)").split():
        skip("this gdb has no Python")
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        core = Path(folder) / "core"
        with RotaHttp(program, "--workers", "2", "--header-timeout", "10m", *options) as server:
            clients = [server.connect() for _ in range(SLEEPERS + READERS)]
            for client in clients[:SLEEPERS]:
                client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
            for client in clients[SLEEPERS:]:
                client.sendall(GET[:10])
            eventually(lambda: server.blocked("sleep") == SLEEPERS, "requests are at work")
            eventually(lambda: server.blocked("stream::fill") == READERS, "requests are waited for")
            write_core(server, core)
            for client in clients[SLEEPERS:]:
                client.sendall(GET[10:])
                equal(read_answer(client)[1], b"Hello, World!")
            for client in clients:
                client.close()
        seen = gdb("-ex", f"source {script}", "-ex", "rota routines", "-ex", "rota workers",
                   program, core)
    for what, count in (("sleep", SLEEPERS), ("stream::fill", READERS)):
        place = rf"^client#\d+ on worker [01]: blocked at {what} in \S+\.cpp:\d+, -?\d+ ms before "
        expect(rf"(?:{place}.*\n(?:.*\n)*?){{{count}}}", seen)
    expect(r"^acceptor#\d+ on worker \d: blocked at listener::accept in \S+\.cpp:\d+, ", seen)
    expect(r"^worker 0: (parked|running|lent)", seen)
    expect(r"^\d+ routines$", seen)
    check(seen.count("\nclient#") == SLEEPERS + READERS, seen)


if __name__ == "__main__":
    main()
