#!/usr/bin/env python3
"""What rota-http compresses, for whom, and what compressed content it takes; by Python's own
clients, curl, Node.js, and the programs of each format, as far as they are there.

usage: coding_test.py <rota-http>
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import zlib

from programs import PATIENCE_S, check, equal, run_tests
from rota_http import RotaHttp, read_answer

MAX_BODY = 8 << 20
LINES = b"".join(b"line %d of many\n" % (i * 7919 % 1000) for i in range(3000))


def tool(name, *options):
    """A function from bytes to bytes, by a program; None where it is not there."""
    path = shutil.which(name)
    if path is None:
        print(f"no {name} here: done without", flush=True)
        return None
    return lambda data: subprocess.run([path, *options], input=data, stdout=subprocess.PIPE,
                                       check=True, timeout=PATIENCE_S).stdout


PACK = {"gzip": gzip.compress, "br": tool("brotli", "-c"), "zstd": tool("zstd", "-qc")}
UNPACK = {"gzip": gzip.decompress, "br": tool("brotli", "-dc"), "zstd": tool("zstd", "-dqc"),
          "identity": bytes}
PACK = {name: by for name, by in PACK.items() if by}


def ask(server, path, *accept, method="GET", headers=(), over=None):
    """One request with just these fields Accept-Encoding."""
    connection = over or server.session()
    connection.putrequest(method, path, skip_accept_encoding=True)
    for value in accept:
        connection.putheader("Accept-Encoding", value)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    answer.content = answer.read()
    answer.coding = answer.headers.get("Content-Encoding", "identity")
    if over is None:
        connection.close()
    return answer


def unpacked(answer):
    by = UNPACK[answer.coding]
    return by(answer.content) if by else None


# --- Which one ---

CHOICES = {  # Accept-Encoding, and what comes of it; a number is a status
    None: "identity", "": "identity", " ": "identity", ",": "identity", ", ,": "identity",
    "gzip": "gzip", "br": "br", "zstd": "zstd", "x-gzip": "gzip", "X-GZip": "gzip",
    "GZIP": "gzip", "Br": "br", "ZSTD": "zstd", "deflate": "identity", "compress": "identity",
    "identity": "identity", "unknown": "identity", "gzi": "identity", "gzip2": "identity",
    "gzip, br, zstd": "zstd", "gzip,br": "br", "br , gzip": "br", "zstd,br,gzip": "zstd",
    "gzip, deflate": "gzip", "deflate, gzip": "gzip", "gzip, deflate, br": "br",
    "gzip, deflate, br, zstd": "zstd", "deflate, compress": "identity",
    "gzip;q=1.0, br;q=0.9": "gzip", "gzip;q=0.9,br;q=1.0": "br", "br;q=0.8, zstd;q=0.7": "br",
    "gzip;q=0.5, br;q=0.5, zstd;q=0.5": "zstd", "gzip;q=0.5, br;q=0.50": "br",
    "gzip;q=0.001": "gzip", "gzip;q=1.000": "gzip", "gzip;q=1.00": "gzip", "gzip;q=1": "gzip",
    "gzip;q=0.999, br;q=0.998": "gzip", "gzip;q=0.001, br;q=0.002": "br",
    "gzip;q=0": "identity", "gzip;q=0.0": "identity", "gzip;q=0.000": "identity",
    "gzip;q=0, br": "br", "zstd;q=0, br;q=0, gzip": "gzip", "GZIP;Q=0.5": "gzip",
    "gzip ; q=0.5": "gzip", "gzip;  q=0.5 ,br;q=0.4": "gzip", "gzip\t;\tq=1": "gzip",
    "*": "zstd", "*;q=0.5": "zstd", "*;q=0.001": "zstd", "gzip;q=0, *": "zstd",
    "zstd;q=0, *": "br", "zstd;q=0, br;q=0, *": "gzip",
    "zstd;q=0, br;q=0, gzip;q=0, *": "identity", "gzip, *;q=0": "gzip",
    "gzip, *;q=0.5": "gzip", "gzip;q=0.4, *;q=0.5": "zstd", "br;q=0.5, *;q=0.5": "zstd",
    "identity, *;q=0": "identity", "identity;q=0.5, *;q=0": "identity",
    "identity;q=1, gzip;q=0.5": "identity", "identity;q=0.5, gzip;q=1": "gzip",
    "identity;q=0.5, gzip;q=0.5": "gzip", "identity, gzip, br": "br", "identity;q=0.1, *": "zstd",
    "identity;q=0, gzip": "gzip", "identity;q=0, *": "zstd", "gzip;q=0.001, identity;q=0": "gzip",
    "*;q=0": 406, "*;q=0.000": 406, "identity;q=0": 406, "identity;q=0.0": 406,
    "IDENTITY;Q=0": 406, "identity;q=0, deflate": 406, "identity;q=0, gzip;q=0": 406,
    "identity;q=0, *;q=0": 406, "gzip;q=0, *;q=0": 406, "gzip;q=0, br;q=0, zstd;q=0, *;q=0": 406,
    "deflate, *;q=0": 406,
    # Malformed elements are none.
    "gzip;q=": "identity", "gzip;q=x": "identity", "gzip;q=2": "identity",
    "gzip;q=1.1": "identity", "gzip;q=-1": "identity", "gzip;q=0.1234": "identity",
    "gzip;q=.5": "identity", "gzip;q=\"1\"": "identity", "gzip;x=1": "identity",
    "gzip q=1": "identity", ";q=1": "identity", "gzip;q=x, br;q=0.1": "br", "*;q=x": "identity",
    "identity;q=x": "identity", "\"gzip\"": "identity",
}


def test_choices(server):
    connection = server.session()
    for accept, want in CHOICES.items():
        fields = () if accept is None else (accept,)
        for path in ("/bytes/2000", "/stream?lines=200&interval_ms=0", "/console/main.js"):
            got = {}
            for method in ("GET", "HEAD"):
                answer = ask(server, path, *fields, method=method, over=connection)
                about = f"{method} {path} with {accept!r}"
                equal(answer.status, want if want == 406 else 200, about)
                equal(answer.coding, "identity" if want == 406 else want, about)
                equal(answer.headers["Vary"], "Accept-Encoding", about)
                del answer.headers["Date"]
                got[method] = sorted(answer.headers.items())
            equal(got["HEAD"], got["GET"], f"{path} with {accept!r}")
    connection.close()


def test_several_fields_are_one_list(server):
    equal(ask(server, "/bytes/2000", "gzip", "br").coding, "br")
    equal(ask(server, "/bytes/2000", "", "gzip").coding, "gzip")
    equal(ask(server, "/bytes/2000", "identity;q=0", "deflate").status, 406)
    equal(ask(server, "/bytes/2000", "gzip;q=0.5", "identity;q=0", "*;q=0").coding, "gzip")


def test_long_lists_count_to_their_end(server):
    names = ", ".join(f"x{i}" for i in range(900))
    equal(ask(server, "/bytes/2000", names + ", identity;q=0").status, 406)
    equal(ask(server, "/bytes/2000", names + ", gzip").coding, "gzip")


def test_a_condition_makes_nothing_acceptable(server):
    tag = ask(server, "/console/main.js").headers["ETag"]
    known = [("If-None-Match", tag)]
    for path in ("/console/main.js", "/console/icon.svg"):
        equal(ask(server, path, "identity;q=0", headers=[("If-None-Match", "*")]).status, 406)
        equal(ask(server, path, "identity;q=0", headers=[("If-Match", '"x"')]).status, 406)
    equal(ask(server, "/console/main.js", "identity;q=0, gzip", headers=known).status, 304)


# --- Contents ---

def test_sizes(server):
    connection = server.session()
    for size in (0, 1, 1023):
        answer = ask(server, f"/bytes/{size}", "gzip, br, zstd", over=connection)
        equal((answer.coding, answer.content), ("identity", b"x" * size))
        equal(answer.headers["Content-Length"], str(size))
        # For one that refuses it so it is coded, or not there.
        for method in ("GET", "HEAD"):
            equal(ask(server, f"/bytes/{size}", method=method, over=connection).headers["Vary"],
                  "Accept-Encoding")
        only = ask(server, f"/bytes/{size}", "gzip, identity;q=0", over=connection)
        equal((only.coding, gzip.decompress(only.content)), ("gzip", b"x" * size))
        equal(ask(server, f"/bytes/{size}", "*;q=0", over=connection).status, 406)
    for size in (1024, 1025, 16384, 65536, 300000, 1048576):
        for coding in ("gzip", "br", "zstd"):
            answer = ask(server, f"/bytes/{size}", coding, over=connection)
            equal(answer.coding, coding)
            check(len(answer.content) < size, "it is shorter")
            check(unpacked(answer) in (None, b"x" * size), f"{size} by {coding}")
    connection.close()


def test_what_is_not_coded(server):
    for path in ("/plaintext", "/json", "/healthz"):
        answer = ask(server, path, "*;q=0")
        equal((answer.status, answer.coding, answer.headers["Vary"]), (200, "identity", None))
    equal(ask(server, "/bytes/x", "gzip").status, 400)
    equal(ask(server, "/bytes/x", "*;q=0").status, 400)
    equal(ask(server, "/nothing", "*;q=0").status, 404)
    connection = server.session()
    connection.request("POST", "/echo", b"x" * 5000,
                       {"Accept-Encoding": "gzip", "Content-Type": "text/plain"})
    answer = connection.getresponse()
    equal((answer.headers["Content-Encoding"], answer.read()), (None, b"x" * 5000))


def test_http_1_0(server):
    with server.connect() as client:
        client.sendall(b"GET /bytes/5000 HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
        data = b"".join(iter(lambda: client.recv(65536), b""))
    head, _, body = data.partition(b"\r\n\r\n")
    check(b"\r\nContent-Encoding: gzip" in head and b"chunked" not in head, head)
    equal(gzip.decompress(body), b"x" * 5000)


def test_lines_come_one_by_one(server):
    """Each can be read before the next is there."""
    with server.connect() as client:
        client.sendall(b"GET /stream?lines=3&interval_ms=300 HTTP/1.1\r\nHost: x\r\n"
                       b"Accept-Encoding: gzip\r\nConnection: close\r\n\r\n")
        data = b""
        while b"\r\n\r\n" not in data or data.endswith(b"\r\n\r\n"):
            data += client.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        check(b"\r\nTransfer-Encoding: chunked" in head, head)
        first = body.partition(b"\r\n")[2]
        decoder = zlib.decompressobj(31)
        check(decoder.decompress(first).startswith(b"line 1 of 3\n"), first)
        check(not body.endswith(b"0\r\n\r\n"), "it goes on")
        while piece := client.recv(65536):
            body += piece
    check(body.endswith(b"0\r\n\r\n"), body)


def test_console_and_its_tags(server):
    page = ask(server, "/", "gzip")
    equal((page.coding, page.headers["ETag"], page.headers["Cache-Control"]),
          ("gzip", None, "no-store"))
    path = "/console/queues.js"
    plain = ask(server, path)
    check(plain.headers["ETag"].startswith('"'), plain.headers)
    for coding in ("gzip", "br", "zstd"):
        coded = ask(server, path, coding)
        equal(coded.headers["ETag"], "W/" + plain.headers["ETag"])
        equal(coded.headers["Content-Length"], str(len(coded.content)))
        equal(coded.headers["Content-Type"], plain.headers["Content-Type"])
        check(unpacked(coded) in (None, plain.content), coding)
        for known in (coded.headers["ETag"], plain.headers["ETag"]):
            again = ask(server, path, coding, headers=[("If-None-Match", known)])
            equal((again.status, again.content), (304, b""))
            equal((again.headers["ETag"], again.headers["Vary"]), (known, "Accept-Encoding"))
            equal(again.coding, "identity")


def test_head_says_of_the_console_what_get_says(server):
    of_one_answer = ("Date", "Content-Security-Policy")
    for coding in UNPACK:
        said = {method: {tuple(sorted((name, value) for name, value in answer.headers.items()
                                      if name not in of_one_answer))
                         for answer in (ask(server, "/", coding, method=method)
                                        for _ in range(20))}
                for method in ("GET", "HEAD")}
        equal(said["HEAD"], said["GET"], coding)
        equal(len(said["GET"]), 1, coding)


def test_job_listings(server):
    jobs = [{"payload": f"job number {i}"} for i in range(200)]
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    server.request("POST", "/v1/queues/coded/jobs", lines, {"Content-Type": "application/x-ndjson"})
    path = "/v1/queues/coded/jobs?limit=200"
    plain = ask(server, path)
    equal(len(plain.content) > 1024, True)
    for coding in ("gzip", "br", "zstd"):
        answer = ask(server, path, coding)
        equal((answer.status, answer.coding), (200, coding))
        equal(answer.headers["Vary"], "Accept-Encoding")
        text = unpacked(answer)
        ids = [job["id"] for job in json.loads(text or plain.content)["jobs"]]
        equal(ids, [str(number) for number in range(1, 201)], coding)
    equal(ask(server, "/v1/openapi.json", "gzip").coding, "gzip")
    equal(ask(server, "/v1/queues/none/jobs", "gzip").coding, "identity")
    refused = ask(server, path, "*;q=0")
    equal((refused.status, refused.headers["Vary"]), (406, "Accept-Encoding"))
    equal(refused.headers["Content-Type"], "application/problem+json")
    taken = server.request("POST", "/v1/queues/coded/take", b'{"max": 100}',
                           {"Accept-Encoding": "gzip", "Content-Type": "application/json"})
    equal((taken.status, taken.headers["Content-Encoding"]), (200, None))


# --- Requests ---

def echo(server, content, *codings, headers=(), over=None):
    fields = {"Content-Encoding": ", ".join(codings), **dict(headers)}
    return server.request("POST", "/echo", content, fields, over=over)


def test_requests(server):
    for name, pack in PACK.items():
        for content in (b"", b"a", LINES, os.urandom(100_000), bytes(MAX_BODY)):
            answer = echo(server, pack(content), name)
            equal((answer.status, answer.body == content), (200, True), name)
        equal(echo(server, pack(LINES), name.upper()).body, LINES)
    equal(echo(server, gzip.compress(LINES), "x-gzip").body, LINES)
    equal(echo(server, LINES, "identity").body, LINES)
    equal(echo(server, LINES, "").body, LINES)
    equal(echo(server, gzip.compress(b"one") + gzip.compress(b"two"), "gzip").body, b"onetwo")


def test_requests_with_several_codings(server):
    packed, names = LINES, []
    for name, pack in [*PACK.items()][:3]:
        packed = pack(packed)
        names.append(name)
        equal(echo(server, packed, *names).body, LINES, names)
        if len(names) > 1:
            equal(echo(server, packed, *reversed(names)).status, 400, names)
    once = gzip.compress(LINES)
    equal(echo(server, gzip.compress(gzip.compress(once)), "gzip", "gzip", "gzip").body, LINES)
    equal(echo(server, once, "gzip", "gzip", "gzip", "gzip").status, 415)


def test_forms(server):
    type_of = {"Content-Type": "application/x-www-form-urlencoded"}
    if server.request("POST", "/form", b"a=b", type_of).status == 404:
        print("no /form in this build: done without", flush=True)
        return
    for name, pack in PACK.items():
        fields = {**type_of, "Content-Encoding": name}
        answer = server.request("POST", "/form", pack(b"a=1&b=" + b"2" * 5000), fields)
        equal(answer.json()["fields"], [{"name": "a", "value": "1"},
                                        {"name": "b", "value": "2" * 5000}], name)
        equal(server.request("POST", "/form", pack(b"a=1")[:-1], fields).status, 400, name)
    fields = {**type_of, "Content-Encoding": "foo"}
    equal(server.request("POST", "/form", b"a=1", fields).status, 415)


def test_requests_that_cannot_be_read(server):
    connection = server.session()
    for codings in (["deflate"], ["compress"], ["foo"], ["gzip", "foo"], ["foo", "gzip"],
                    ["gzip;q=1"]):
        answer = echo(server, gzip.compress(b"x"), *codings, over=connection)
        equal((answer.status, answer.headers["Accept-Encoding"]), (415, "zstd, br, gzip"), codings)
    for name, pack in PACK.items():
        packed = pack(LINES)
        for cut in [*range(20), len(packed) // 2, len(packed) - 8, len(packed) - 1]:
            equal(echo(server, packed[:cut], name, over=connection).status, 400, f"{name} {cut}")
        for behind in (b"x", b"\0", b"\n", packed[:1]):
            equal(echo(server, packed + behind, name, over=connection).status, 400, name)
        equal(echo(server, b"this is not compressed at all", name, over=connection).status, 400)
        equal(echo(server, packed, name, over=connection).body, LINES)
    wrong_sum = bytearray(gzip.compress(LINES))
    wrong_sum[-5] ^= 1
    equal(echo(server, bytes(wrong_sum), "gzip", over=connection).status, 400)


def test_bombs(server):
    """Neither memory nor time: what is beyond the limit is not even made."""
    for name, pack in PACK.items():
        bomb = pack(bytes(MAX_BODY + 1))
        check(len(bomb) < 100_000, f"{len(bomb)} bytes of {name}")
        equal(echo(server, bomb, name).status, 413, name)
        equal(echo(server, pack(bytes(64 << 20)), name).status, 413, name)
        equal(echo(server, pack(bomb), name, name).status, 413, f"{name} twice")
        equal(echo(server, pack(pack(bytes(32 << 20))), name, name).status, 413, f"{name} twice")
    # Many that have begun; no more than /echo keeps before it sends back what it has.
    bomb = gzip.compress(bytes(64 << 20))
    clients = [server.connect() for _ in range(12)]
    for client in clients:
        client.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n"
                       b"Content-Length: %d\r\n\r\n" % (len(bomb) + 1) + bomb[:4000])
    for client in clients:
        client.sendall(bomb[4000:])
        check(read_answer(client)[0].startswith(b"HTTP/1.1 413 "), "a bomb among many")
        client.close()
    server.check_memory(400 << 20)


def test_without_compression(server):
    with RotaHttp(*server.started_as, "--no-compress") as other:
        answer = ask(other, "/bytes/5000", "gzip, br, zstd")
        equal((answer.coding, answer.content), ("identity", b"x" * 5000))
        equal(answer.headers["Vary"], None)
        equal(ask(other, "/bytes/5000", "*;q=0").status, 200)
        equal(ask(other, "/", "gzip").coding, "identity")
        for path in ("/echo", "/form"):
            for names in ("gzip", "identity, br", "unknown"):
                answer = other.request("POST", path, gzip.compress(b"a=b"), {
                    "Content-Encoding": names,
                    "Content-Type": "application/x-www-form-urlencoded"})
                equal((answer.status, answer.headers["Accept-Encoding"]), (415, "identity"), path)
            equal(other.request("POST", path, b"a=b", {
                "Content-Encoding": "Identity",
                "Content-Type": "application/x-www-form-urlencoded"}).status, 200, path)


# --- Other clients ---

def test_curl(server):
    curl = shutil.which("curl")
    if curl is None:
        print("no curl here: done without", flush=True)
        return
    at = f"http://127.0.0.1:{server.port}"
    for coding in (["--compressed"], ["--compressed", "-H", "Accept-Encoding: gzip"],
                   ["-H", "Accept-Encoding;"], []):
        for path, want in (("/bytes/100000", b"x" * 100_000),
                           ("/stream?lines=50&interval_ms=1",
                            b"".join(b"line %d of 50\n" % i for i in range(1, 51)))):
            run = subprocess.run([curl, "-sS", *coding, at + path], stdout=subprocess.PIPE,
                                 check=True, timeout=PATIENCE_S)
            equal(run.stdout, want, f"{coding} {path}")


NODE = """
const at = process.argv[2];
const zlib = require('node:zlib');
(async () => {
  const seen = [];
  for (const accept of ['gzip', 'br', 'gzip, deflate, br', 'identity']) {
    const answer = await fetch(at + '/bytes/100000', {headers: {'accept-encoding': accept}});
    const text = await answer.text();
    seen.push([answer.headers.get('content-encoding'), text === 'x'.repeat(100000)]);
  }
  for (const [name, pack] of [['gzip', zlib.gzipSync], ['br', zlib.brotliCompressSync]]) {
    const body = pack(Buffer.from('y'.repeat(50000)));
    const answer = await fetch(at + '/echo',
                               {method: 'POST', body, headers: {'content-encoding': name}});
    seen.push([name, await answer.text() === 'y'.repeat(50000)]);
  }
  console.log(JSON.stringify(seen));
})();
"""


def test_node(server):
    node = shutil.which("node")
    if node is None:
        print("no node here: done without", flush=True)
        return
    run = subprocess.run([node, "-", f"http://127.0.0.1:{server.port}"], input=NODE.encode(),
                         stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S)
    equal(json.loads(run.stdout),
          [["gzip", True], ["br", True], ["br", True], [None, True], ["gzip", True], ["br", True]])


if __name__ == "__main__":
    with RotaHttp(sys.argv[1], *sys.argv[2:], "--max-body", "8M", "--drain-timeout", "1s") as it:
        run_tests(globals(), it)
