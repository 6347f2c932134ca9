"""What the server holds, sampled while the soak runs, and the verdict on it."""

import json
import os
import re
import statistics
import time
from dataclasses import astuple, dataclass
from pathlib import Path

from client import get

MIB = 1 << 20
SLACK = 0.05  # of growth between the second and the last quarter that counts as flat
LONG_S = 600  # from so long on the slack of the long runs holds
SLACK_LONG = {"rss_bytes": MIB, "descriptors": 5, "routines": 5}
SLACK_SHORT = {"rss_bytes": 64 * MIB, "descriptors": 60, "routines": 60}  # still warming up


@dataclass
class Sample:
    seconds: float  # since the clients began
    rss_bytes: int
    descriptors: int
    routines: int
    connections: int
    requests: int
    cpu_seconds: float


def process_figures(pid):
    """(resident bytes, open descriptors, CPU seconds) of a process."""
    folder = Path(f"/proc/{pid}")
    pages = int((folder / "statm").read_text().split()[1])
    fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    return (pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(folder / "fd")),
            ticks / os.sysconf("SC_CLK_TCK"))


async def take_sample(world, pid):
    """What the server holds now. Its own connection counts."""
    async with await world.client() as client:
        await client.send(get("/debug/tasks"))
        routines = json.loads((await client.expect(200)).body)["routines"]
        await client.send(get("/metrics"))
        metrics = (await client.expect(200)).body.decode()
    rss, descriptors, cpu = process_figures(pid)
    connections = int(re.search(r"^rota_http_connections (\d+)$", metrics, re.M)[1])
    counts = re.findall(r"^rota_http_requests_total\{.*\} (\d+)$", metrics, re.M)
    return Sample(time.monotonic() - world.begin, rss, descriptors, routines, connections,
                  sum(map(int, counts)), cpu)


async def keep_sampling(world, pid, every_s, into, say):
    """Adds samples until the soak ends, and says every minute how it goes."""
    told = 0
    while not world.stopping.is_set():
        into.append(await take_sample(world, pid))
        last = into[-1]
        if last.seconds >= 60 * told:
            told += 1
            say(f"{last.seconds / 60:5.1f} min: {last.requests} requests, "
                f"{last.rss_bytes / MIB:.1f} MiB, {last.descriptors} descriptors, "
                f"{last.routines} routines, {world.wrong} wrong answers")
        await world.pause(every_s * world.pace)


def quarter(samples, number, figure):
    """Mean of a figure in the quarter 0 to 3 of the time; None without a sample."""
    whole = samples[-1].seconds
    values = [getattr(one, figure) for one in samples
              if number * whole / 4 <= one.seconds <= (number + 1) * whole / 4]
    return statistics.mean(values) if values else None


def growth_problems(samples, memory=True):
    """What has grown from the second quarter of the time to the last; empty if all is flat.

    Without `memory` that is not looked at.
    """
    if len(samples) < 8:
        return [f"{len(samples)} samples are too few to tell"]
    slack = SLACK_LONG if samples[-1].seconds >= LONG_S else SLACK_SHORT
    found = []
    for figure, absolute in slack.items():
        if figure == "rss_bytes" and not memory:
            continue
        second, last = (quarter(samples, number, figure) for number in (1, 3))
        if second is None or last is None:
            found.append(f"{figure}: a quarter without a sample")
        elif last > second * (1 + SLACK) + absolute:
            found.append(f"{figure} is not flat: {second:.0f} in the second quarter, "
                         f"{last:.0f} in the last")
    return found


def left_problems(before, after):
    """What the server still holds of the clients when all have gone."""
    return [f"{figure}: {getattr(after, figure)} at the end, {getattr(before, figure)} before"
            for figure in ("descriptors", "routines", "connections")
            if getattr(after, figure) > getattr(before, figure)]


def as_lists(samples):
    return {"columns": list(Sample.__dataclass_fields__), "rows": [astuple(s) for s in samples]}
