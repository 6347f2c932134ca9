#!/usr/bin/env python3
"""Forms and cookies of rota-http: by hand, by curl and by requests, where these are.

usage: forms_test.py <rota-http> [options of rota-http...]
"""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

from programs import PATIENCE_S, check, equal, run_tests
from rota_http import RotaHttp

try:
    import requests
except ImportError:
    requests = None

URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
MULTIPART = {"Content-Type": "multipart/form-data; boundary=b"}
MIB = 1 << 20


def post(server, content, headers):
    answer = server.request("POST", "/form", content, headers)
    return answer.json() if answer.status == 200 else answer.status


def fields(*pairs):
    return {"fields": [{"name": name, "value": value} for name, value in pairs], "files": []}


def file(name, filename, kind, content):
    return {"name": name, "filename": filename, "type": kind, "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest()}


def part(parameters, content, more=""):
    head = f"--b\r\nContent-Disposition: form-data; {parameters}\r\n{more}\r\n"
    return head.encode() + content + b"\r\n"


def test_urlencoded(server):
    for text, expected in (
        ("a=1&b=x+y%26&a=2&c", [("a", "1"), ("b", "x y&"), ("a", "2"), ("c", "")]),
        ("", []), ("&&", []), ("=", [("", "")]), ("%zz=%&a=b=c", [("%zz", "%"), ("a", "b=c")]),
        ("%E2%82%AC=%22%5C%00%1f", [("€", '"\\\0\x1f')]),
        ("a=%ff&b=%e2%82&c=%ed%a0%80", [("a", "�"), ("b", "�"), ("c", "���")]),
    ):
        equal(post(server, text, URLENCODED), fields(*expected), text)
    answer = server.request("POST", "/form", "a=1", URLENCODED)
    equal(answer.headers["Content-Type"], "application/json")
    equal(answer.body, b'{"fields":[{"name":"a","value":"1"}],"files":[]}')


def test_multipart(server):
    content = bytes(range(256)) * 5
    text = (b"preamble\r\n" + part("name=a", b"1") +
            part('name="f"; filename="x \xe4.bin"', content, "Content-Type: image/png\r\n") +
            part('name=g; filename=""', b"") + part("name=a", "ä\r\n".encode()) + b"--b--\r\nend")
    expected = fields(("a", "1"), ("a", "ä\r\n"))
    expected["files"] = [file("f", "x ä.bin", "image/png", content),
                         file("g", "", "text/plain", b"")]
    equal(post(server, text, MULTIPART), expected)
    for empty in (b"--b--", b"--b--\r\n", b"\r\n--b--\r\n"):
        equal(post(server, empty, MULTIPART), fields())


def test_other_content(server):
    for kind in ("text/plain", "application/json", "multipart/mixed; boundary=b", "form"):
        answer = server.request("POST", "/form", "a=1", {"Content-Type": kind})
        equal(answer.status, 415, kind)
        check(b"multipart/form-data" in answer.body, answer.body)
        equal(answer.headers["Accept"],
              "application/x-www-form-urlencoded, multipart/form-data")
    equal(server.request("POST", "/form", "a=1").status, 415)
    equal(server.request("GET", "/form").status, 405)


def test_malformed_content(server):
    good = part("name=a", b"1") + b"--b--"
    equal(post(server, good, MULTIPART), fields(("a", "1")))
    for kind in ("", "; boundary", "; boundary=", '; boundary="b "', "; boundary=" + 71 * "b"):
        equal(post(server, good, {"Content-Type": "multipart/form-data" + kind}), 400, kind)
    for bad in (b"", good[:-1], good[:-5], good.replace(b"\r", b""), good + b"x", good[2:],
                good.replace(b"name", b"x"), good.replace(b"form-data", b"attachment"),
                good.replace(b"Content-Disposition", b"X"), good.replace(b"name=a", b'name="a')):
        equal(post(server, bad, MULTIPART), 400, bad)


def test_limits(server):
    pairs = [("a", str(i)) for i in range(1000)]
    equal(post(server, urllib.parse.urlencode(pairs), URLENCODED), fields(*pairs))
    equal(post(server, urllib.parse.urlencode([*pairs, ("b", "")]), URLENCODED), 413)
    parts = b"".join(part("name=a", text.encode()) for _, text in pairs)
    equal(post(server, parts + b"--b--", MULTIPART), fields(*pairs))
    equal(post(server, parts + part("name=b", b"") + b"--b--", MULTIPART), 413)
    for size, status in ((MIB, 200), (MIB + 1, 413)):
        value = b"x" * size
        for content, headers in ((b"a=" + value, URLENCODED),
                                 (part("name=a", value) + b"--b--", MULTIPART)):
            answer = server.request("POST", "/form", content, headers)
            equal(answer.status, status, size)
            if status == 200:
                equal(answer.json(), fields(("a", value.decode())))
    for size, status in ((16_000, 200), (17_000, 413)):
        content = part("name=a", b"1", "X: " + size * "x" + "\r\n") + b"--b--"
        equal(server.request("POST", "/form", content, MULTIPART).status, status, size)


def test_what_is_escaped_is_sent_in_pieces(server):
    value = "\0\"\\<ä" * 100_000
    answer = server.request("POST", "/form", urllib.parse.urlencode({"a": value, "b": "1"}),
                            URLENCODED)
    equal(answer.json(), fields(("a", value), ("b", "1")))


def test_content_that_is_too_large(server):
    with RotaHttp(*server.started_as, "--max-body", "100000") as small:
        content = part("name=f; filename=x", 100_000 * b"x") + b"--b--"
        equal(post(small, content, MULTIPART), 413)
        equal(small.request("POST", "/form", iter([content]), MULTIPART).status, 413)  # in chunks
        equal(post(small, part("name=f; filename=x", 99_000 * b"x") + b"--b--", MULTIPART),
              {"fields": [], "files": [file("f", "x", "text/plain", 99_000 * b"x")]})


def test_a_large_file_takes_no_memory(server):
    with RotaHttp(*server.started_as, "--max-body", "300M") as large:
        begin = part("name=f; filename=x", b"").removesuffix(b"\r\n")
        piece, count = os.urandom(MIB), 200
        post(large, part("name=f; filename=x", 4 * piece) + b"--b--", MULTIPART)  # warm
        before = large.rss_bytes()
        digest = hashlib.sha256()

        def content():
            yield begin
            for _ in range(count):
                digest.update(piece)
                yield piece
            yield b"\r\n--b--\r\n"

        answer = large.request("POST", "/form", content(), MULTIPART)
        equal((answer.json()["files"][0]["size"], answer.json()["files"][0]["sha256"]),
              (count * MIB, digest.hexdigest()))
        large.check_memory(before + 16 * MIB)


def test_content_in_bytes(server):
    content = part("name=a", b"1") + part("name=f; filename=x", b"\r\n-") + b"--b--\r\n"
    with server.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(b"POST /form HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                       b"Content-Type: multipart/form-data; boundary=b\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(content))
        for byte in content:
            client.sendall(bytes([byte]))
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    check(answer.startswith(b"HTTP/1.1 200 "), answer)
    check(hashlib.sha256(b"\r\n-").hexdigest().encode() in answer, answer)


def test_cookies_that_came(server):
    def listed(*values):
        session = server.session()
        session.putrequest("GET", "/cookies")
        for value in values:
            session.putheader("Cookie", value)
        session.endheaders()
        answer = session.getresponse()
        equal((answer.status, answer.headers["Cache-Control"]), (200, "no-store"))
        return [(each["name"], each["value"])
                for each in json.loads(answer.read())]

    equal(listed(), [])
    equal(listed("a=1; b=2", "a=3"), [("a", "1"), ("b", "2"), ("a", "3")])
    equal(listed(' a = "x y" ;;b;=c; d=e=f'),
          [("a", '"x y"'), ("", "b"), ("", "c"), ("d", "e=f")])
    equal(listed(b"a=\xff\\\"; \xc3\xa4=1"), [("a", '�\\"'), ("ä", "1")])


def test_cookies_that_are_set(server):
    def answer_to(query):
        answer = server.request("POST", "/cookies?" + query)
        return answer.headers.get_all("Set-Cookie") if answer.status == 204 else answer.status

    equal(answer_to("name=a&value=1"), ["a=1"])
    equal(answer_to("name=a&value="), ["a="])
    equal(answer_to("name=a&value=1&max_age=60&path=/x&same_site=none&secure=true&http_only=1"),
          ["a=1; Max-Age=60; Path=/x; Secure; HttpOnly; SameSite=None"])
    equal(answer_to("name=a&value=1&max_age=0&same_site=Strict&secure=false"),
          ["a=1; Max-Age=0; SameSite=Strict"])
    equal(answer_to("name=__Host-a&value=1&path=/&secure=1"), ["__Host-a=1; Path=/; Secure"])
    equal(answer_to("name=a&value=%22x%22"), ['a="x"'])
    for bad in (
        "", "name=a", "value=1", "name=&value=1", "name=a+b&value=1", "name=a%3D&value=1",
        "name=%C3%A4&value=1", "name=a%0D%0A&value=1", "name=a&value=%0D%0AX:%20y",
        "name=a&value=1%3B+Secure", "name=a&value=1%2C2", "name=a&value=a+b", "name=a&value=%22",
        "name=a&value=%5C", "name=a&value=%00", "name=a&value=%7F", "name=a&value=%C3%A4",
        "name=a&value=" + 4096 * "x", "name=a&value=1&max_age=x", "name=a&value=1&max_age=",
        "name=a&value=1&max_age=1.5", "name=a&value=1&max_age=-1", "name=a&value=1&max_age=%2B1",
        "name=a&value=1&max_age=99999999999999999999", "name=a&value=1&path=x",
        "name=a&value=1&path=", "name=a&value=1&path=/%3B", "name=a&value=1&path=/%0A",
        "name=a&value=1&path=/" + 1024 * "x", "name=a&value=1&same_site=some",
        "name=a&value=1&same_site=none", "name=a&value=1&same_site=", "name=a&value=1&secure=x",
        "name=a&value=1&http_only=yes", "name=a&value=1&domain=x", "name=a&value=1&name=b",
        "name=__Secure-a&value=1", "name=__host-a&value=1&secure=1&path=/x",
        "name=__Http-a&value=1&secure=1",
    ):
        answer = server.request("POST", "/cookies?" + bad)
        equal((answer.status, answer.headers.get("Set-Cookie")), (400, None), bad)
        check(len(answer.body.split()) > 4, answer.body)  # a sentence


def test_curl(server):
    curl = shutil.which("curl")
    if curl is None:
        print("needs curl (Debian: curl)")
        return

    def ask(*arguments):
        run = subprocess.run([curl, "-sS", "--noproxy", "*", *arguments], capture_output=True,
                             timeout=PATIENCE_S, check=True)
        return json.loads(run.stdout) if run.stdout else None

    form = f"http://127.0.0.1:{server.port}/form"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'a "b" \\ä.html')
        path.write_bytes(os.urandom(100_000))
        expected = fields(("a", " x&=ä\n"))
        expected["files"] = [file("f", path.name, "text/html", path.read_bytes()),
                             file("g", "y", "a/b", path.read_bytes())]
        quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
        parts = ["--form-string", "a= x&=ä\n", "-F", f'f=@"{quoted}"', "-F",
                 f'g=@"{quoted}";filename=y;type=a/b']
        equal(ask(form, *parts), expected)
        equal(ask(form, "--form-escape", *parts), expected)
        equal(ask(form, "-H", "Transfer-Encoding: chunked", *parts), expected)
        equal(ask(form, "--data-urlencode", "a= x&=ä\n", "-d", "b=1"),
              fields(("a", " x&=ä\n"), ("b", "1")))
        jar = Path(folder, "jar")
        cookies = f"http://127.0.0.1:{server.port}/cookies"
        ask("-c", jar, "-X", "POST", f"{cookies}?name=a&value=1&path=/&max_age=100")
        ask("-b", jar, "-c", jar, "-X", "POST", f"{cookies}?name=b&value=2&path=/cookies")
        equal(ask("-b", jar, cookies),
              [{"name": "b", "value": "2"}, {"name": "a", "value": "1"}])


def test_requests(server):
    if requests is None:
        print("needs requests (Debian: python3-requests)")
        return
    form = f"http://127.0.0.1:{server.port}/form"
    with requests.Session() as session:
        session.trust_env = False
        content = os.urandom(50_000)
        answer = session.post(form, data={"a": ["1", "ä €"], "b": ""},
                              files={"f": ("ä.bin", content, "image/png"), "g": ("y", b"")})
        expected = fields(("a", "1"), ("a", "ä €"), ("b", ""))
        expected["files"] = [file("f", "ä.bin", "image/png", content),
                             file("g", "y", "text/plain", b"")]
        equal(answer.json(), expected)
        equal(session.post(form, data={"a": "ä €&"}).json(), fields(("a", "ä €&")))
        cookies = f"http://127.0.0.1:{server.port}/cookies"
        equal(session.post(f"{cookies}?name=a&value=1").status_code, 204)
        equal(session.get(cookies).json(), [{"name": "a", "value": "1"}])
        equal(session.post(f"{cookies}?name=a&value=&max_age=0").status_code, 204)
        equal(session.get(cookies).json(), [])


NODE = r"""
const base = process.argv.at(-1);
const form = new FormData();
form.append('a"b ä', '1 ä');
form.append("f", new Blob(["x".repeat(100000)], {type: "a/b"}), 'n" ä\\.txt');
const post = async (body) => (await fetch(base + "/form", {method: "POST", body})).json();
const answers = [await post(form), await post(new FormData()),
                 await post(new URLSearchParams([["a", "ä &="], ["a", "2"]]))];
console.log(JSON.stringify(answers));
"""


def test_node(server):
    node = shutil.which("node")
    features = node and subprocess.run([node, "-p", "typeof fetch"], capture_output=True,
                                       timeout=PATIENCE_S, check=False).stdout
    if not node or features != b"function\n":
        print("needs node 18 or later (Debian: nodejs)")
        return
    run = subprocess.run([node, "--input-type=module", "-e", NODE,
                          f"http://127.0.0.1:{server.port}"], capture_output=True,
                         timeout=PATIENCE_S, check=True)
    expected = fields(('a"b ä', "1 ä"))
    expected["files"] = [file("f", 'n" ä\\.txt', "a/b", b"x" * 100_000)]
    equal(json.loads(run.stdout), [expected, fields(), fields(("a", "ä &="), ("a", "2"))])


def main():
    with RotaHttp(sys.argv[1], *sys.argv[2:]) as server:
        run_tests(globals(), server)


if __name__ == "__main__":
    main()
