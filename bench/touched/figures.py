"""Figures of what is touched: how they are kept, compared and shown."""

import os

# How far a figure may be above the baseline: chance has a say in which chunk of memory is whose,
# and in how many requests of a deep pipeline come together.
SLACK_LINES = 2.0
SLACK_LINES_PART = 0.08  # of the baseline, where that is more
SLACK_REFERENCES = 0.10  # a part of the baseline
# Programs of the system's are not on everybody's path.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def rounded(figures):
    return {
        name: {"lines": round(one["lines"], 1), "references": round(one["references"])}
        for name, one in figures.items()
    }


def document(made_with, mine, others):
    made = {"made_with": made_with, "touched": rounded(mine)}
    return {**made, "nginx": rounded(others)} if others else made


def lowest(*attempts):
    """By the names of the first, the lowest of what each attempt has for it."""
    return {
        name: {key: min(a[name][key] for a in attempts if name in a) for key in one}
        for name, one in attempts[0].items()
    }


def too_high(figures, before):
    """[name, what is to be said] of what is further above the baseline than is allowed."""
    worse = []
    for name, one in figures.items():
        known = before.get(name)
        if not known:
            continue
        slack = max(SLACK_LINES, SLACK_LINES_PART * known["lines"])
        if one["lines"] > known["lines"] + slack:
            worse.append((
                name,
                f"{name}: {one['lines']:.1f} private lines for each connection "
                f"({known['lines']:.1f} in the baseline, {slack:.0f} more allowed)",
            ))
        if one["references"] > known["references"] * (1 + SLACK_REFERENCES):
            worse.append((
                name,
                f"{name}: {one['references']:.0f} data references per request "
                f"({known['references']:.0f} in the baseline, {SLACK_REFERENCES:.0%} allowed)",
            ))
    return worse


def lines(mine, before, others):
    """Lines of a Markdown table; `before` and `others` may lack what is in `mine`."""

    def cells(figures, name):
        one = figures.get(name)
        return [f"{one['lines']:.1f}", f"{one['references']:.0f}"] if one else ["-", "-"]

    rows = [["case", "private lines", "references", "baseline", "", "nginx", ""]]
    rows += [[name, *cells(mine, name), *cells(before, name), *cells(others, name)]
             for name in mine]
    widths = [max(2, *(len(row[i]) for row in rows)) for i in range(len(rows[0]))]
    rules = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    padded = [[r[0].ljust(widths[0]), *map(str.rjust, r[1:], widths[1:])] for r in rows]
    return ["| " + " | ".join(row) + " |" for row in [padded[0], rules, *padded[1:]]]
