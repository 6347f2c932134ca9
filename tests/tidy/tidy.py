#!/usr/bin/env python3
"""Rules that no compiler checks: sizes, whitespace, who may include whom, a test per source.

usage: tidy.py <source root>      prints file:line: what is wrong; exits 1 if anything is
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

LINES_MAX = 500
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
PAGE_COLUMNS_MAX = 128  # of .md
CODE = {".cpp", ".hpp", ".h", ".c", ".py", ".sh", ".build", ".options"}
NO_SUFFIX = {"build", "dev", "run", "pre-commit"}
COMPILED = {"framework", "io", "apps", "tests", "bench", "examples"}
AWAITING = {"framework", "io", "json", "apps", "examples", "bench"}
# Pages that programs write, as they come.
NOT_WRAPPED = Path("bench/results")
# Folders whose sources something else compiles.
NOT_BY_MESON = {"compile", "consumer", "peers", "tidy"}
ROOMS = {
    # folder: (where its tests are, the include prefixes of the rooms it may see)
    "io/http_server": ("tests/io/http_server", {"rota/http/", "rota/io/", "rota/"}),
    "io/http_coding": ("tests/io/http_coding", {"rota/coding/", "rota/http/", "rota/"}),
    "io/websocket": ("tests/io/websocket", {"rota/coding/", "rota/http/", "rota/io/", "rota/"}),
    "io/files": ("tests/io/files", {"rota/http/", "rota/io/", "rota/"}),
    "io/http1": ("tests/io/http1", {"rota/http/", "rota/io/", "rota/"}),
    "io/http2": ("tests/io/http2", {"rota/http/", "rota/io/", "rota/"}),
    "io/http": ("tests/io/http", {"rota/crypto/", "rota/http/", "rota/io/", "rota/json/", "rota/"}),
    "io/coding": ("tests/io/coding", {"rota/coding/"}),
    "io/tls": ("tests/io/tls", {"rota/crypto/", "rota/io/", "rota/"}),
    "io": ("tests/io", {"rota/io/", "rota/"}),
    "framework": ("tests/framework", {"rota/"}),
    "json": ("tests/json", {"rota/json/"}),
    "apps": ("tests/apps", {"rota/coding/", "rota/crypto/", "rota/http/", "rota/io/", "rota/json/",
                            "rota/"}),
}
# Third parties: the only folders that may include them.
THIRD_PARTIES = {
    "brotli": {"io/coding/src"},
    "zlib.h": {"io/coding/src"},
    "zstd.h": {"io/coding/src"},
    "zstd_errors.h": {"io/coding/src"},
    "liburing": {"io/src", "tests/io", "bench"},
    "liburing.h": {"io/src", "tests/io", "bench"},
    "llhttp.h": {"io/http1/src"},
    "nghttp2": {"io/http2/src", "tests/io/http2"},
    "openssl": {"io/tls/src", "tests/io/tls", "tests/sim"},
    "spdlog": {"io/src", "apps", "tests/io", "tests/apps", "tests/sim", "bench"},
    "fmt": {"io/src", "io/include/rota/io", "apps", "tests", "bench"},
    "libpq-fe.h": {"apps/jobs/postgres"},
    "sqlite3.h": {"apps/jobs/sqlite", "tests/apps/jobs/sqlite", "examples/rest"},
    "catch2": {"tests"},
    "CLI": {"apps", "bench"},
    "yyjson.h": {"json/src", "bench"},
}
# Lines of "path without suffix: path of the test that covers it", where that is not the same stem.
COVERED_ELSEWHERE = "tests/tidy/covered_elsewhere.txt"
NO_FUNCTION = re.compile(
    r"(template <.*?> *(requires .*)?)?(class|struct|union|enum|extern|TEST_CASE)\b"
)
REFERENCE = Path("docs/reference/Doxyfile")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def tracked(root):
    """Files under version control or about to be; every file where there is no git."""
    git = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        listing = subprocess.run(git, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        names = [name for name in listing.stdout.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [
            str(path.relative_to(root))
            for path in root.rglob("*")
            if not re.match(r"(\.git|\.cache|build[^/]*|subprojects)/", str(path.relative_to(root)))
        ]
    return sorted(Path(name) for name in set(names) if (root / name).is_file())


def room_of(path):
    return next((room for room in ROOMS if str(path).startswith(room + "/")), None)


def text_problems(path, text):
    lines = text.split("\n")
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end of the file"
    if len(lines) - 1 > LINES_MAX:
        yield len(lines), f"{len(lines) - 1} lines; at most {LINES_MAX}"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns; at most {COLUMNS_MAX}"
        if line != line.rstrip():
            yield number, "white space at the end of the line"
        if "\t" in line:
            yield number, "tab"


def page_problems(text):
    """Lines of a page that do not wrap; tables and code cannot, nor what has no space."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif len(line) > PAGE_COLUMNS_MAX and not fenced and " " in line.strip():
            if not line.startswith(("|", "    ")):
                yield number, f"{len(line)} columns; at most {PAGE_COLUMNS_MAX} in a page"


def inner_functions(lines):
    """Where members that a class defines and lambdas begin, and how long they are: what is indented
    and opens a brace behind parentheses, up to the line that closes it."""
    no_function = re.compile(r"(if|for|while|switch|else|do|try|catch|namespace|[}])\b")
    for begin, line in enumerate(lines):
        found = re.match(r"( +)(\S.*\(.*)\{$", line)
        if not found or no_function.match(found[2]) or NO_FUNCTION.match(found[2]):
            continue
        closes = re.compile(f" {{0,{len(found[1])}}}}}")
        rest = enumerate(lines[begin + 1 :], 2)
        yield begin + 1, next((length for length, end in rest if closes.match(end)), 1)


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def too_long(functions):
    for begin, length in functions:
        if length > FUNCTION_LINES_MAX:
            yield begin, f"a function of {length} lines; at most {FUNCTION_LINES_MAX}"


def outer_functions(lines):
    """The same of functions that begin in the first column."""
    head, begin, inside = "", 0, False  # of what begins there, and whether its braces are open
    for number, line in enumerate(lines, 1):
        if inside:
            function = "(" in head and not NO_FUNCTION.match(head)
            values = "(" not in head and not NO_FUNCTION.match(head)  # may end behind one of them
            if line.startswith("}") or values and line.endswith("};"):
                if function:
                    yield begin, number - begin + 1
                inside, head = False, ""
        elif not line or line[0] in "}/#" or line.endswith(";"):
            head = ""
        else:
            begin = begin if head else number
            head += line + " "
            inside = line.endswith("{") and not line.startswith("namespace")
            head = "" if line.startswith("namespace") else head


def include_problems(path, text):
    room = room_of(path)
    for number, line in enumerate(text.split("\n"), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        name = found[2]
        folders = THIRD_PARTIES.get(name.split("/")[0])
        if folders and not any(str(path).startswith(folder + "/") for folder in folders):
            yield number, f"<{name}> may be included in {', '.join(sorted(folders))} only"
        if ".." in name.split("/"):
            yield number, f"include of a path with '..': {name}"
        if room and name.startswith("rota/"):
            prefix = re.match(r"rota/((coding|crypto|io|http|json)/)?", name)[0]
            if prefix not in ROOMS[room][1]:
                yield number, f"{room} may not include {name}: includes go downwards only"
    if path.suffix == ".hpp" and path.parts[-2] != "pch" and "#pragma once" not in text:
        yield 1, "no #pragma once"


def closing(text, at):
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def arguments_of_await(text, at):
    """What is between the brackets of the expression that is awaited from `at` on, without the
    bodies of lambdas, each of which is left as its captures and "{}"."""
    found, depth = "", 0
    while at < len(text):
        c = text[at]
        if c in ")]}" and depth == 0 or c in ";{" and depth == 0:
            break
        if c == "[" and re.search(r"[(,]\s*$", text[:at]):  # a lambda
            end = closing(text, at)
            body = text.find("{", end)
            found += text[at:end] + "{}"
            at = closing(text, body)
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(c, 0)
        found += c if depth > 0 else " "
        at += 1
    return found


def await_problems(text):
    """What GCC 12 destroys twice if it needs a destructor (docs/guide/coroutines.md)."""
    code = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), text)
    for found in re.finditer(r"(?<!operator )\bco_await\b", code):
        inside = arguments_of_await(code, found.end())
        lambdas = re.findall(r"\[([^\]]*)\]\{\}", inside)
        what = (
            "the result of ?:" if "?" in inside
            else "an aggregate" if re.search(r"[\w>]\s*\{(?!\})", inside)
            else "a lambda that captures by value" if any(
                re.search(r"(^|,)\s*[\w*]|=", captures) for captures in lambdas)
            else None
        )
        if what:
            yield code.count("\n", 0, found.start()) + 1, f"{what} is made in what is awaited"


def needless_names(text):
    """Tasks that are named only to be awaited in the next statement, where none of the above is."""
    named = re.compile(
        r"^[ \t]*(?:(?:rota::)?task<[^;=\n]*>|auto) (\w+) =\s*([^;{?\[]*);\s+"
        r"(?=[^;{}]*\bco_await\s+std::move\(\1\))",
        re.MULTILINE,
    )
    for found in named.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, f"{found[1]} needs no name to be awaited"


def covered_elsewhere(files, root):
    """The exceptions to the rule of stems: what is covered, and what is wrong with the list."""
    covered, wrong = set(), []
    listing = root / COVERED_ELSEWHERE
    lines = listing.read_text().split("\n") if listing.exists() else []
    existing = {str(path.with_suffix("")) for path in files if path.suffix in {".cpp", ".hpp"}}
    for number, line in enumerate(lines, 1):
        if line and not line.startswith("#"):
            what, _, test = line.partition(": ")
            covered.add(what)
            if what not in existing or not (root / test).is_file():
                wrong.append((Path(COVERED_ELSEWHERE), number, "no such source, or no such test"))
    return covered, wrong


def without_test(files, elsewhere):
    """Every source and header of a room has a test of the same stem in the mirroring folder."""
    stems = {}
    for room, (tests, _) in ROOMS.items():
        stems[room] = {
            path.stem
            for path in files
            if str(path).startswith(tests + "/") and path.suffix == ".cpp"
        }
    for path in files:
        room = room_of(path)
        if room and path.suffix in {".cpp", ".hpp"} and path.stem not in stems[room]:
            if str(path.with_suffix("")) not in elsewhere:
                stems[room].add(path.stem)  # said once
                yield path, 1, f"no test {ROOMS[room][0]}/.../{path.stem}.cpp"


def unlisted(files, root):
    """A source that no meson.build names is compiled by nobody."""
    builds = [path for path in files if path.name == "meson.build"]
    named = set()
    for build in builds:
        listed = re.findall(r"'([^'\n]+\.(?:cpp|hpp))'", (root / build).read_text())
        named |= {build.parent / name for name in listed}
    for path in files:
        if path.suffix == ".cpp" and path.parts[0] in COMPILED:
            if path not in named and not NOT_BY_MESON.intersection(path.parts):
                yield path, 1, "no meson.build lists this file"


def not_in_reference(files, root):
    """What users include and the reference does not read."""
    settings = root / REFERENCE
    named = settings.read_text().split() if settings.exists() else []
    folders = {
        Path(*path.parts[: path.parts.index("include") + 1])
        for path in files
        if path.suffix == ".hpp" and "include" in path.parts
    }
    for folder in sorted(folders):
        if str(folder) not in named:
            yield REFERENCE, 1, f"{folder} is not read"


def problems(root):
    files = tracked(root)
    for path in files:
        if path.suffix == ".md" and NOT_WRAPPED not in path.parents:
            text = (root / path).read_text()
            yield from ((path, line, what) for line, what in page_problems(text))
        if path.suffix not in CODE and path.name not in NO_SUFFIX:
            continue
        text = (root / path).read_text()
        yield from ((path, line, what) for line, what in text_problems(path, text))
        if path.suffix in {".cpp", ".hpp"}:
            yield from ((path, line, what) for line, what in include_problems(path, text))
            if path.parts[0] != "tests":  # tables are long
                lines = text.split("\n")
                functions = [*outer_functions(lines), *inner_functions(lines)]
                yield from ((path, line, what) for line, what in too_long(functions))
            if path.parts[0] in AWAITING:
                yield from ((path, line, what) for line, what in await_problems(text))
                yield from ((path, line, what) for line, what in needless_names(text))
        if path.suffix == ".py":
            yield from ((path, line, what) for line, what in too_long(python_functions(text)))
    elsewhere, wrong = covered_elsewhere(files, root)
    yield from wrong
    yield from without_test(files, elsewhere)
    yield from unlisted(files, root)
    yield from not_in_reference(files, root)


def main():
    found = 0
    for path, line, what in problems(Path(sys.argv[1]).resolve()):
        print(f"{path}:{line}: {what}")
        found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
