#!/usr/bin/env python3
"""Compiles what people write and what must not compile, and looks at what the compiler says.

usage: refused_test.py <compiler command> <include folder>
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMPILER, INCLUDE = sys.argv[1:3]

PREFIX = """
#include <rota/channel.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>
#include <rota/under.hpp>
#include <rota/when_all.hpp>
#include <rota/when_any.hpp>
#include <rota/with_timeout.hpp>
using namespace std::chrono_literals;
using namespace rota;
struct fixed {
    fixed() = default;
    fixed(const fixed&) = delete;
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    void await_resume() const {}
};
"""
PROGRAM = """
task<void> f(channel<int>& c, inline_scheduler& s, task_group& g) {
    task<void> t = sleep_for(1s);
    auto w = c.pop();
    std::vector<task<void>> many;
    STATEMENT;
}
"""

MOVE_TASK = "a task is awaited once, so it is moved: write std::move(t)"
MOVE_WAIT = "a wait is awaited once, so it is moved: write std::move(w)"
MOVE_MANY = "what is awaited is moved: write std::move(children)"
REFUSED = {
    "co_await t": "a task is awaited once, so it is moved: write co_await std::move(t)",
    "co_await with_timeout(1s, t)": MOVE_TASK,
    "co_await when_any(c.pop(), t)": MOVE_TASK,
    "co_await when_all(c.pop(), t)": MOVE_TASK,
    "co_await under(std::stop_token(), t)": MOVE_TASK,
    "g.spawn(t)": MOVE_TASK,
    "s.spawn(t)": MOVE_TASK,
    "s.run_task(t)": MOVE_TASK,
    "co_await with_timeout(1s, w)": MOVE_WAIT,
    "co_await when_any(w, sleep_for(1s))": MOVE_WAIT,
    "co_await when_any(many)": MOVE_MANY,
    "co_await when_all(many)": MOVE_MANY,
    "co_await with_timeout(1s, fixed())": "has to be movable; write a lambda that awaits it",
    "co_await with_timeout(1s, 5)": "task_body",
}
COMPILED = [
    "co_await std::move(t)",
    "co_await with_timeout(1s, std::move(t))",
    "(void)co_await when_any(std::move(w), std::move(t))",
    "(void)co_await when_any(std::move(many))",
    "co_await when_all(std::move(many))",
    "(void)co_await with_timeout(1s, [&]() -> task<int> { co_await fixed(); co_return 1; })",
    "s.spawn(std::move(t))",
    "g.spawn(c.pop())",
]


WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]  # those of the strictest program
WORDS = [*COMPILER.split(), "-std=c++23", *WARNINGS, "-I", INCLUDE]


def precompile(folder):
    """What all programs begin with. The compiler finds it by its name: `prefix` and more."""
    Path(folder, "prefix").write_text(PREFIX)
    words = [*WORDS, "-x", "c++-header", f"{folder}/prefix", "-o", f"{folder}/prefix.gch"]
    subprocess.run(words, check=True)


def compile_with(statement, folder):
    words = [*WORDS, "-fsyntax-only", "-include", f"{folder}/prefix", "-x", "c++", "-"]
    text = PROGRAM.replace("STATEMENT", statement)
    return subprocess.run(words, input=text, capture_output=True, text=True, check=False)


# Compilers whose frames are displaced look at each co_await; others say it in their own words.
NO_WAIT = {"co_await c.size()": "there is nothing to wait for: call it without co_await"}


def looks_at_each_await():
    macros = subprocess.run([*COMPILER.split(), "-dM", "-E", "-x", "c++", "/dev/null"],
                            capture_output=True, text=True, check=True).stdout
    version = re.search(r"^#define __GNUC__ (\d+)", macros, re.M)
    return "__clang__" not in macros and int(version[1]) < 14


class Refused(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        precompile(cls.folder)

    def test_what_is_right_compiles(self):
        done = compile_with("; ".join(f"{{ {each}; }}" for each in COMPILED), self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_another_standard_is_refused_in_words(self):
        words = [word.replace("c++23", "c++20") for word in WORDS]
        done = subprocess.run([*words, "-fsyntax-only", "-x", "c++", "-"], input=PREFIX,
                              capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Rota needs C++23: -std=c++23", done.stderr)

    def test_what_is_wrong_says_what_to_write(self):
        refused = REFUSED | (NO_WAIT if looks_at_each_await() else {})
        for statement, text in refused.items():
            with self.subTest(statement):
                done = compile_with(statement, self.folder)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
