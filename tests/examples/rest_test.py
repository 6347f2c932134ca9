"""The REST example, asked by curl: rest_test.py PROGRAM."""

import json
import os
import subprocess
import sys
import tempfile

from programs import Program, equal

PROBLEM = "application/problem+json"


class Api:
    """What curl gets: the status, the type and the content."""

    def __init__(self, address):
        self.base = f"http://{address[0]}:{address[1]}"

    def __call__(self, method, path, content=None):
        command = ["curl", "-s", "--max-time", "60", "-X", method, self.base + path,
                   "-w", "\n%{http_code} %{content_type} %header{location}"]
        if content is not None:
            command += ["--data-binary", "@-"]
        text = content if isinstance(content, str) else json.dumps(content)
        out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        body, _, last = out.rpartition("\n")
        status, kind, *location = last.split(" ")
        self.location = location[0] if location else ""
        return int(status), kind, json.loads(body) if body.strip() else None


def problem_of(answer):
    status, kind, content = answer
    equal(kind, PROBLEM, content)
    equal(content["status"], status, content)
    return status, content.get("detail", "")


def test_items(api):
    equal(api("GET", "/items"), (200, "application/json", []))
    pen = {"id": 1, "name": "pen", "count": 3}
    equal(api("POST", "/items", {"name": "pen", "count": 3}), (201, "application/json", pen))
    equal(api.location, "/items/1")
    ink = {"id": 2, "name": "Tinte \u00fc\u20ac", "count": 0, "note": "blue\n"}
    equal(api("POST", "/items", {"name": ink["name"], "note": ink["note"]})[2], ink)
    equal(api("GET", "/items")[2], [pen, ink])
    equal(api("GET", "/items?limit=1")[2], [pen])
    equal(api("GET", "/items?after=1")[2], [ink])
    equal(api("GET", "/items/2")[2], ink)
    changed = {"id": 2, "name": "ink", "count": 7}
    equal(api("PUT", "/items/2", {"name": "ink", "count": 7})[2], changed)
    equal(api("GET", "/items/2")[2], changed)
    equal(api("DELETE", "/items/2")[0], 204)
    equal(problem_of(api("GET", "/items/2")), (404, "there is no item of that id"))


def test_what_is_wrong(api):
    equal(problem_of(api("POST", "/items", {"name": "pen"})),
          (409, "there is an item of that name"))
    equal(problem_of(api("POST", "/items", {"name": ""})),
          (400, 'name: expected 1 to 100 characters, got ""'))
    equal(problem_of(api("POST", "/items", {"count": 1})), (400, "name: is missing"))
    equal(problem_of(api("POST", "/items", {"name": "x", "count": -1})),
          (400, "count: expected a number from 0 to 1000000, got -1"))
    equal(problem_of(api("POST", "/items", '{"name": "x"'))[0], 400)
    equal(problem_of(api("POST", "/items", "x" * 2_000_000))[0], 413)
    equal(problem_of(api("PUT", "/items/9", {"name": "x"})),
          (404, "there is no item of that id"))
    equal(problem_of(api("DELETE", "/items/9"))[0], 404)
    status, detail = problem_of(api("GET", "/items/x"))
    equal((status, detail[:34]), (400, "parameter id: expected an integer "))
    equal(problem_of(api("GET", "/items?limit=101")),
          (400, 'query parameter limit: expected 1 to 100, got "101"'))
    equal(problem_of(api("GET", "/none")), (404, ""))
    equal(problem_of(api("PATCH", "/items/1", "{}")), (405, ""))
    equal(problem_of(api("GET", "/items/1%zz"))[0], 400)


def test_it_is_kept(program, file):
    with Program(program, "127.0.0.1:0", file) as server:
        equal(Api(server.address())("GET", "/items")[2], [{"id": 1, "name": "pen", "count": 3}])
        port = server.address()[1]
        with Program(program, str(port), file) as second:
            equal(second.wait(), 1, "its port is in use")
            [line] = [line for line in second.output().splitlines() if "[critical]" in line]
            assert "Address already in use" in line, line
            assert "take another port" in line, line
    with Program(program, "127.0.0.1:99999", file) as wrong:
        equal(wrong.wait(), 1, "no address")
        assert "the port is not a number from 0 to 65535" in wrong.output()
    with Program(program, "127.0.0.1:0", "/nowhere/items.db") as wrong:
        equal(wrong.wait(), 1, "no file")
        assert "/nowhere/items.db: unable to open database file" in wrong.output()


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "items.db")
        with Program(program, "127.0.0.1:0", file) as server:
            api = Api(server.address())
            test_items(api)
            test_what_is_wrong(api)
        test_it_is_kept(program, file)


if __name__ == "__main__":
    main()
