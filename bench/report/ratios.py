"""Groups of ratios as SVG, on a logarithmic scale: to the right of the line is above 1."""

import math

from svg import LEFT, TOP, WIDTH, line, box, picture, text

START, END = LEFT - 40, 620
LOW, HIGH = 0.1, 100.0
GROUP = 25
ROW = 19
BAR = 13


def place(ratio):
    """Where a ratio is on the axis; what is beyond its ends is at the end."""
    inside = min(max(ratio, LOW), HIGH)
    return START + (END - START) * math.log(inside / LOW) / math.log(HIGH / LOW)


def ruler(top, bottom):
    parts = []
    for ratio in (0.1, 1, 10, 100):
        kind = "line" if ratio == 1 else "grid"
        parts.append(line(place(ratio), top, place(ratio), bottom, kind))
        parts.append(text(place(ratio), top - 5, f"{ratio:g}x", "small middle"))
    return parts


def row_parts(label, spread, words, y):
    """A bar from 1 to the ratio, with its range, and what is written behind it."""
    middle, low, high = spread
    begin, end = sorted((place(1), place(middle)))
    center = y + BAR / 2
    kind = "ours" if middle > 1 else "behind"
    parts = [
        text(START - 10, center + 4.5, label, "end"),
        box(begin, y, max(end - begin, 1), BAR, kind),
    ]
    if low != high:
        parts.append(line(place(low), center, place(high), center, "line"))
    return [*parts, text(max(end, place(high)) + 8, center + 4.5, words, "small")]


def chart(title, subtitle, source, groups):
    """`groups` is [(heading, [(label, spread of a ratio, words)])]."""
    rows = sum(len(members) for _, members in groups)
    top = TOP + 18
    bottom = top + GROUP * len(groups) + ROW * rows + 6
    parts, y = ruler(top, bottom), top
    for heading, members in groups:
        parts.append(box(0, y + 2, WIDTH, GROUP - 4, "paper", 0))  # no lines through the words
        parts.append(text(20, y + 18, heading, "strong"))
        y += GROUP
        for label, spread, words in members:
            parts += row_parts(label, spread, words, y)
            y += ROW
    return picture(bottom + 40, title, subtitle, source, parts)
