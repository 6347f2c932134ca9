"""Lines and branches that the tests reached, by room: coverage.py SOURCE BUILD [--lines].

Reads gcov's counters with gcovr. Branches that only an exception thrown from a call would take are
left out, since GCC counts two for nearly every call; so are those that no source line asks for.
The counters of the rooms' own objects are read, not those of the tests: that takes ten times as
long. --lines also lists what was not reached, file by file.
"""

import argparse
import json
import os
import subprocess
import sys

ROOMS = ("framework", "json", "io/http_server", "io/http1", "io/http2", "io/http", "io", "apps")


def measure(source, build):
    filters = [part for room in ROOMS for part in ("--filter", f"{source}/{room}/")]
    done = subprocess.run(
        ["gcovr", "-j", str(os.cpu_count()), "--root", source, *filters, "--json", "-",
         "--exclude-throw-branches", "--exclude-unreachable-branches",
         "--gcov-ignore-parse-errors", *(f"{build}/{p}" for p in ("framework", "io", "apps"))],
        check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["files"]


def room_of(path):
    if path.startswith("apps/"):
        return "/".join(path.split("/")[:2])
    return next(room for room in ROOMS if path.startswith(room + "/"))


class tally:
    def __init__(self):
        self.lines = self.lines_hit = self.branches = self.branches_hit = 0

    def add(self, lines):
        for line in lines:
            if line.get("gcovr/noncode"):
                continue
            self.lines += 1
            self.lines_hit += line["count"] > 0
            self.branches += len(line["branches"])
            self.branches_hit += sum(branch["count"] > 0 for branch in line["branches"])

    def row(self, name):
        def share(hit, of):
            return f"{100 * hit / of:.1f}%" if of else "-"

        return (f"| {name} | {self.lines_hit} of {self.lines} | {share(self.lines_hit, self.lines)}"
                f" | {share(self.branches_hit, self.branches)} |")


def ranges(numbers):
    """[3, 4, 5, 9] -> '3-5, 9'"""
    parts = []
    for n in numbers:
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("source")
    options.add_argument("build")
    options.add_argument("--lines", action="store_true")
    given = options.parse_args()
    files = measure(given.source, given.build)
    if not files:
        sys.exit("coverage: no counters found: have the tests run?")
    rooms, whole = {}, tally()
    for file in files:
        rooms.setdefault(room_of(file["file"]), tally()).add(file["lines"])
        whole.add(file["lines"])
    print("| room | lines | | branches |\n|---|---|---|---|")
    for name in sorted(rooms):
        print(rooms[name].row(name))
    print(whole.row("all"))
    if given.lines:
        print()
        for file in files:
            missed = [line["line_number"] for line in file["lines"]
                      if line["count"] == 0 and not line.get("gcovr/noncode")]
            if missed:
                print(f"{file['file']}: {ranges(missed)}")


if __name__ == "__main__":
    main()
