"""What a log of Meson's test runner says: results.py counts|again|describe LOG."""

import json
import sys

GOOD = {"OK", "EXPECTEDFAIL"}
BAD = {"FAIL", "TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS"}
FAILURES = (" FAILED:", "Traceback (", "AssertionError", " terminated by")
FOUND = ("Sanitizer", "runtime error:")
AGAIN_MAX = 3


def output(test):
    return test.get("stdout", "") + test.get("stderr", "")


def failed(tests):
    return [test for test in tests if test["result"] in BAD]


def counts(tests):
    print(sum(test["result"] in GOOD for test in tests), len(failed(tests)))


def again(tests):
    """The names of failed tests if they are few and no sanitizer has reported anything."""
    bad = failed(tests)
    reported = any(word in output(test) for test in bad for word in FOUND)
    if len(bad) <= AGAIN_MAX and not reported:
        for test in bad:
            print(test["name"].rsplit(" / ", 1)[-1])


def of_interest(lines):
    """The end of an output, and what is around each word of failure before it."""
    wanted = set(range(len(lines) - 60, len(lines)))
    for at, line in enumerate(lines):
        if any(word in line for word in FAILURES):
            wanted.update(range(at - 8, at + 8))
    before = -1
    for at in sorted(wanted & set(range(len(lines)))):
        if at != before + 1:
            yield "..."
        yield lines[at]
        before = at


def describe(tests):
    for test in failed(tests):
        print(f"\n-- {test['name']}: {test['result']}, exit {test['returncode']}")
        for stream in ("stdout", "stderr"):
            print(*of_interest(test.get(stream, "").splitlines()), sep="\n")


if __name__ == "__main__":
    command, path = sys.argv[1:]
    with open(path, encoding="utf-8") as log:
        {"counts": counts, "again": again, "describe": describe}[command](
            [json.loads(line) for line in log]
        )
