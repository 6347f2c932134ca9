#!/usr/bin/env python3
"""What times the compiler: it measures what compiles, says what does not, and tells all of it."""

import contextlib
import importlib.util
import io
import os
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "bench/compile/__main__.py"
spec = importlib.util.spec_from_file_location("bench_compile", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
COMPILER = os.environ.get("CXX", "c++").split()[-1]


class Compile(unittest.TestCase):
    def test_measures_what_compiles(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            programs = tool.measure(COMPILER, 2, [
                tool.Program("good", "#include <cstddef>\nint main() {}\n", "cstddef"),
                tool.Program("missing", "#include <not_there.hpp>\nint main() {}\n",
                             "not_there.hpp"),
            ])
        self.assertEqual([program.name for program in programs], ["good"])
        self.assertIn("<not_there.hpp>", said.getvalue())
        for level in tool.LEVELS:
            self.assertEqual(len(programs[0].seconds[level]), 2)
            self.assertGreater(min(programs[0].seconds[level]), 0)
        self.assertGreater(programs[0].memory_mib, 0)
        self.assertGreater(programs[0].lines, 2)
        table = tool.table(COMPILER, 2, programs)
        self.assertIn("| good | ", table)
        self.assertIn("medians of 2", table)

    def test_the_server_of_the_readme_compiles(self):
        server = tool.Program("Rota", tool.readme_server(), "", tool.ROTA_INCLUDES)
        with tempfile.TemporaryDirectory() as folder:
            command = [COMPILER, "-std=c++23", "-fsyntax-only"]
            self.assertIsNotNone(tool.compiled(command, server, folder))


if __name__ == "__main__":
    unittest.main()
