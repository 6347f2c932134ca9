#!/usr/bin/env python3
"""Opens TLS connections one after the other, each resumed from the one before, and asks for one
answer on each. usage: resume.py PORT PATH CONNECTIONS SECONDS

Prints a line of JSON: how many there were, a second, and how long each took, from connect to the
end of the connection. Those that the server did not resume, but for the first of each client, and
answers other than 200 are errors.
"""

import json
import socket
import ssl
import sys
import threading
import time

TIMEOUT_SECONDS = 5


def visit(context, port, request, session):
    """(session for the next, whether it was resumed, whether it was answered)"""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as plain, \
            context.wrap_socket(plain, session=session) as over:
        over.sendall(request)
        answer = b""
        while piece := over.recv(65536):
            answer += piece
        return over.session, over.session_reused, answer.startswith(b"HTTP/1.1 200")


def client(context, port, request, end, times, errors):
    session, resumed, answered = visit(context, port, request, None)
    while (begin := time.perf_counter()) < end:
        session, resumed, answered = visit(context, port, request, session)
        times.append(time.perf_counter() - begin)
        if not (resumed and answered):
            errors.append(1)


def main():
    port, path, connections, seconds = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    times, errors = [], []
    begin = time.perf_counter()
    threads = [threading.Thread(target=client, args=(
        context, int(port), request, begin + float(seconds), times, errors))
        for _ in range(int(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begin
    if not times:
        sys.exit("resume.py: no connection was resumed in time")
    times.sort()
    at = {f"p{name}_us": 1e6 * times[int(len(times) * share)]
          for name, share in (("50", 0.5), ("99", 0.99), ("999", 0.999))}
    print(json.dumps({"count": len(times), "rate": len(times) / took, "errors": len(errors),
                      "max_us": 1e6 * times[-1], **at}))


if __name__ == "__main__":
    main()
