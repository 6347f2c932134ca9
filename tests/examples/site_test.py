"""The static site, asked by curl and by Chromium: site_test.py PROGRAM PUBLIC."""

import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import browser
from programs import Program, check, equal, eventually


def ask(url, *more):
    """What curl gets: the status and the fields, by their names in lower case."""
    command = ["curl", "-s", "--max-time", "60", "-o", "/dev/null", "-D", "-", *more, url]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, *lines = out.strip().splitlines()
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    return int(first.split()[1]), {name.lower(): value for name, value in fields.items()}


def main():
    program, public = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="rota-test-") as folder:
        site = Path(folder) / "public"
        shutil.copytree(public, site)
        page = (site / "index.html").read_bytes()
        (site / "index.html.gz").write_bytes(gzip.compress(page))
        (site / "long.txt").write_text("the same again and again\n" * 200)
        log = Path(folder) / "access.log"
        with Program(program, site, "127.0.0.1:0", log) as server:
            host, port = server.address()
            base = f"http://{host}:{port}"
            status, fields = ask(base + "/")
            equal((status, fields["cache-control"]), (200, "no-cache"))
            equal(ask(base + "/", "-H", f"If-None-Match: {fields['etag']}")[0], 304)
            equal(ask(base + "/", "-H", "Accept-Encoding: gzip")[1]["content-encoding"], "gzip")
            status, fields = ask(base + "/assets/site.1.css")
            equal(fields["content-type"], "text/css; charset=utf-8")
            check("immutable" in fields["cache-control"], fields)
            equal(ask(base + "/assets")[1]["location"], "/assets/")
            equal(ask(base + "/none")[0], 404)
            equal(ask(base + "//etc/passwd", "--path-as-is")[0], 404)
            status, fields = ask(base + "/long.txt", "-H", "Accept-Encoding: gzip")
            equal((status, fields["content-encoding"], fields["vary"]),
                  (200, "gzip", "Accept-Encoding"))
            refused = ask(base + "/long.txt", "-H", "Accept-Encoding: identity;q=0, *;q=0")
            equal((refused[0], refused[1]["content-type"]), (406, "text/html; charset=utf-8"))
            for path in ("/", "/none", "/long.txt"):
                fields = ask(base + path)[1]
                equal(fields["x-content-type-options"], "nosniff")
                check("default-src 'self'" in fields["content-security-policy"], fields)
            eventually(lambda: '"GET /none HTTP/1.1" 404 ' in log.read_text(), "it is in the log")
            if reason := browser.unavailable():
                print(f"without a browser: {reason}")
                return
            with browser.start() as chromium:
                chromium.open(base)
                equal(chromium.wait_text("h1", "A site"), "A site")
                colour = chromium.run("return getComputedStyle(document.querySelector('h1')).color")
                equal(colour, "rgb(0, 170, 85)")


if __name__ == "__main__":
    main()
