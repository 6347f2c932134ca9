#!/usr/bin/env python3
"""What bench/scale counts, computes and shows; no server is measured here."""

import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH / "scale"), str(BENCH / "load")]
sys.dont_write_bytecode = True

import counters  # noqa: E402
import growth  # noqa: E402
import model  # noqa: E402
import sharing  # noqa: E402
import table  # noqa: E402

ROUNDS = 1000
# One thread after the other: what both change, two words of one line, and two lines.
PROGRAM = """
#include <atomic>
#include <thread>
std::atomic<int> turn{0};
struct alignas(64) { std::atomic<long> shared; } shared;
struct alignas(64) { std::atomic<long> mine[2]; } beside;
struct alignas(64) apart { std::atomic<long> mine; } apart[2];
[[gnu::noinline]] void in_shared() { shared.shared.fetch_add(1); }
[[gnu::noinline]] void in_beside(int me) { beside.mine[me].fetch_add(1); }
[[gnu::noinline]] void in_apart(int me) { apart[me].mine.fetch_add(1); }
void run(int me) {
    for (int i = 0; i < ROUNDS; ++i) {
        while (turn.load() != me)
            ;
        in_shared();
        in_beside(me);
        in_apart(me);
        turn.store(1 - me);
    }
}
int main() {
    std::thread other(run, 1);
    run(0);
    other.join();
}
""".replace("ROUNDS", str(ROUNDS))


class Lines(unittest.TestCase):
    def count(self, folder):
        source, program, file = (Path(folder, name) for name in ("a.cpp", "a", "counted"))
        source.write_text(PROGRAM)
        compiler = os.environ.get("CXX", "g++").split()
        made = [*compiler, "-std=c++23", "-O1", "-g1", "-pthread"]
        for words in (["-c", "-o", f"{folder}/lines.o", str(BENCH / "scale/lines.cpp")],
                      ["-c", "-fsanitize=thread", "-o", f"{folder}/a.o", str(source)],
                      ["-o", str(program), f"{folder}/a.o", f"{folder}/lines.o"]):
            subprocess.run([*made, *words], check=True, timeout=100)
        subprocess.run([program], check=True, timeout=60,
                       env={**os.environ, "ROTA_LINES": str(file)})
        moved = counters.parse(file.read_bytes())
        names = subprocess.run(["addr2line", "-f", "-e", program, *map(hex, moved.places)],
                               capture_output=True, text=True, check=True).stdout.splitlines()[::2]
        found = {}
        for name, (moves, needless) in zip(names, moved.places.values()):
            for part in ("in_shared", "in_beside", "in_apart"):
                if part in name:
                    before = found.get(part, (0, 0))
                    found[part] = (before[0] + moves, before[1] + needless)
        return moved, found

    def test_lines_that_move_and_needless_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            moved, found = self.count(folder)
        self.assertEqual(moved.threads, 2)
        self.assertEqual(moved.lost, 0)
        about = range(2 * ROUNDS - 2, 2 * ROUNDS + 1)
        self.assertIn(found["in_shared"][0], about)
        self.assertLess(found["in_shared"][1], 3)
        self.assertIn(found["in_beside"][0], about)
        self.assertIn(found["in_beside"][1], about)
        self.assertNotIn("in_apart", found)

    def test_difference(self):
        def counted(moves, place):
            head = struct.pack("4Q", moves, 1, 2, 0)
            places = struct.pack("3Q", 77, *place) + bytes(24 * (counters.PLACES - 1))
            return counters.parse(head + places)
        since = counted(9, (6, 1)).since(counted(4, (2, 1)))
        self.assertEqual((since.moves, since.places), (5, {77: (4, 0)}))


class Places(unittest.TestCase):
    def test_the_innermost_of_ours(self):
        said = ("0x0000000000000010\n/usr/include/c++/12/bits/atomic_base.h:856\n"
                "/a/b/build/../io/src/output.cpp:166 (discriminator 2)\n/a/b/io/src/other.cpp:1\n"
                "0x0000000000000020\n/usr/include/x.h:1\n")
        self.assertEqual(sharing.parse_places(said, [16, 32], "/a/b"),
                         {16: "io/src/output.cpp:166", 32: "/usr/include/x.h:1"})


class Model(unittest.TestCase):
    def test_cores_are_shared_until_one_thread_is_full(self):
        costs = model.Costs(receiving=2, sending=1, workers=5)
        self.assertAlmostEqual(model.most_per_second(costs, 1), 1e6 / 8)
        self.assertAlmostEqual(model.most_per_second(costs, 2), 1e6 / 4)
        self.assertAlmostEqual(model.most_per_second(costs, 4), 1e6 / 2)
        self.assertAlmostEqual(model.most_per_second(costs, 64), 1e6 / 2)
        self.assertAlmostEqual(model.cores_that_pay(costs), 4)

    def test_no_thread_is_for_all(self):
        costs = model.Costs(receiving=0, sending=0, workers=5)
        self.assertAlmostEqual(model.most_per_second(costs, 64), 64e6 / 5)
        self.assertIsNone(model.cores_that_pay(costs))


def sample(receiving, sending, workers, foreign=0.0):
    return growth.Sample(model.Costs(receiving, sending, workers), 0.5, 0.01, foreign)


class Tables(unittest.TestCase):
    grown = {("split", 2): sample(3, 0, 1), ("split", 64): sample(3, 0, 2),
             ("dedicated", 2): sample(1, 1, 4), ("dedicated", 64): sample(1, 1, 4, foreign=0.5)}

    def test_too_dear(self):
        self.assertEqual(len(table.too_dear(self.grown, 2, 64, 1.1)), 1)
        self.assertEqual(table.too_dear(self.grown, 2, 64, 1.3), [])

    def test_split_hands_over_what_is_workers(self):
        costs = table.bound_costs(self.grown, "split", 2)
        self.assertEqual((costs.receiving, costs.total), (1, 4))

    def test_disturbed_rows_say_so(self):
        rows = "\n".join(table.growth_rows(self.grown, 2))
        self.assertEqual(rows.count("disturbed"), 1)
        self.assertIn("1.22", rows)

    def test_roles(self):
        names = {"rota-read\n": "receiving", "rota-write": "sending", "rota-worker-7": "workers",
                 "rota-http": "other", "rota-blocking": "other"}
        for name, role in names.items():
            self.assertEqual(growth.role_of(name), role)
        earlier, later = (SimpleNamespace(ran_ns=ns) for ns in ({1: 5, 2: 5}, {1: 6, 2: 9, 3: 2}))
        spent = growth.split_by_role(earlier, later, {1: "receiving", 2: "workers"})
        self.assertEqual(spent, {"receiving": 1, "sending": 0, "workers": 4, "other": 2})


if __name__ == "__main__":
    unittest.main()
