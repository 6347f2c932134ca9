#!/usr/bin/env python3
"""Puts a file into the program: makes a C++ header of it, at build time.

usage: embed.py <namespace> <file> <header>

The header has the file's bytes as `<namespace>::<name>`, a std::string_view in static storage, and
`<name>` is the file's name with every other character than a letter or a digit as "_":
page.html is page_html.
"""

import re
import sys
from pathlib import Path


def literal(byte):
    """A char of that value: written as an escape, so that no encoding matters."""
    return f"'\\{byte:o}'"


def header(namespace, name, data):
    rows = [data[i : i + 16] for i in range(0, len(data), 16)]
    # One more than there are, so that the array is never empty.
    chars = "".join("    " + "".join(literal(byte) + "," for byte in row) + "\n" for row in rows)
    return (
        "#pragma once\n\n#include <string_view>\n\n"
        f"namespace {namespace} {{\n\n"
        f"inline constexpr char {name}_bytes[] = {{\n{chars}    '\\0'}};\n"
        f"inline constexpr std::string_view {name}({name}_bytes, {len(data)});\n\n"
        f"}} // namespace {namespace}\n"
    )


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    namespace, file, made = sys.argv[1:]
    name = re.sub(r"[^0-9A-Za-z]", "_", Path(file).name)
    Path(made).write_text(header(namespace, name, Path(file).read_bytes()), encoding="ascii")


if __name__ == "__main__":
    main()
