#!/usr/bin/env python3
"""What a user can include: the headers of the libraries are those of public_headers.txt, and what
programs are shown includes no others.

usage: public_headers.py <source root>

A header that comes or goes is a change for users: it gets a line there and one in CHANGELOG.md.
What is in a folder `detail` is not for users. (That each compiles by itself is seen at its test,
which includes it first.)
"""

import re
import sys
from pathlib import Path

ROOTS = ("framework/include", "io/include", "io/http/include", "io/http1/include",
         "io/http2/include", "io/files/include", "io/http_server/include", "io/tls/include",
         "json/include", "io/coding/include", "io/http_coding/include", "io/websocket/include")
SHOWN = ("README.md", "docs/guide/*.md", "examples/**/*.cpp", "apps/**/*.cpp", "apps/**/*.hpp",
         "tests/consumer/project/*.cpp")
# What our own programs need of the inside: how a failure is worded, fields in every answer, and the
# threads and work of a store.
INSIDE = {
    ("apps/http", "rota/io/detail/failure.hpp"),
    ("apps/http", "rota/http/detail/request_access.hpp"),
    ("apps/jobs", "rota/detail/parker.hpp"),
    ("apps/jobs", "rota/detail/quiet_thread.hpp"),
    ("apps/jobs", "rota/detail/runnable.hpp"),
}


def headers_of(source):
    found = (path.relative_to(source / root) for root in ROOTS
             for path in (source / root).rglob("*.hpp"))
    return sorted(str(path) for path in found)


def shown(source):
    for pattern in SHOWN:
        for path in sorted(source.glob(pattern)):
            for header in re.findall(r"#include <(rota/[^>]+)>", path.read_text()):
                yield path.relative_to(source), header


def main():
    source = Path(sys.argv[1])
    listed = (source / "tests/rooms/public_headers.txt").read_text().split()
    public = [header for header in headers_of(source) if "/detail/" not in header]
    wrong = [f"<{header}> is new: list it" for header in set(public) - set(listed)]
    wrong += [f"<{header}> is listed and not there" for header in set(listed) - set(public)]
    wrong += [f"{path} includes <{header}>" for path, header in shown(source)
              if header not in public and ("/".join(path.parts[:2]), header) not in INSIDE]
    print(*wrong, sep="\n")
    print(f"{len(public)} headers, {len(wrong)} wrong")
    return 1 if wrong or not public else 0


if __name__ == "__main__":
    sys.exit(main())
