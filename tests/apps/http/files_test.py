#!/usr/bin/env python3
"""rota-http --files: by sockets, curl and Chromium. What needs a client that is not there is
skipped with a word.

usage: files_test.py <rota-http> [options of rota-http...]
"""

import email.parser
import gzip
import hashlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import browser
from programs import PATIENCE_S, check, equal, eventually, run_tests
from rota_http import RotaHttp, read_answer

LARGE = 20 << 20  # more than sockets take
# Reads a file in two parts, the first of which is broken off, and tells what came.
RESUME = """
const [path, done] = arguments;
(async () => {
  const stop = new AbortController();
  const first = await fetch(path, {signal: stop.signal, cache: "no-store"});
  const tag = first.headers.get("ETag");
  const reader = first.body.getReader();
  const pieces = [];
  let size = 0;
  while (size < 1000000) {
    const {value} = await reader.read();
    pieces.push(value);
    size += value.length;
  }
  stop.abort();
  const rest = await fetch(path, {cache: "no-store", headers: {"Range": `bytes=${size}-`,
                                                               "If-Range": tag}});
  pieces.push(new Uint8Array(await rest.arrayBuffer()));
  const all = await new Blob(pieces).arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  const hex = [...digest].map((b) => b.toString(16).padStart(2, "0")).join("");
  done([rest.status, rest.headers.get("Content-Range"), hex]);
})().catch((error) => done([0, String(error), ""]));
"""


class Site:
    """A directory of files, and rota-http that serves it."""

    def __init__(self, command, *options):
        self.outer = tempfile.TemporaryDirectory(prefix="rota-test-")
        self.root = Path(self.outer.name) / "site"
        self.root.mkdir()
        (self.root.parent / "secret").write_text("outside")
        self.put("index.html", "<!doctype html><title>site</title><p id=here>here</p>")
        self.large = random.Random(1).randbytes(LARGE)
        self.put("large.bin", self.large)
        self.server = RotaHttp(command[0], "--files", self.root, *options, *command[1:])

    def put(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def get(self, path, **headers):
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.server.get("/files" + path, headers=fields)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.server.__exit__(*error)
        self.outer.cleanup()


def ask_raw(server, target, method="GET"):
    """For what no client would send: (status, body)."""
    with server.connect() as client:
        client.sendall(b"%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                       % (method.encode(), target.encode("latin-1")))
        head, body = read_answer(client)
    return int(head.split()[1]), body


def test_a_site_is_served(command):
    with Site(command) as site:
        site.put("a/b.css", "p {}")
        answer = site.get("/a/b.css")
        equal(answer.status, 200)
        equal(answer.body, b"p {}")
        equal(answer.headers["Content-Type"], "text/css; charset=utf-8")
        equal(answer.headers["Accept-Ranges"], "bytes")
        equal(answer.headers["X-Content-Type-Options"], "nosniff")
        check(b"here" in site.get("/").body, "the index")
        moved = site.server.get("/files")
        equal((moved.status, moved.headers["Location"]), (301, "/files/"))
        equal(site.get("/a").headers["Location"], "/files/a/")
        equal(site.get("/a/").status, 404)
        refused = site.server.request("POST", "/files/a/b.css", "x")
        equal((refused.status, refused.headers["Allow"]), (405, "GET, HEAD, OPTIONS"))
        equal(site.get("/a/b.css", If_None_Match=answer.headers["ETag"]).status, 304)


def test_files_of_all_sizes_are_exact_through_one_connection(command):
    with Site(command) as site:
        connection = site.server.session()
        for size in (0, 1, 1000, 16383, 16384, 65536, 262144, 262145, 1 << 20, (1 << 20) + 1):
            content = random.Random(size).randbytes(size)
            site.put(f"{size}", content)
            for _ in range(2):
                answer = site.server.get(f"/files/{size}", over=connection)
                equal((answer.status, len(answer.body)), (200, size))
                check(answer.body == content, f"{size} bytes are exact")
        equal(site.get("/large.bin").body == site.large, True)


def test_ranges(command):
    with Site(command) as site:
        for value, part in (("bytes=0-0", slice(0, 1)), ("bytes=-7", slice(LARGE - 7, LARGE)),
                            (f"bytes=5000000-{LARGE}", slice(5000000, LARGE)),
                            ("bytes=1000000-3999999", slice(1000000, 4000000))):
            answer = site.get("/large.bin", Range=value)
            equal(answer.status, 206)
            check(answer.body == site.large[part], value)
        several = site.get("/large.bin", Range="bytes=10-19,4000000-7999999,-3")
        equal(several.status, 206)
        check(several.headers["Content-Type"].startswith("multipart/byteranges"), "several parts")
        text = b"Content-Type: " + several.headers["Content-Type"].encode() + b"\r\n\r\n"
        parts = email.parser.BytesParser().parsebytes(text + several.body).get_payload()
        equal([part["Content-Range"] for part in parts],
              [f"bytes 10-19/{LARGE}", f"bytes 4000000-7999999/{LARGE}",
               f"bytes {LARGE - 3}-{LARGE - 1}/{LARGE}"])
        check(site.large[4000000:8000000] in several.body, "a part is exact")
        equal(site.get("/large.bin", Range=f"bytes={LARGE}-").headers["Content-Range"],
              f"bytes */{LARGE}")


def test_a_date_goes_with_no_part_of_what_is_coded(command):
    with Site(command) as site:
        for name in ("a.txt", "short.txt", "a.png"):
            os.utime(site.put(name, "0123456789" * (5 if name == "short.txt" else 500)), (1e9, 1e9))
        date = site.get("/a.txt").headers["Last-Modified"]
        part = {"Range": "bytes=2-4", "If-Range": date}
        whole = site.get("/a.txt", Accept_Encoding="gzip", **part)
        equal((whole.status, whole.headers["Content-Encoding"]), (200, "gzip"))
        equal(gzip.decompress(whole.body), b"0123456789" * 500)
        tag = {"Range": "bytes=2-4", "If-Range": site.get("/a.txt").headers["ETag"]}
        for path, fields in (("/a.txt", part), ("/a.txt", {**part, "Accept-Encoding": "identity"}),
                             ("/a.txt", {**tag, "Accept-Encoding": "gzip"}),
                             ("/short.txt", {**part, "Accept-Encoding": "gzip"}),
                             ("/a.png", {**part, "Accept-Encoding": "gzip"})):
            answer = site.get(path, **fields)
            equal((answer.status, answer.body), (206, b"234"), (path, fields))


def test_siblings(command):
    with Site(command) as site:
        text = "function f() {}\n" * 500
        site.put("a.js", text)
        site.put("a.js.gz", gzip.compress(text.encode()))
        packed = site.get("/a.js", Accept_Encoding="gzip")
        equal(packed.headers["Content-Encoding"], "gzip")
        equal(packed.headers["Content-Type"], "text/javascript; charset=utf-8")
        equal(packed.headers["Vary"], "Accept-Encoding")
        equal(gzip.decompress(packed.body).decode(), text)
        plain = site.get("/a.js")
        equal(plain.body.decode(), text)
        check(plain.headers["ETag"] != packed.headers["ETag"], "tags differ")


def test_what_is_not_acceptable_is_so_whatever_is_asked(command):
    """Neither a condition nor a range comes before Accept-Encoding, and what depends on it says
    so."""
    with Site(command) as site:
        text = "function f() {}\n" * 500
        site.put("plain.js", text)
        site.put("short.js", "x")
        site.put("large.js", text * 200)
        site.put("packed.js", text)
        site.put("packed.js.gz", gzip.compress(text.encode()))
        site.put("a.png", text)
        for name in ("plain.js", "short.js", "large.js", "packed.js", "a.png"):
            tag = site.get("/" + name).headers["ETag"]
            asked = [{}, {"If-None-Match": tag}, {"If-None-Match": "*"}, {"If-Match": '"x"'},
                     {"If-Modified-Since": "Fri, 01 Jan 2038 00:00:00 GMT"},
                     {"Range": "bytes=0-0"}, {"Range": "bytes=-1,0-0"},
                     {"Range": "bytes=9999999-"}]
            for fields, usual in zip(asked, (200, 304, 304, 412, 304, 206, 206, 416)):
                def ask(accept, method="GET"):
                    answer = site.server.request(method, "/files/" + name,
                                                 headers={**fields, "Accept-Encoding": accept})
                    equal(answer.headers["Vary"], "Accept-Encoding", (name, fields, accept))
                    return answer.status, answer.headers["Content-Encoding"], answer.body
                ranged = "Range" in fields
                equal(ask("")[0], usual, (name, fields))
                equal(ask("identity;q=0")[0], 406, (name, fields))
                equal(ask("identity;q=0", "HEAD")[0], 406, (name, fields))
                status, coding, body = ask("identity;q=0, gzip")
                if name == "a.png":
                    equal(status, 406, fields)
                elif name == "packed.js":  # of which there are parts
                    usual = 200 if fields.get("If-None-Match") == tag else usual
                    equal(status, usual, fields)
                else:
                    equal(status, 200 if ranged else usual, (name, fields))
                    if status == 200:
                        equal((coding, gzip.decompress(body)),
                              ("gzip", (site.root / name).read_bytes()))
                    if "If-None-Match" in fields:
                        equal(body, b"")


def test_hostile_paths(command):
    with Site(command) as site:
        os.symlink("../secret", site.root / "out")
        os.symlink("/etc", site.root / "etc")
        os.symlink("index.html", site.root / "in")
        os.symlink(site.root / "index.html", site.root / "whole")
        os.mkfifo(site.root / "pipe")
        os.symlink("/dev/zero", site.root / "zero")
        site.put(".git/config", "hidden")
        for path in ("../secret", "..%2fsecret", "%2e%2e/secret", "%2e%2e%2fsecret", "..%5csecret",
                     "..\\secret", "/secret", "//etc/passwd", "%2fetc%2fpasswd",
                     "%252e%252e/secret",
                     "out", "etc/passwd", "etc/", ".git/config", "x/../.git/config", "pipe", "zero",
                     "....//secret", "a/../../secret", "%c0%ae%c0%ae/secret", "index.html%00.png",
                     "index.html/", "index.html/..", "." * 5000, "%2e", "%2e/", ".", "./", ".."):
            status, body = ask_raw(site.server, "/files/" + path)
            check(status in (400, 404, 414), f"{path[:40]}: {status}")
            check(b"outside" not in body and b"root:" not in body, path[:40])
        for path in ("in", "whole", "%69n"):
            equal(ask_raw(site.server, "/files/" + path)[0], 200, path)


def write_unseen(path):
    """In its place, with the time of the last write as it was."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(LARGE - 2)
        file.write(b"xx")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_who_is_at_work_gets_all_of_what_is_replaced(command):
    with Site(command) as site, site.server.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.sendall(b"GET /files/large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        client.recv(1, socket.MSG_PEEK)
        os.rename(site.put("new", "another"), site.root / "large.bin")
        check(read_answer(client)[1] == site.large, "all of the old one")


def test_a_file_that_shrinks_or_changes_is_never_whole(command):
    with Site(command) as site:
        path = site.root / "large.bin"
        for change in (lambda: os.truncate(path, LARGE // 2),
                       lambda: path.open("r+b").write(b"xx"),
                       lambda: write_unseen(path)):
            path.write_bytes(site.large)
            with site.server.connect() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
                client.sendall(b"GET /files/large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                client.recv(1000, socket.MSG_WAITALL)
                change()
                got = 1000
                try:
                    while piece := client.recv(1 << 20):
                        got += len(piece)
                except ConnectionResetError:
                    pass
                check(got < LARGE, f"{got} bytes came")


def test_what_is_deleted_is_let_go(command):
    with Site(command) as site:
        names = [f"{i}" for i in range(50)]
        for name in names:
            site.put(name, name)
        before = site.server.descriptors()
        for name in names:
            equal(site.get("/" + name).body, name.encode())
        check(site.server.descriptors() <= before + 60, "a descriptor a file")
        for name in names:
            (site.root / name).unlink()

        def gone():
            return all(site.get("/" + name).status == 404 for name in names)
        eventually(gone, "what is deleted is not there")
        check(site.server.descriptors() <= before + 5, "and holds no descriptor")


def test_curl_resumes(command):
    if not shutil.which("curl"):
        print("skipped: needs curl")
        return
    with Site(command) as site, tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "large"
        url = f"http://127.0.0.1:{site.server.port}/files/large.bin"
        into.write_bytes(site.large[:3_000_000])
        subprocess.run(["curl", "-sf", "-C", "-", "-o", into, url], check=True,
                       timeout=PATIENCE_S)
        check(into.read_bytes() == site.large, "what was resumed is exact")


def test_chromium_resumes(command):
    if reason := browser.unavailable():
        print(f"skipped: {reason}")
        return
    with Site(command) as site, browser.start() as chromium:
        chromium.open(f"http://127.0.0.1:{site.server.port}/files/")
        equal(chromium.wait_text("#here", "here"), "here")
        status, content_range, digest = chromium.call(
            "POST", "/execute/async", {"script": RESUME, "args": ["large.bin"]})
        equal((status, digest), (206, hashlib.sha256(site.large).hexdigest()))
        check(content_range.endswith(f"-{LARGE - 1}/{LARGE}"), content_range)


def test_a_directory_that_is_not_there(command):
    run = subprocess.run([*command, "--port", "0", "--files", "/nowhere/at/all"],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    equal(run.returncode, 1)
    check("/nowhere/at/all" in run.stdout + run.stderr, "it says which")


def test_many_clients_at_once(command):
    with Site(command) as site:
        digest = hashlib.sha256(site.large).hexdigest()
        wrong = []

        def load():
            answer = site.get("/large.bin")
            if hashlib.sha256(answer.body).hexdigest() != digest:
                wrong.append(answer.status)
        threads = [threading.Thread(target=load) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(wrong, [])
        site.server.check_memory(120 << 20)


def main():
    run_tests(globals(), [*sys.argv[1:], "--drain-timeout", "1s"])


if __name__ == "__main__":
    main()
