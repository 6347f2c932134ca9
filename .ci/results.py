"""What a log of Meson's test runner says: results.py counts|again|describe LOG."""

import json
import sys

GOOD = {"OK", "EXPECTEDFAIL"}
BAD = {"FAIL", "TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS"}
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


def describe(tests):
    for test in failed(tests):
        print(f"\n-- {test['name']}: {test['result']}, exit {test['returncode']}")
        for stream in ("stdout", "stderr"):
            print(*test.get(stream, "").splitlines()[-60:], sep="\n")


if __name__ == "__main__":
    command, path = sys.argv[1:]
    with open(path, encoding="utf-8") as log:
        {"counts": counts, "again": again, "describe": describe}[command](
            [json.loads(line) for line in log]
        )
