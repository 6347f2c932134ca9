"""Bars as SVG: one picture without any reference to elsewhere, in light and in dark."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH = 760
LEFT = 150  # where bars begin
RIGHT = 660  # where the longest ends; its value stands behind it
TOP = 74
ROW = 26
BAR = 16
STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 17px; font-weight: 600; }
.small { font-size: 11.5px; fill: #59636e; }
.strong { font-weight: 600; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
.paper { fill: #ffffff; }
.ours { fill: #1f6feb; }
.other { fill: #a9b4c0; }
.behind { fill: #d9822b; }
.yardstick { fill: none; stroke: #59636e; stroke-dasharray: 4 3; }
.line { stroke: #1f2328; stroke-width: 1.2; opacity: 0.65; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.cut { stroke: #ffffff; stroke-width: 3; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.small { fill: #9198a1; }
.paper { fill: #0d1117; }
.ours { fill: #4493f8; }
.other { fill: #56616d; }
.behind { fill: #e09b4f; }
.yardstick { stroke: #9198a1; }
.line { stroke: #e6edf3; }
.grid { stroke: #30363d; }
.cut { stroke: #0d1117; }
}
"""


@dataclass
class Bar:
    label: str
    value: float
    low: float
    high: float
    kind: str  # a class of STYLE: ours, other, behind, yardstick
    text: str  # the value as it is written


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


def attributes(**values):
    return " ".join(f'{key}="{number(value)}"' for key, value in values.items())


def text(x, y, words, kind=""):
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{number(x)}" y="{number(y)}"{named}>{escape(words)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line {attributes(x1=x1, y1=y1, x2=x2, y2=y2)} class="{kind}"/>'


def box(x, y, width, height, kind, radius=2):
    told = attributes(x=x, y=y, width=width, height=height, rx=radius)
    return f'<rect {told} class="{kind}"/>'


def picture(height, title, subtitle, source, parts):
    """The frame with its words around the parts."""
    size = f'width="{WIDTH}" height="{number(height)}" viewBox="0 0 {WIDTH} {number(height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        box(0, 0, WIDTH, height, "paper", 6),
        text(20, 32, title, "title"),
        text(20, 53, subtitle, "small"),
        *parts,
        text(20, height - 14, source, "small"),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def limit_of(bars):
    """Where the axis ends: beyond the longest bar, unless that would dwarf all the others."""
    values = sorted(bar.value for bar in bars)
    usual = 2.2 * values[len(values) // 2]
    if values[-1] > usual:
        return usual
    return max(values[-1], min(max(bar.high for bar in bars), usual))


def bar_parts(bar, y, scale, limit):
    """A row: the name, the bar, its range, its value. What is longer than the axis is cut."""
    middle = y + BAR / 2
    end = LEFT + scale * min(bar.value, limit)
    parts = [
        text(LEFT - 10, middle + 4.5, bar.label, "end strong" if bar.kind == "ours" else "end"),
        box(LEFT, y, max(end - LEFT, 1), BAR, bar.kind),
    ]
    reach = end
    if bar.value > limit:
        parts += [line(end - 22 + d, y + BAR + 2, end - 16 + d, y - 2, "cut") for d in (0, 7)]
    elif bar.low != bar.high:
        low, high = (LEFT + scale * min(value, limit) for value in (bar.low, bar.high))
        parts.append(line(low, middle, high, middle, "line"))
        parts += [line(x, middle - 4, x, middle + 4, "line") for x in (low, high)]
        reach = max(end, high)
    kind = "strong" if bar.kind == "ours" else ""
    return [*parts, text(reach + 8, middle + 4.5, bar.text, kind)]


def bars(title, subtitle, source, rows):
    """A chart of bars from zero on, in the order in which they come."""
    limit = limit_of(rows)
    scale = (RIGHT - LEFT) / limit if limit > 0 else 0
    parts = []
    for number_of_row, bar in enumerate(rows):
        parts += bar_parts(bar, TOP + number_of_row * ROW, scale, limit)
    height = TOP + len(rows) * ROW + 36
    return picture(height, title, subtitle, source, parts)
