"""A long run of rota-http under every kind of client: python3 tests/soak --help."""

import argparse
import asyncio
import datetime
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jobs
import report
import requests
import samples
from server import END_S, Server, SoakError
from world import FAULTS, World

ROOT = Path(__file__).resolve().parents[2]
SAMPLES_WANTED = 720  # in an hour one every 5 s


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev soak",
        description="Starts rota-http, drives all kinds of clients against it, and checks that "
        "every answer is right and that memory, descriptors and routines stay flat. Exits 1 if "
        "not. docs/notes/soak.md tells more.",
    )
    add = parser.add_argument
    add("minutes", nargs="?", type=float, default=60.0, metavar="MINUTES",
        help="how long (default: %(default)g; a third of one does as a trial)")
    add("--rota", default=ROOT / "build/apps/http/rota-http", type=Path, metavar="PATH",
        help="the program (default: %(default)s)")
    add("--pace", type=float, default=1.0, metavar="FACTOR",
        help="how much faster than usual clients go on (default: %(default)g)")
    add("--seed", type=int, default=1, help="decides what the clients do (default: %(default)s)")
    add("--json", type=Path, metavar="FILE", help="write all samples there")
    add("--log", type=Path, metavar="FILE", help="keep the server's log there")
    add("--memory", action=argparse.BooleanOptionalAction, default=True,
        help="judge the memory; with a sanitizer, which keeps what is freed, it tells nothing")
    add("--option", action="append", default=[], metavar="TEXT",
        help="an option of rota-http, as --option=--backend=epoll; as often as wanted")
    options = parser.parse_args()
    if not 0.1 <= options.minutes <= 7 * 24 * 60:
        parser.error("MINUTES: from 0.1 to 10080")
    if not 0.01 <= options.pace <= 100:
        parser.error("--pace: from 0.01 to 100")
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


async def all_gone(world, pid, before):
    """A sample once nothing is left of the clients, or the last one when that takes too long."""
    until = time.monotonic() + END_S
    while True:
        after = await samples.take_sample(world, pid)
        if not samples.left_problems(before, after) or time.monotonic() > until:
            return after
        await asyncio.sleep(0.2)


async def soak(server, options, world):
    """(before, samples, after); what was wrong is with `world`."""
    async with await world.client() as client:  # so that every page has been made once
        for path in ("/", "/plaintext", "/v1/queues"):
            await client.send(requests.get(path))
            await client.expect(200)
    await jobs.prepare(world)
    seconds = options.minutes * 60
    before = await samples.take_sample(world, server.pid)
    taken = []
    world.begin = time.monotonic()
    sampling = asyncio.create_task(samples.keep_sampling(
        world, server.pid, min(seconds / 40, max(5, seconds / SAMPLES_WANTED)), taken, say))
    try:
        await world.run(requests.CAST + jobs.CAST, seconds)
        await sampling
        await jobs.settle(world)
        await requests.still_served(world)
    except FAULTS as error:
        world.fail("the end", error)
    finally:
        sampling.cancel()
    return before, taken, await all_gone(world, server.pid, before)


def problems_of(world, memory, before, taken, after, code):
    found = [*world.failures]
    if world.wrong > len(found):
        found.append(f"and {world.wrong - len(found)} more wrong answers")
    found += samples.growth_problems(taken, memory) + samples.left_problems(before, after)
    kinds = {kind for kind, _, _ in requests.CAST + jobs.CAST}
    silent = kinds - set(world.right) - {"adding jobs"}
    if taken[-1].seconds >= 60:  # in less, some have nothing to show yet
        found += [f"no client of the kind {kind!r} got a right answer" for kind in sorted(silent)]
    if code != 0:
        found.append(f"the server ended with {code} instead of 0")
    return found


def version_of(rota):
    said = subprocess.run([str(rota), "--version"], capture_output=True, text=True, check=False)
    commit = ""
    if shutil.which("git"):
        commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
                                capture_output=True, text=True, check=False).stdout
    return " ".join(filter(None, [said.stdout.strip(), commit.strip()]))


def run(options):
    if not shutil.which(str(options.rota)):
        raise SoakError(f"{options.rota} is not there: ./dev soak builds it")
    with tempfile.TemporaryDirectory(prefix="rota-soak-") as folder:
        server = Server(options, folder)
        code = None
        try:
            world = World(server.port, options.seed, options.pace)
            world.ledger = jobs.Ledger()
            before, taken, after = asyncio.run(soak(server, options, world))
        finally:
            code = server.end()
        document = {
            "command": shlex.join(["./dev", "soak", *sys.argv[1:]]),
            "when": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "machine": f"{len(os.sched_getaffinity(0))} cores, {platform.system()} "
            f"{platform.release()}",
            "version": version_of(options.rota),
            "right": dict(world.right),
            "wrong": world.wrong,
            "problems": problems_of(world, options.memory, before, taken, after, code),
            "log": server.log_levels(),
            "samples": samples.as_lists(taken),
        }
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(document) + "\n")
        print("\n".join(report.summary(document, before, taken, after)), flush=True)
    return 1 if document["problems"] else 0


def main():
    try:
        return run(parse_arguments())
    except (SoakError, OSError) as error:
        say(f"soak: error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
