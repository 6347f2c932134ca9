#!/usr/bin/env python3
"""Every endpoint of rota-http but the queues.

usage: endpoints_test.py <rota-http> [options of rota-http...]
"""

import os
import re
import sys
import threading
from pathlib import Path

import prometheus
from programs import check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer


def test_front_page(server):
    page = server.get("/")
    equal(page.status, 200)
    equal(page.headers["Content-Type"], "text/html; charset=utf-8")
    paths = re.findall(rb'(?:href|src)="([^"#]*)"', page.body)
    check(b"metrics" in paths and b"console/main.js" in paths, paths)
    for path in paths:  # relative to the page
        equal(server.get("/" + path.decode()).status, 200, path.decode())


def test_console_files(server):
    page = server.get("/")
    nonce = re.fullmatch(r".*; script-src 'nonce-([0-9a-f]{32})'",
                         page.headers["Content-Security-Policy"])[1]
    for directive in ("default-src 'none'", "frame-ancestors 'none'"):
        check(directive in page.headers["Content-Security-Policy"], page.headers)
    equal(page.headers["Cache-Control"], "no-store")
    check(b"<style" not in page.body and b"style=" not in page.body, "styles are a file")
    equal(re.findall(rb"<script[^>]*>", page.body),
          [f'<script nonce="{nonce}" type="module" src="console/main.js">'.encode()])
    equal(re.findall(rb"https?://(?!www.w3.org)", page.body), [])
    todo, seen = ["main.js", "console.css", "icon.svg"], {}
    types = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
             "svg": "image/svg+xml"}
    while todo:
        name = todo.pop()
        seen[name] = answer = server.get(f"/console/{name}")
        equal((answer.status, answer.headers["Content-Type"]), (200, types[name.split(".")[1]]))
        equal(answer.headers["X-Content-Type-Options"], "nosniff")
        equal(answer.headers["Cache-Control"], "no-cache")
        check("script-src" not in answer.headers["Content-Security-Policy"], answer.headers)
        modules = re.findall(r'from "\./([^"]+)"', answer.body.decode())
        todo += [module for module in modules if module not in seen]
    equal(len({answer.headers["ETag"] for answer in seen.values()}), len(seen))
    source = Path(__file__).parents[3] / "apps/http/console"
    for name, answer in seen.items():
        equal(answer.body, (source / name).read_bytes(), name)
    equal(server.get("/console/nothing.js").status, 404)
    equal(server.get("/console/../plaintext").status, 404)
    equal(server.request("POST", "/").status, 405)
    head = server.request("HEAD", "/")
    equal((head.status, head.body), (200, b""))
    equal(head.headers["Content-Length"], str(len(page.body)))
    check(nonce not in head.headers["Content-Security-Policy"], "a nonce is of one answer")


def test_console_files_that_are_known(server):
    path = "/console/main.js"
    etag = server.get(path).headers["ETag"]
    for field in (etag, f'"x", W/{etag}', "*", f'"a,b" ,{etag}'):
        answer = server.get(path, headers={"If-None-Match": field})
        equal((answer.status, answer.body, answer.headers["ETag"]), (304, b"", etag), field)
    for field in ('"x"', etag.strip('"'), "", ",,", '"a,b'):
        equal(server.get(path, headers={"If-None-Match": field}).status, 200, field)


def status_of(server, path, *fields):
    """By a request with these field lines."""
    with server.connect() as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode()
                       + "".join(f"{field}\r\n" for field in fields).encode() + b"\r\n")
        return int(client.makefile("rb").readline().split()[1])


def test_preconditions_of_console_files(server):
    of_both = ((200, ('If-None-Match: "x"', 'If-None-Match: "y"')),
               (412, ('If-Match: "x"',)),
               (200, ("If-Match: *",)),
               (304, ("If-Match: *", "If-None-Match: *")))
    etag = server.get("/console/main.js").headers["ETag"]
    of_file = ((304, ('If-None-Match: "x"', f"If-None-Match: {etag}")),
               (412, (f"If-Match: W/{etag}",)),
               (412, ('If-Match: "x"', f"If-None-Match: {etag}")),
               (200, ('If-Match: "x"', f"If-Match: {etag}")))
    for path, all_of_it in (("/", of_both), ("/console/main.js", of_both + of_file)):
        for status, fields in all_of_it:
            equal(status_of(server, path, *fields), status, (path, fields))
    refused = server.get("/", headers={"If-Match": '"x"'})
    equal((refused.body, refused.headers["Vary"]), (b"Precondition Failed\n", "Accept-Encoding"))
    check("Content-Security-Policy" in refused.headers, refused.headers)


def test_what_clients_have_part_in_is_taken_for_nothing_else(server):
    for path in ("/hello/1;f();function%20Hello()%7B%7D%2F%2F", "/cookies", "/v1/queues",
                 "/v1/queues/q/jobs/9", "/debug/tasks"):
        equal(server.get(path).headers.get("X-Content-Type-Options"), "nosniff", path)
    for path in ("/echo", "/v1/queues/q/jobs"):
        answer = server.request("POST", path, b"{")
        equal(answer.headers.get("X-Content-Type-Options"), "nosniff", path)


def test_what_is_of_now_is_not_kept(server):
    for path in ("/v1/queues", "/v1/none", "/v1/openapi.json", "/debug/tasks", "/debug/none"):
        equal(server.get(path).headers.get("Cache-Control"), "no-store", path)
    refused = server.get("/v1/queues", headers={"Host": "x"})
    equal((refused.status, refused.headers.get("Cache-Control")), (421, "no-store"))


def test_without_console(server):
    with RotaHttp(*server.started_as, "--no-console") as other:
        equal(other.get("/").status, 404)
        equal(other.get("/console/main.js").status, 404)
        equal(other.get("/plaintext").status, 200)


def test_plaintext_and_json(server):
    plain = server.get("/plaintext")
    equal((plain.status, plain.body), (200, b"Hello, World!"))
    check(plain.headers["Content-Type"].startswith("text/plain"), "type")
    check(plain.headers["Date"], "Date")
    answer = server.get("/json")
    equal(answer.json(), {"message": "Hello, World!"})
    equal(answer.headers["Content-Type"], "application/json")


def test_one_connection_for_many_requests(server):
    connection = server.session()
    for _ in range(100):
        equal(server.get("/plaintext", over=connection).status, 200)
    equal(server.request("HEAD", "/json", over=connection).body, b"")
    connection.close()


def test_hello(server):
    equal(server.get("/hello/ann").body, b"Hello, ann!\n")
    equal(server.get("/hello/J%C3%B6rg%2Fa%20b").body, "Hello, Jörg/a b!\n".encode())
    equal(server.get("/hello/").status, 404)


def test_bytes(server):
    for count in (0, 1, 16384, 1048576):
        answer = server.get(f"/bytes/{count}")
        equal((answer.status, answer.body), (200, b"x" * count))
        equal(answer.headers["Content-Length"], str(count))
    for nonsense in ("x", "-1", "1048577", "99999999999999999999", ""):
        check(server.get(f"/bytes/{nonsense}").status in (400, 404), nonsense)


def test_sleep(server):
    equal(server.get("/sleep/1").body, b"slept 1 ms\n")
    for nonsense in ("x", "-1", "1.5", "60001", "99999999999999999999", "1x"):
        equal(server.get(f"/sleep/{nonsense}").status, 400, nonsense)


def test_stream(server):
    answer = server.get("/stream?lines=3&interval_ms=1")
    equal(answer.body, b"line 1 of 3\nline 2 of 3\nline 3 of 3\n")
    equal(answer.headers["Transfer-Encoding"], "chunked")
    equal(server.get("/stream?lines=0").body, b"")
    equal(server.get("/stream?lines=10000&interval_ms=0").body.count(b"\n"), 10000)
    for query in ("lines=x", "lines=10001", "interval_ms=10001", "lines=-1", "lines="):
        equal(server.get(f"/stream?{query}").status, 400, query)


def test_echo(server):
    answer = server.request("POST", "/echo", b"text", {"Content-Type": "text/x-any; a=b"})
    equal(answer.headers["X-Content-Type-Options"], "nosniff")
    equal((answer.status, answer.body), (200, b"text"))
    equal(answer.headers["Content-Type"], "text/x-any; a=b")
    for no_type in ("", "garbage\xff", "text", "a/b; c"):
        answer = server.request("POST", "/echo", b"text", {"Content-Type": no_type})
        equal(answer.headers["Content-Type"], "application/octet-stream", no_type)
    equal(server.request("POST", "/echo", b"").body, b"")
    for size in (1, 65536, 1_048_576, 1_048_577, 5_000_000):
        content = os.urandom(size)
        equal(echo_while_reading(server, content, chunked=False), content, f"{size} bytes")
        equal(echo_while_reading(server, content, chunked=True), content, f"{size} in chunks")


def echo_while_reading(server, content, chunked):
    """Sends and reads at once: a large answer begins before the request has ended."""
    with server.connect() as client:
        def send():
            framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(
                content)
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n\r\n"
                           % framing)
            for at in range(0, len(content), 40_000):
                piece = content[at:at + 40_000]
                client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            if chunked:
                client.sendall(b"0\r\n\r\n")

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        data = b"".join(iter(lambda: client.recv(262144), b""))
        sender.join()
    head, _, body = data.partition(b"\r\n\r\n")
    check(head.startswith(b"HTTP/1.1 200 "), head)
    return unchunked(body) if b"chunked" in head.lower() else body


def unchunked(body):
    pieces = []
    while True:
        size, _, body = body.partition(b"\r\n")
        if int(size, 16) == 0:
            return b"".join(pieces)
        pieces.append(body[:int(size, 16)])
        body = body[int(size, 16) + 2:]


def test_echo_may_be_sent_whole_before_it_is_read(server):
    content = os.urandom(8 << 20)
    equal(server.request("POST", "/echo", content).body, content)


def test_echo_of_much_at_once(server):
    """More than is kept for all requests together: some are sent back while they come."""
    content = os.urandom(8 << 20)
    failures = []

    def echo_once(chunked):
        if echo_while_reading(server, content, chunked) != content:
            failures.append(chunked)

    threads = [threading.Thread(target=echo_once, args=(i % 2 == 0,)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(failures, [])
    server.check_memory(400 << 20)


def test_echo_refuses(server):
    too_much = b"x" * ((8 << 20) + 1)
    with server.connect() as client:
        client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                       b"%x\r\n%s"
                       % (len(too_much), too_much))
        check(read_answer(client)[0].startswith(b"HTTP/1.1 413 "), "too large in chunks")
    with server.connect() as client:
        client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        check(read_answer(client)[0].startswith(b"HTTP/1.1 413 "), "too large")
    with server.connect() as client:
        client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                       b"3\r\nabc\r\nz\r\n")
        check(read_answer(client)[0].startswith(b"HTTP/1.1 400 "), "bad chunk")
    for size in (b"800001", b"FFFFFFFFFFFFFFFF"):  # refused before any of it comes
        with server.connect() as client:
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                           + size + b"\r\n")
            head = read_answer(client)[0]
            check(head.startswith(b"HTTP/1.1 413 ") and b"\r\nConnection: close" in head, head)
    with server.connect() as client:
        client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                       b"Expect: 100-continue\r\n\r\n")
        equal(client.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
        client.sendall(b"abc")
        equal(read_answer(client)[1], b"abc")
    equal(server.get("/echo").status, 405)
    equal(server.get("/echo").headers["Allow"], "POST, OPTIONS")
    check("TRACE" not in server.request("OPTIONS", "*").headers["Allow"], "nobody serves TRACE")


def test_what_is_not_there(server):
    equal(server.get("/nothing").status, 404)
    equal(server.request("DELETE", "/plaintext").status, 405)
    equal(server.request("BREW", "/plaintext").status, 501)


def test_health(server):
    equal(server.get("/healthz").status, 200)


def test_readiness(server):
    answer = server.get("/readyz")
    equal((answer.status, answer.json()), (200, {"ready": True}))
    equal(answer.headers["Content-Type"], "application/json")


def test_metrics(server):
    def value(name):
        text = server.get("/metrics").body.decode()
        found = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.M)
        equal(len(found), 1, f"{name} in\n{text}")
        return float(found[0])

    text = server.get("/metrics").body.decode()
    for name in ("rota_store_up", "rota_store_call_duration_seconds_sum", "rota_jobs_age_seconds"):
        check(name in prometheus.parse(text), name)
    before = value('rota_http_requests_total{class="2xx"}')
    for _ in range(5):
        server.get("/json")
    check(value('rota_http_requests_total{class="2xx"}') >= before + 5, "requests are counted")
    check(value("rota_http_request_duration_seconds_count") > 0, "latencies are counted")
    check(value("rota_http_connections") >= 1, "connections are counted")
    check(value('rota_worker_connections{worker="0"}') >= 0, "workers are told of")


def test_tasks(server):
    with server.connect() as client:
        client.sendall(b"GET /sleep/60000 HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: server.blocked("sleep"), "the sleeper is listed")
        tasks = server.get("/debug/tasks").json()
        sleeper = next(task for task in tasks["blocked"]
                       if (task["name"], task["what"]) == ("client", "sleep"))
        check(re.search(r"\.[ch]pp:\d+$", sleeper["where"]), sleeper)
        check(sleeper["function"] and sleeper["since_ms"] >= 0 and sleeper["id"] > 0, sleeper)
        group = next(wait for wait in tasks["waits"] if wait["where"] == sleeper["where"])
        check(group["what"] == "sleep" and sleeper["id"] in group["ids"], group)
        check(group["count"] >= 1 and group["longest_ms"] >= sleeper["since_ms"], group)
        check(sleeper["worker"] in [worker["index"] for worker in tasks["workers"]], tasks)


if __name__ == "__main__":
    with RotaHttp(sys.argv[1], *sys.argv[2:], "--max-body", "8M", "--drain-timeout", "1s") as it:
        run_tests(globals(), it)
