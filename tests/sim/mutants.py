#!/usr/bin/env python3
"""Puts faults into copies of the sources and asks rota-sim to find them.

usage: mutants.py --check                 every description fits its file in exactly one place
       mutants.py [--first N] [--seeds N] [--jobs N] [--only TEXT] [--every N] <build folder>

The second form compiles the one source of each mutant, links it in front of the libraries that the
build folder has, and runs seeds until one fails. Then the program without a fault has to pass as
many seeds as the hardest mutant took. Exits 1 if a mutant survives or has no result.
"""

import argparse
import concurrent.futures
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTIONS = Path(__file__).with_name("mutants.txt")
PROGRAM = "tests/sim/rota-sim"
# The seeds of a mutant take seconds, and rota-sim ends by itself what goes round in circles.
RUN_SECONDS_MAX = 600


class Mutant(NamedTuple):
    name: str
    file: str  # that is changed
    source: str  # that is compiled
    old: str
    new: str

    def folder(self, build):
        """Always the same, so that a compiler cache knows it again."""
        return build / "tests/sim/mutants" / re.sub(r"[^a-z]+", "-", self.name.lower())

    def changed(self):
        """The text of the file with the fault in it."""
        text = (ROOT / self.file).read_text()
        found = text.count(self.old)
        if found != 1:
            sys.exit(f"mutants: '{self.name}': {self.file} has its text {found} times, not once")
        return text.replace(self.old, self.new)


def read_mutants():
    mutants = []
    for block in re.split(r"^== ", DESCRIPTIONS.read_text(), flags=re.M)[1:]:
        name, *lines = block.split("\n")
        fields = dict(line.split(" ", 1) for line in lines if line and line[0] not in "+-")
        old, new = (
            "\n".join(line[1:] for line in lines if line.startswith(sign)) for sign in "-+"
        )
        file = fields["file"]
        mutants.append(Mutant(name, file, fields.get("source", file), old, new))
    return mutants


class Object(NamedTuple):
    command: list[str]  # how it is compiled
    sources: list[Path]  # in the order in which they are: several if they are compiled as one

    def output(self):
        return self.command[self.command.index("-o") + 1]


def commands(build):
    """The objects of the simulator, by source, and how the program is linked."""
    words = ["ninja", "-C", build, "-t", "commands", PROGRAM]
    listing = subprocess.run(words, capture_output=True, text=True, check=True)
    lines = [shlex.split(line) for line in listing.stdout.splitlines()]
    objects = {}
    for line in lines:
        if "-c" not in line:
            continue
        unit = (build / line[line.index("-c") + 1]).resolve()
        parts = [unit]
        if unit.is_relative_to(build):
            parts = re.findall(r"^#include ?[<\"](.*)[>\"]$", unit.read_text(), flags=re.M)
        made = Object(line, [Path(part).resolve() for part in parts])
        objects |= dict.fromkeys(made.sources, made)
    return objects, lines[-1]


def run(words, build):
    done = subprocess.run(words, cwd=build, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


def with_output(words, output):
    words = list(words)
    words[words.index("-o") + 1] = str(output)
    return words


def overlay(mutant, tree):
    """The sources as they are, but for the mutant's file: links, and that file."""
    shutil.rmtree(tree, ignore_errors=True)
    *folders, name = Path(mutant.file).parts
    here, there = tree, ROOT
    for inner in (*folders, name):
        here.mkdir(parents=True)
        for entry in there.iterdir():
            if entry.name != inner:
                (here / entry.name).symlink_to(entry)
        here, there = here / inner, there / inner
    here.write_text(mutant.changed())


def build_mutant(mutant, build, how):
    objects, link = how
    folder = mutant.folder(build)
    tree = folder / "tree"
    overlay(mutant, tree)
    replaced = objects[(ROOT / mutant.source).resolve()]
    unit = folder / "unit.cpp"
    unit.write_text("".join(f'#include "{tree / source.relative_to(ROOT)}"\n'
                            for source in replaced.sources))
    # Quickly rather than well. Folders that are not the build's are the overlay's.
    words = [word for word in replaced.command
             if not re.fullmatch(r"-O\w|-g|-Werror|-MD", word)]
    words = [re.sub(r"^-I\.\./?", f"-I{tree}/", word) for word in words]
    words[words.index("-c") + 1] = str(unit)
    for flag in ("-MQ", "-MF", "-include"):  # what is precompiled is so for other options
        if flag in words:
            at = words.index(flag)
            del words[at : at + 2]
    built = folder / "mutant.o"
    run([*with_output(words, built), "-O0" if len(replaced.sources) > 1 else "-O1"], build)
    program = folder / "rota-sim"
    link = with_output(link, program)
    # In place of the program's own object, or in front of the libraries, which then are not asked
    # for what it defines.
    link = [word for word in link if word != replaced.output()]
    link.insert(link.index("-o") + 2, str(built))
    run(link, build)
    return program


def try_mutant(mutant, build, how, first, seeds):
    """(the seed that found it or None, what was wrong or why there is no result)"""
    try:
        program = build_mutant(mutant, build, how)
        words = [program, "--first", str(first), "--seeds", str(seeds)]
        ran = subprocess.run(
            words, capture_output=True, text=True, timeout=RUN_SECONDS_MAX, check=False
        )
        program.unlink()
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return None, f"no result: {error}"
    if ran.returncode == 0:
        return None, f"not found by {seeds} seeds"
    found = re.search(r"seed (\d+) failed: (.*)", ran.stdout)
    if not found:
        return None, f"no result: {ran.stdout}{ran.stderr}"
    checked = re.search(r"check failed: (.*?) \(", ran.stderr)  # rota/check.hpp
    return int(found[1]), f"check: {checked[1]}" if checked else found[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=6000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="those that have this in their name")
    parser.add_argument("--every", type=int, default=1, help="only every Nth of them")
    parser.add_argument("build", nargs="?", type=Path)
    given = parser.parse_args()
    mutants = [mutant for mutant in read_mutants() if given.only in mutant.name]
    for mutant in mutants:
        mutant.changed()
    if given.check:
        print(f"{len(mutants)} mutants fit")
        return 0
    build = given.build.resolve()
    how = commands(build)
    built = [mutant for mutant in mutants if (ROOT / mutant.source).resolve() in how[0]]
    if len(built) < len(mutants):
        print(f"{len(mutants) - len(built)} mutants are of what this build leaves out")
    mutants = built[:: given.every]
    caught, highest = 0, given.first
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        tries = [
            pool.submit(try_mutant, mutant, build, how, given.first, given.seeds)
            for mutant in mutants
        ]
        for mutant, each in zip(mutants, tries, strict=True):
            seed, what = each.result()
            if seed is None:
                print(f"SURVIVED   {mutant.name}: {what}", flush=True)
            else:
                caught += 1
                highest = max(highest, seed)
                print(f"seed {seed:>5}  {mutant.name}: {what}", flush=True)
    words = [build / PROGRAM, "--first", str(given.first)]
    words += ["--seeds", str(highest - given.first + 1)]
    sane = subprocess.run(words, check=False)
    if sane.returncode != 0:
        print("the program without a fault fails, too")
    print(f"{caught} of {len(mutants)} mutants caught up to seed {highest}")
    return 0 if caught == len(mutants) and sane.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
