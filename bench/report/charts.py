"""Which charts there are, and what is in them."""

from dataclasses import dataclass

import ratios
import svg
from compact import OURS
from tables import source_line, three, whole
from targets import find

BESIDE = ("Go", "Asio")


@dataclass(frozen=True)
class Chart:
    file: str
    title: str
    unit: str
    row: str
    figure: str
    form: object = three
    best_first: int = 1  # -1: more is better


CPU = "us of CPU per request, less is better"
APART = CPU + "; a core each for server and load"
CHARTS = [
    Chart("cpu-64.svg", "CPU per request, 64 connections", APART, "plaintext-64",
          "cpu_us_per_request"),
    Chart("cpu-512.svg", "CPU per request, 512 connections",
          APART, "plaintext-512", "cpu_us_per_request"),
    Chart("cpu-64x16.svg", "CPU per request, 64 connections, 16 requests deep",
          APART, "plaintext-64x16", "cpu_us_per_request"),
    Chart("cpu-64-two-cores.svg", "CPU per request on two cores, 64 connections",
          CPU + "; server and load share two cores", "plaintext-64-two-cores",
          "cpu_us_per_request"),
    Chart("rate-64-two-cores.svg", "Requests per second on two cores, 64 connections",
          "requests/s, more is better; server and load share two cores", "plaintext-64-two-cores",
          "requests_per_second", whole, -1),
    Chart("p99-paced.svg", "Latency at a constant rate, 64 connections",
          "99th percentile in us, less is better; {rate} requests/s, 60% of nginx's peak", "paced",
          "p99_us"),
    Chart("rate-spin20.svg", "Handlers that work for 20 us, on two cores",
          "requests/s, more is better; 64 connections; target is Rota", "spin20",
          "requests_per_second", whole, -1),
]


def files():
    return [*(chart.file for chart in CHARTS), "micro.svg"]


def kind_of(name):
    return "yardstick" if name == "floor" else "ours" if name in OURS else "other"


def bars_of(chart, result):
    made = []
    for name, figures in result["servers"].items():
        if figures.get(chart.figure):
            middle, low, high = figures[chart.figure]
            made.append(svg.Bar(name, middle, low, high, kind_of(name), chart.form(middle)))
    return sorted(made, key=lambda bar: chart.best_first * bar.value)


def marked(document, result):
    """The line below a chart: what it holds for, and whether it is worth anything."""
    line = source_line(document)
    if result and result["rounds"] > 1:
        line += f"; medians of {result['rounds']} rounds, lines: lowest to highest"
    if result and result["disturbed"]:
        line += "; DISTURBED"
    return line


def micro_chart(document):
    """Go's and Asio's time by Rota's, for all that they have too."""
    groups = []
    for case in document["micro"]["cases"]:
        members = [
            (name, case["ratios"][name],
             f"{three(case['ratios'][name][0])}x, {three(case['figures'][name][0])} {case['unit']}")
            for name in BESIDE
            if name in case["ratios"]
        ]
        if members:
            mine = case["figures"]["Rota"][0]
            groups.append((f"{case['name']}: Rota {three(mine)} {case['unit']}", members))
    if not groups:
        return None
    return ratios.chart(
        "Primitives: Go's and Asio's time, or memory, by Rota's",
        "right of 1x (blue): Rota takes less; left of it (orange): Rota takes more; "
        "logarithmic",
        source_line(document),
        groups,
    )


def draw(document):
    """({file: its text}, {file: title}) of all charts that there are figures for."""
    texts, titles = {}, {}
    for chart in CHARTS:
        result = find(document["load"], chart.row)
        rows = bars_of(chart, result) if result else []
        if rows:
            rate = f"{result['rate']:,.0f}" if result["rate"] else ""
            unit = chart.unit.replace("{rate}", rate)
            texts[chart.file] = svg.bars(chart.title, unit, marked(document, result), rows)
            titles[chart.file] = chart.title
    micro = micro_chart(document) if document["micro"] else None
    if micro:
        texts["micro.svg"] = micro
        titles["micro.svg"] = "Primitives beside Go and Asio"
    return texts, titles
