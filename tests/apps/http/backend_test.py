#!/usr/bin/env python3
"""rota-http where io_uring is not to be had: it serves on epoll, and says why.

usage: backend_test.py <program that keeps io_uring from others> <rota-http>
"""

import subprocess
import sys

from programs import PATIENCE_S, check, equal, run_tests
from rota_http import RotaHttp

# What the kernel answers, or a filter in its place; and words of the reason.
REFUSALS = {
    "EPERM": "Operation not permitted; ",
    "ENOSYS": "Function not implemented; a seccomp filter hides it, or the kernel, ",
    "EINVAL": "Invalid argument; a seccomp filter refuses it",
    "ENOMEM": "Cannot allocate memory; not even the smallest ring fits",
}
# Runs a program that may lock so many bytes of memory and no more, even as root (capabilities(7)).
UNPRIVILEGED = """
import ctypes, os, resource, sys
PR_CAPBSET_DROP, CAP_IPC_LOCK = 24, 14
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
resource.setrlimit(resource.RLIMIT_MEMLOCK, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""
WARNING = "io_uring is not available, using epoll: "


def warnings(server):
    return [line for line in server.output().split("\n") if WARNING in line]


def serves(server):
    with server.connect() as client:
        client.sendall(b"GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n" * 100 +
                       b"GET /plaintext HTTP/1.0\r\n\r\n")
        answers = b"".join(iter(lambda: client.recv(65536), b""))
    equal(answers.count(b"Hello, World!"), 101)
    content = b"0123456789" * 100_000
    equal(server.request("POST", "/echo", content).body, content)


def has_io_uring(program):
    # It cannot listen on an address that nobody has, if it comes so far.
    run = subprocess.run([program, "--backend", "io_uring", "--host", "192.0.2.1",
                          "--store", "memory"],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    equal(run.returncode, 1)
    if "io_uring is not available" in run.stderr:
        print("skipped for io_uring:", run.stderr, flush=True)
        return False
    return True


def test_a_refusal_is_told_once_and_epoll_serves(launcher, program):
    for error, reason in REFUSALS.items():
        for topology in ("split", "per_worker", "dedicated"):
            with RotaHttp([launcher, error, program], "--topology", topology) as server:
                serves(server)
                server.wait_for(f"reactor: epoll, topology {topology}")
                equal(len(warnings(server)), 1, server.output())
                check(reason in warnings(server)[0], f"{reason!r} in {warnings(server)}")


def test_who_insists_gets_an_error(launcher, program):
    for error, reason in REFUSALS.items():
        run = subprocess.run([launcher, error, program, "--backend", "io_uring", "--port", "0",
                              "--store", "memory"],
                             capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        equal(run.returncode, 1)
        equal(run.stderr.count("\n"), 1, run.stderr)
        check(run.stderr.startswith("rota-http: io_uring is not available: "), run.stderr)
        check(reason in run.stderr, f"{reason!r} in {run.stderr}")


def test_who_asks_for_epoll_hears_nothing_of_rings(launcher, program):
    with RotaHttp([launcher, "EPERM", program], "--backend", "epoll") as server:
        serves(server)
        server.wait_for("reactor: epoll")
        equal(warnings(server), [])


def test_small_rings_will_do(launcher, program):
    """No memory for rings of more than 16 entries: that many are enough."""
    if not has_io_uring(program):
        return
    for topology in ("split", "per_worker", "dedicated"):
        command = [launcher, "ENOMEM", "--above", "16", program]
        with RotaHttp(command, "--backend", "io_uring", "--topology", topology) as server:
            serves(server)
            server.wait_for("reactor: io_uring")


def test_any_limit_of_locked_memory_will_do(_, program):
    """What is left of a trial's memory, and the rings after the first, count, too."""
    for kib in (0, 16, 64, 96, 128, 192, 256):
        for topology in ("split", "per_worker", "dedicated"):
            with RotaHttp([sys.executable, "-c", UNPRIVILEGED, str(kib * 1024), program],
                          "--workers", "4", "--topology", topology) as server:
                serves(server)
                on_epoll = "reactor: epoll" in server.output()
                equal(len(warnings(server)), int(on_epoll), server.output())


if __name__ == "__main__":
    run_tests(globals(), *sys.argv[1:])
