"""Builds each C++ block of a document, runs it, compares what the console block behind it shows.

In a console block a line that begins with "$ " is a command, run while the program serves; what
follows it is its output. A console block without a command is the output of the program itself.
Port 8080 stands for a free one, "…" in what is shown for anything. A program that names cert.pem
finds one for localhost, and key.pem, where it runs.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

LIMIT_S = 120
WANTED = ["-std=c++23", "-Wall", "-Wextra", "-Werror"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def blocks(text):
    """Pairs of a cpp block and the console block that follows it, if there is one."""
    found = re.findall(r"^```(cpp|console)\n(.*?)^```$", text, re.M | re.S)
    pairs = []
    for kind, body in found:
        if kind == "cpp":
            pairs.append([body, None])
        elif pairs and pairs[-1][1] is None:
            pairs[-1][1] = body
    return pairs


def commands(console):
    """[(command, expected output)]"""
    steps = []
    for line in console.splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append([line[2:].rstrip("\n"), ""])
        else:
            steps[-1][1] += line
    return steps


def receives_datagrams(port):
    with open("/proc/net/udp", encoding="ascii") as sockets:
        return any(line.split()[1].endswith(f":{port:04X}") for line in list(sockets)[1:])


def wait_until_it_listens(port, program, source):
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end and program.poll() is None:
        if "datagram_socket" in source and not receives_datagrams(port):
            time.sleep(0.01)
            continue
        if "serve_datagrams(" in source:
            return
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise SystemExit(f"the program does not listen on port {port}")


def run(command, folder=None):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S,
                          cwd=folder).stdout


def shows(expected, printed):
    """Whether it is the same; "…" stands for anything."""
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return re.fullmatch(pattern, printed, re.S) is not None


def make_certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", "key.pem",
                    "-out", "cert.pem", "-addext", "subjectAltName=DNS:localhost"],
                   cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)


def check(number, source, console, compiler, flags, folder):
    port = free_port()
    if "tls" in source and not any("rota_tls" in flag for flag in flags):
        print(f"block {number} is skipped: this build has no TLS")
        return []
    path = os.path.join(folder, f"block{number}.cpp")
    with open(path, "w", encoding="utf-8") as f:
        f.write(source.replace(":8080", f":{port}"))
    binary = path.removesuffix(".cpp")
    subprocess.run([*compiler, path, "-o", binary, *flags], check=True, timeout=600)
    if console is None:
        raise SystemExit(f"block {number} has no console block that shows what it does")
    if not console.startswith("$ "):
        shown = run([binary])
        return [("its output", console, shown)]
    if "cert.pem" in source:
        make_certificate(folder)
    program = subprocess.Popen([binary], stdout=subprocess.DEVNULL, cwd=folder)
    try:
        wait_until_it_listens(port, program, source)
        results = []
        for command, expected in commands(console):
            command = re.sub(r"([:/])8080\b", rf"\g<1>{port}", command)
            results.append((command, expected, run(["bash", "-c", command], folder)))
    finally:
        program.terminate()
        status = program.wait(LIMIT_S)
    results.append(("exit status after SIGTERM", "0", str(status)))
    return results


def main():
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # by nohup, and children would inherit it
        signal.signal(signal.SIGHUP, lambda *_: None)
    readme, compiler, build = sys.argv[1], shlex.split(sys.argv[2]), sys.argv[3]
    library = sys.argv[4]
    environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(build, "meson-uninstalled"))
    flags = shlex.split(
        subprocess.run(
            ["pkg-config", "--cflags", "--libs", library],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    with open(readme, encoding="utf-8") as f:
        pairs = blocks(f.read())
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (source, console) in enumerate(pairs, 1):
            for what, expected, shown in check(
                number, source, console, compiler, [*WANTED, *flags], folder
            ):
                good = shows(expected, shown)
                failed += not good
                print(f"{'ok' if good else 'FAILED'}: {what}")
                if not good:
                    print(f"--- {readme} shows\n{expected}--- it printed\n{shown}")
    if not pairs:
        raise SystemExit("no C++ block found")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
