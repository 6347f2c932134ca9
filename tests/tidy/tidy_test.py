#!/usr/bin/env python3
"""Each rule of tidy.py finds what it is for, and nothing in a tree that is in order."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TIDY = Path(__file__).with_name("tidy.py")
IN_ORDER = {
    "io/meson.build": "files('src/a.cpp')\n",
    "io/src/a.cpp": "#include <liburing.h>\n#include <rota/io/a.hpp>\n#include <rota/task.hpp>\n",
    "io/include/rota/io/a.hpp": "#pragma once\n",
    "docs/reference/Doxyfile": "INPUT = io/include README.md\n",
    "tests/io/meson.build": "files('a.cpp')\n",
    "tests/io/a.cpp": "#include <catch2/catch_test_macros.hpp>\n",
}


def findings(changes):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**IN_ORDER, **changes}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        run = subprocess.run(
            [sys.executable, TIDY, folder], capture_output=True, text=True, check=False
        )
        lines = run.stdout.splitlines()
        assert run.returncode == (1 if lines else 0), run.stderr
        return lines


class Tidy(unittest.TestCase):
    def finds(self, name, text, what):
        lines = findings({name: text})
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(name + ":"), lines)
        self.assertIn(what, lines[0])

    def finds_nothing(self, name, text):
        self.assertEqual(findings({name: text}), [])

    def test_nothing_in_order(self):
        self.assertEqual(findings({}), [])

    def test_room_that_the_reference_lacks(self):
        self.finds("docs/reference/Doxyfile", "INPUT = io/http/include\n", "io/include is not read")

    def test_long_file(self):
        self.finds("io/src/a.cpp", "\n" * 501, "501 lines")

    def test_long_line(self):
        self.finds("io/src/a.cpp", "//" + "x" * 99 + "\n", "101 columns")

    def test_long_line_of_a_page(self):
        self.finds("a.md", "a b" + "x" * 126 + "\n", "129 columns; at most 128")
        self.finds("a.md", "```\nb\n```\n- a b" + "x" * 124 + "\n", "129 columns")

    def test_what_may_be_long_in_a_page(self):
        self.finds_nothing("a.md", "a b" + "x" * 125 + "\n")
        self.finds_nothing("a.md", "| a | b" + "x" * 128 + " |\n")
        self.finds_nothing("a.md", "```cpp\na b" + "x" * 128 + "\n```\n")
        self.finds_nothing("a.md", "    a b" + "x" * 128 + "\n")
        self.finds_nothing("a.md", "[a](" + "x" * 128 + ")\n")
        self.finds_nothing("bench/results/a.md", "a b" + "x" * 128 + "\n")

    def test_tab(self):
        self.finds("io/src/a.cpp", "\tint a;\n", "tab")

    def test_white_space_at_the_end(self):
        self.finds("io/src/a.cpp", "int a; \n", "white space")

    def test_missing_newline(self):
        self.finds("io/src/a.cpp", "int a;", "no newline")

    def test_long_function(self):
        long = "void a(int b,\n       int c) {\n" + "    b();\n" * 68 + "}\n"
        self.finds("io/src/a.cpp", long, "a function of 71 lines")
        self.finds("io/src/a.cpp", "int d;\n\n" + long, "a function of 71 lines")
        member = "    int a() const {\n" + "        b();\n" * 69 + "    }\n"
        self.finds("io/src/a.cpp", "class c {\n" + member + "};\n", "a function of 71 lines")
        of_lambda = "    const auto a = [] {\n" + "        b();\n" * 69 + "    };\n"
        self.finds("io/src/a.cpp", "class c {\n" + of_lambda.replace("[]", "[](int b)") + "};\n",
                   "a function of 71 lines")
        self.finds("tests/a.py", "def a():\n" + "    b()\n" * 70, "a function of 71 lines")

    def test_what_is_no_long_function(self):
        lines = "    b();\n" * 90
        self.finds_nothing("io/src/a.cpp", "void a() {\n" + "    b();\n" * 68 + "}\n")
        self.finds_nothing("io/src/a.cpp", "template <class T>\nclass a final {\n" + lines + "};\n")
        self.finds_nothing("io/src/a.cpp", "class a {\n    struct b {\n" + lines + "    };\n};\n")
        self.finds_nothing("io/src/a.cpp", "const table all = {\n" + lines + "};\n")

    def test_include_upwards(self):
        self.finds("io/src/a.cpp", "#include <rota/http/b.hpp>\n", "downwards only")

    def test_third_party_out_of_its_room(self):
        self.finds("io/src/a.cpp", "#include <llhttp.h>\n", "io/http1/src only")
        self.finds("io/include/rota/io/a.hpp", "#pragma once\n#include <liburing.h>\n", "io/src")
        self.finds("io/src/a.cpp", "#include <libpq-fe.h>\n", "apps/jobs/postgres only")
        self.finds("io/src/a.cpp", "#include <sqlite3.h>\n", "apps/jobs/sqlite")

    def test_include_of_a_parent(self):
        self.finds("io/src/a.cpp", '#include "../b.hpp"\n', "'..'")

    def test_no_pragma_once(self):
        self.finds("io/include/rota/io/a.hpp", "int a;\n", "#pragma once")

    def test_header_without_test(self):
        self.finds("io/include/rota/io/b.hpp", "#pragma once\n", "no test tests/io/.../b.cpp")

    def test_header_covered_elsewhere(self):
        header = {"io/include/rota/io/b.hpp": "#pragma once\n"}
        listing = "tests/tidy/covered_elsewhere.txt"
        covered = "io/include/rota/io/b: tests/io/a.cpp\n"
        self.assertEqual(findings({**header, listing: covered}), [])
        self.finds(listing, covered, "no such source")

    def test_what_is_made_in_an_await(self):
        for wrong in ("co_await f(job{1, text});", "co_await f(a ? b : c);",
                      "if (co_await f(g(1, pair<int>{1, 2}))) return;",
                      "co_await f([text] { use(text); });",
                      "co_await f([t = std::move(t)](int n) -> task<void> { use(t); });"):
            self.finds("io/src/a.cpp", wrong + "\n", "is made in what is awaited")
        for right in ("co_await f(std::move(job), std::string(\"x\"), {});",
                      "a ? co_await f() : 0;", "co_await f([&] { g{1}; });",
                      "while (auto x = co_await f(1)) { job j{1, x}; }",
                      "x = co_await f(g(1)); y = z ? 1 : 2;", "auto operator co_await() { r{1}; }",
                      "co_await f([]() -> task<void> { g(job{1}); });", "// co_await f(job{1});"):
            self.assertEqual(findings({"io/src/a.cpp": right + "\n"}), [], right)

    def test_what_is_named_for_nothing(self):
        for wrong in ("    task<int> a = f(std::move(b));\n    return co_await std::move(a);\n",
                      "    auto a = rota::f(\n        b);\n    const int c =\n"
                      "        g(co_await std::move(a));\n"):
            self.finds("io/src/a.cpp", wrong, "a needs no name")
        for right in ("    task<int> a = f({b});\n    co_await std::move(a);\n",
                      "    auto a = b ? f() : g();\n    co_await std::move(a);\n",
                      "    auto a = f([c] { g(c); });\n    co_await std::move(a);\n",
                      "    auto a = f();\n    g();\n    co_await std::move(a);\n",
                      "    task<int> a = f();\n    co_await a.under(b);\n"):
            self.finds_nothing("io/src/a.cpp", right)

    def test_unlisted_source(self):
        self.finds("tests/io/b.cpp", "int b;\n", "no meson.build lists")


if __name__ == "__main__":
    unittest.main()
