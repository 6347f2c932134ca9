"""Whether a server answers what is measured: asked before the load begins."""

import email.utils
import re
import socket
import ssl
import subprocess
import time

from error import BenchError
from workloads import ENCRYPTED, H2, MESSAGES, STREAMS

PATIENCE_SECONDS = 5.0
CLOCK_SLACK_SECONDS = 5.0
ANSWER_BYTES_MAX = 64 << 20


def split_answer(data):
    """(status, headers, body, rest) of the first answer in `data`; None while it is incomplete."""
    head, blank, rest = data.partition(b"\r\n\r\n")
    if not blank:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    found = re.fullmatch(r"HTTP/1\.1 (\d{3}) ?.*", first)
    if not found:
        raise BenchError(f"answers with the status line {first!r}")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if "content-length" not in headers:
        raise BenchError("answers without Content-Length")
    length = int(headers["content-length"])
    if len(rest) < length:
        return None
    return int(found[1]), headers, rest[:length], rest[length:]


def ask_by_curl(server, workload):
    """The answer over HTTP/2, as split_answer() gives one."""
    how = "--http2" if workload.over == H2 else "--http2-prior-knowledge"
    command = ["curl", "-sSik", how, "-m", str(PATIENCE_SECONDS), server.url(workload)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"curl: {done.stderr.decode().strip()}")
    first, end, rest = done.stdout.partition(b"\r\n")
    if not first.startswith(b"HTTP/2 "):
        raise BenchError(f"answers with {first!r}")
    answer = split_answer(b"HTTP/1.1 " + first[len(b"HTTP/2 ") :] + end + rest)
    if answer is None:
        raise BenchError("gives half an answer")
    return answer[:3]


def connect(server, workload):
    address = ("127.0.0.1", server.port_of(workload))
    connection = socket.create_connection(address, PATIENCE_SECONDS)
    if workload.over not in ENCRYPTED:
        return connection
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    return trusting.wrap_socket(connection)


def ask(server, workload, depth):
    """The answers to `depth` requests that were sent in one piece, over one connection."""
    if workload.over in STREAMS:
        return [ask_by_curl(server, workload)]
    host = f"127.0.0.1:{server.port_of(workload)}"
    request = workload.request(server.path(workload), host)
    answers, data = [], b""
    with connect(server, workload) as connection:
        connection.sendall(request * depth)
        while len(answers) < depth:
            answer = split_answer(data)
            if answer:
                answers.append(answer[:3])
                data = answer[3]
                continue
            piece = connection.recv(1 << 20)
            if not piece or len(data) > ANSWER_BYTES_MAX:
                raise BenchError(f"gives {len(answers)} of {depth} answers")
            data += piece
        if workload.close and connection.recv(1):
            raise BenchError("goes on after the answer that should be the last")
    if data:
        raise BenchError(f"gives more than {depth} answers")
    return answers


def date_is_current(headers, now):
    """Whether there is a Date header that tells the time."""
    try:
        told = email.utils.parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError):
        return False
    return abs(told - now) <= CLOCK_SLACK_SECONDS


def check(server, workload):
    """Raises BenchError if an answer is wrong. Returns remarks on a server that need not be strict.

    Those are measured too if they have no current date, which makes theirs the easier work.
    """
    remarks = []
    if workload.over in MESSAGES:  # rota-sockets looks at each
        return remarks
    for depth in sorted({1, workload.depth}):
        where = f"{server.name}: {server.url(workload)}"
        try:
            answers = ask(server, workload, depth)
        except (OSError, BenchError, ValueError) as error:
            raise BenchError(f"{where} {error}") from error
        for status, headers, body in answers:
            if status != 200:
                raise BenchError(f"{where} answers with status {status}")
            if server.strict and body != workload.answer:
                raise BenchError(f"{where} answers {body[:80]!r}")
            if not date_is_current(headers, time.time()):
                remark = f"{server.name}: no Date header with the current time"
                if server.strict:
                    raise BenchError(remark)
                if remark not in remarks:
                    remarks.append(remark)
    return remarks
