#!/usr/bin/env python3
"""The charts of the report, drawn from made-up figures."""

import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/report"))
sys.dont_write_bytecode = True

import charts  # noqa: E402
import ratios  # noqa: E402
import svg  # noqa: E402

SPACE = "{http://www.w3.org/2000/svg}"


def bar(label, value, low=None, high=None):
    ends = (value if low is None else low, value if high is None else high)
    return svg.Bar(label, value, *ends, charts.kind_of(label), f"{value:g}")


def drawn(text):
    """The elements of a picture, all of them within its frame."""
    root = xml.etree.ElementTree.fromstring(text)
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for key, limit in (("x", width), ("x2", width), ("y", height), ("y2", height)):
            if element.get(key) is not None:
                assert -3 <= float(element.get(key)) <= limit, (element.tag, element.attrib)
    return root


def boxes(root, kind):
    return [float(e.get("width")) for e in root.iter(SPACE + "rect") if e.get("class") == kind]


class Bars(unittest.TestCase):
    def test_lengths_are_in_proportion(self):
        rows = [bar("rota", 2), bar("asio", 4), bar("floor", 1)]
        root = drawn(svg.bars("a <title> & more", "made up", "made up", rows))
        self.assertAlmostEqual(boxes(root, "other")[0], 2 * boxes(root, "ours")[0], 0)
        self.assertEqual(len(boxes(root, "yardstick")), 1)
        self.assertIn("a <title> & more", [element.text for element in root.iter()])

    def test_range(self):
        none = drawn(svg.bars("", "", "", [bar("asio", 4)]))
        some = drawn(svg.bars("", "", "", [bar("asio", 4, 3, 5)]))
        self.assertEqual(len(list(none.iter(SPACE + "line"))), 0)
        self.assertEqual(len(list(some.iter(SPACE + "line"))), 3)

    def test_what_would_dwarf_the_others_is_cut(self):
        rows = [bar("a", 1), bar("b", 1), bar("rota", 1), bar("c", 1000)]
        root = drawn(svg.bars("", "", "", rows))
        self.assertAlmostEqual(boxes(root, "other")[-1], 2.2 * boxes(root, "ours")[0], 0)
        self.assertEqual(sum(e.get("class") == "cut" for e in root.iter()), 2)
        self.assertIn("1000", [element.text for element in root.iter()])

    def test_one_bar_of_nothing(self):
        drawn(svg.bars("", "", "", [bar("rota", 0)]))

    def test_best_first(self):
        result = {"servers": {"a": {"p99_us": [3, 3, 3]}, "b": {"p99_us": [1, 1, 1]}, "c": {}}}
        less = charts.Chart("", "", "", "", "p99_us")
        more = charts.Chart("", "", "", "", "p99_us", best_first=-1)
        self.assertEqual([one.label for one in charts.bars_of(less, result)], ["b", "a"])
        self.assertEqual([one.label for one in charts.bars_of(more, result)], ["a", "b"])


class Ratios(unittest.TestCase):
    def test_places(self):
        middle = (ratios.place(0.1) + ratios.place(100)) / 2
        self.assertAlmostEqual(ratios.place(10**0.5), middle)
        self.assertEqual(ratios.place(1e9), ratios.END)

    def test_both_sides(self):
        groups = [("a & b", [("Go", [2, 1.5, 3], "2x"), ("Asio", [0.001, 0.001, 0.001], "0x")])]
        root = drawn(ratios.chart("made up", "", "", groups))
        self.assertEqual(len(boxes(root, "ours")), 1)
        self.assertEqual(len(boxes(root, "behind")), 1)


if __name__ == "__main__":
    unittest.main()
