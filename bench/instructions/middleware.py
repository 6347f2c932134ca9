"""Instructions that each middleware adds to a request: python3 bench/instructions/middleware.py.

Prints a Markdown table. rota-middleware runs under callgrind, as rota-http does for the others.
"""

import argparse
import sys
from pathlib import Path

import callgrind
import command
import script

ROOT = Path(__file__).resolve().parents[2]
TRACE = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"
FORWARDED = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"
# (middleware, what the request has for it, in words, the fields)
KINDS = (
    ("pass_on", "a lambda that only proceeds", ""),
    ("trusted_proxies", "X-Forwarded-For and -Proto", FORWARDED),
    ("request_id", "makes an id", ""),
    ("request_id", "takes the client's", "X-Request-Id: order-4711\r\n"),
    ("tracing", "begins a trace", ""),
    ("tracing", "goes on with one", TRACE),
    ("security_headers", "", ""),
    ("cors", "no Origin", ""),
    ("cors", "an Origin", "Origin: https://app.example\r\n"),
    ("rate_limit", "", ""),
    ("basic_auth", "", "Authorization: Basic YW5uOnNlY3JldA==\r\n"),
    ("bearer_auth", "", "Authorization: Bearer token-1\r\n"),
    ("guard", "", ""),
    ("concurrency_limit", "", ""),
    ("time_limit", "", ""),
    ("body_limit", "", ""),
    ("etag", "of 13 bytes", ""),
    ("cache_control", "", ""),
    ("access_log", "combined", ""),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=ROOT / "build/bench/rota-middleware")
    parser.add_argument("--limit", type=int, default=600, metavar="SECONDS",
                        help="give up after so long (default: %(default)s)")
    return parser.parse_args()


def run(options):
    def per_request(kind, fields):
        how = callgrind.on_free_port(
            lambda _, port: [str(options.program), "--port", str(port), "--with", kind]
        )
        case = script.Case(kind, script.get("/plaintext", fields))
        return callgrind.per_request(how, case)

    bare = {}
    print("| middleware | request | instructions more |\n|---|---|---:|")
    for kind, words, fields in KINDS:
        if fields not in bare:  # the fields themselves are read, too
            bare[fields] = per_request("none", fields)
        more = per_request(kind, fields) - bare[fields]
        print(f"| `{kind}` | {words} | {round(more, -1):,.0f} |", flush=True)
    print(f"\nOf {bare['']:,.0f} without any.")
    return 0


if __name__ == "__main__":
    sys.exit(command.main(parse_arguments, run))
