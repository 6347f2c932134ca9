#!/usr/bin/env python3
"""What a browser sends as forms, and makes of cookies: a headless Chromium. Skipped (exit code 77)
where there is none.

usage: forms_browser_test.py <rota-http> [options of rota-http...]
"""

import hashlib
import json
import sys

import browser
from programs import equal, run_tests
from rota_http import RotaHttp

VALUES = ["plain", " ä€😀 ", "a=b&c+d%20", "two\r\nlines", '"quoted"; \\', "\x01\x7f", ""]
# A form that a person fills in and sends: the page that comes is the answer.
SUBMIT = """
const [enctype, values, files] = arguments;
const form = document.createElement("form");
Object.assign(form, {method: "POST", action: "/form", enctype});
for (const value of values) {
  const field = document.createElement("textarea");
  Object.assign(field, {name: 'na"me ä', value});
  form.append(field);
}
for (const [name, content, type] of files) {
  const field = document.createElement("input");
  Object.assign(field, {type: "file", name: "file"});
  const chosen = new DataTransfer();
  chosen.items.add(new File([content], name, {type}));
  field.files = chosen.files;
  form.append(field);
}
const empty = document.createElement("input");
Object.assign(empty, {type: "file", name: "none"});
if (enctype === "multipart/form-data") form.append(empty);
document.body.append(form);
form.submit();
"""
FETCH = """
const done = arguments[arguments.length - 1];
const text = async (body) => (await fetch("/form", {method: "POST", body})).json();
(async () => {
  const data = new FormData();
  data.append("a", "1");
  data.append("f", new Blob([new Uint8Array(300000)]), "blob.bin");
  data.append("", "no name");
  data.append("b\\\\", "2");
  data.append("g\\\\", new Blob([]), "\\x01\\t\\x7f\\\\");
  done([await text(new FormData()), await text(data),
        await text(new URLSearchParams([["a", "1 +&="], ["a", "ä"]]))]);
})().catch((error) => done(String(error)));
"""
COOKIES = """
const done = arguments[arguments.length - 1];
const set = async (query) => (await fetch("/cookies?" + query, {method: "POST"})).status;
const listed = async () =>
  (await (await fetch("/cookies")).json()).map((each) => each.name + "=" + each.value);
(async () => {
  const statuses = [await set("name=a&value=1&path=/"), await set("name=b&value=2&http_only=1"),
                    await set("name=deep&value=3&path=/cookies"),
                    await set("name=other&value=4&path=/other"),
                    await set("name=__Host-h&value=5&path=/&secure=true"),
                    await set("name=c&value=x+y")];
  const first = await listed();
  const seen = document.cookie;
  await set("name=a&value=&max_age=0&path=/");
  done([statuses, first.sort(), seen, (await listed()).sort()]);
})().catch((error) => done(String(error)));
"""


def later(chromium, script, *arguments):
    return chromium.call("POST", "/execute/async", {"script": script, "args": list(arguments)})


def test_forms_that_are_sent(chromium, program, options):
    contents = [("a.txt", "some\r\ntext", "text/plain"), ('q"uo\\te %41ä.html', "<p>", "text/html"),
                ("x.unknown", "", "")]
    with RotaHttp(program, *options) as server:
        for enctype, files in (("application/x-www-form-urlencoded", []),
                               ("multipart/form-data", contents)):
            chromium.open(f"http://127.0.0.1:{server.port}/plaintext")
            chromium.run(SUBMIT, enctype, VALUES, files)
            shown = json.loads(chromium.wait_text("body", '^{"fields":'))
            equal(shown["fields"], [{"name": 'na"me ä', "value": value} for value in VALUES])
            expected = [{"name": "file",
                         # Escapes are taken for bytes, as RFC 7578 has it.
                         "filename": name.replace("%41", "A"),
                         "type": kind or "application/octet-stream", "size": len(content),
                         "sha256": hashlib.sha256(content.encode()).hexdigest()}
                        for name, content, kind in files]
            if files:
                expected.append({"name": "none", "filename": "",
                                 "type": "application/octet-stream", "size": 0,
                                 "sha256": hashlib.sha256().hexdigest()})
            equal(shown["files"], expected)


def test_forms_of_scripts(chromium, program, options):
    with RotaHttp(program, *options) as server:
        chromium.open(f"http://127.0.0.1:{server.port}/plaintext")
        nothing, data, encoded = later(chromium, FETCH)
        equal(nothing, {"fields": [], "files": []})
        equal(data["fields"], [{"name": "a", "value": "1"}, {"name": "", "value": "no name"},
                               {"name": "b\\", "value": "2"}])
        equal((data["files"][1]["name"], data["files"][1]["filename"]), ("g\\", "\x01\t\x7f\\"))
        equal((data["files"][0]["filename"], data["files"][0]["size"]), ("blob.bin", 300_000))
        equal(data["files"][0]["sha256"], hashlib.sha256(bytes(300_000)).hexdigest())
        equal(encoded["fields"], [{"name": "a", "value": "1 +&="}, {"name": "a", "value": "ä"}])


def test_cookies(chromium, program, options):
    with RotaHttp(program, *options) as server:
        chromium.open(f"http://127.0.0.1:{server.port}/plaintext")
        statuses, first, seen, after = later(chromium, COOKIES)
        equal(statuses, [204] * 5 + [400])
        # A loopback address is trustworthy enough for secure cookies.
        equal(first, ["__Host-h=5", "a=1", "b=2", "deep=3"])
        equal(sorted(seen.split("; ")), ["__Host-h=5", "a=1"])
        equal(after, ["__Host-h=5", "b=2", "deep=3"])


def main():
    program, *options = sys.argv[1:]
    options += ["--drain-timeout", "1s"]
    with browser.start_or_skip() as chromium:
        run_tests(globals(), chromium, program, options)


if __name__ == "__main__":
    main()
