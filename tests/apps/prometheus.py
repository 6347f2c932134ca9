"""Reads the Prometheus text format, version 0.0.4, and refuses what is not in it."""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


def parse(text):
    """{name: {labels: value}}; labels as they stand there."""
    assert text.endswith("\n"), "the last line ends"
    types, found, current = {}, {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            assert current not in types, f"{current} is told of twice"
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and kind in TYPES, line
            types[name] = kind
            continue
        match = SAMPLE.fullmatch(line)
        assert match, f"no sample: {line!r}"
        name, labels, value = match.groups()
        suffixes = ("_bucket", "_sum", "_count") if types.get(current) == "histogram" else ("",)
        assert name in [current + suffix for suffix in suffixes], f"{name} is not of {current}"
        samples = found.setdefault(name, {})
        assert (labels or "") not in samples, f"twice: {line}"
        samples[labels or ""] = float(value.replace("Inf", "inf"))
    for name, kind in types.items():
        if kind == "histogram":
            check_histogram(name, found)
    return found


def check_histogram(name, found):
    series = {}
    for labels, value in found.get(f"{name}_bucket", {}).items():
        rest, _, bound = labels.rpartition("le=")
        limit = float(bound.strip('"').replace("Inf", "inf"))
        series.setdefault(rest.rstrip(","), []).append((limit, value))
    for labels, buckets in series.items():
        assert buckets == sorted(buckets), f"{name}: bounds and counts grow"
        assert [count for _, count in buckets] == sorted(count for _, count in buckets), name
        assert math.isinf(buckets[-1][0]), f"{name}: +Inf is there"
        assert found[f"{name}_count"][labels] == buckets[-1][1], name
        assert labels in found[f"{name}_sum"], name
