"""How many connections go where, and how many more there can be. Pure: nothing is opened here."""

import math
import re
from dataclasses import dataclass

RESERVED = 1_000  # descriptors of a process that are not for the idle connections
SOURCES = 250  # groups that have a source address 127.N.0.1 of their own
WORTH_IT = 1_000  # fewer than these are not worth a last step
PAIR_KIB_LEAST = 8.0  # what both ends of a connection take in the kernel at least, for an estimate
SAFETY = 1.1
DESCRIPTORS_SPARE = 50_000  # of the system's, for everybody else


@dataclass
class Group:
    """A server and the client that holds so many connections to it."""

    connections: int
    first: int  # the client's addresses begin at 127.FIRST.0.1


def capacity(hard_limit):
    """Idle connections for which one process has descriptors."""
    return max(hard_limit - RESERVED, hard_limit // 2, 1)


def groups(connections, most, already=0):
    """As few groups of at most `most` connections as it takes, evenly filled."""
    count = math.ceil(connections / most)
    share, rest = divmod(connections, count)
    return [
        Group(share + (number < rest), 1 + (already + number) % SOURCES) for number in range(count)
    ]


@dataclass
class Room:
    """What is left of the machine."""

    available_kib: int  # memory
    floor_kib: int  # that stays available
    descriptors: int  # of the whole system
    groups: int


def next_step(held, kib_each, room, most):
    """(how many more connections, what keeps it from being as many as there are, or None)."""
    each = max(kib_each, PAIR_KIB_LEAST) * SAFETY
    limits = [
        (held, None),
        (int((room.available_kib - room.floor_kib) / each), "memory"),
        ((room.descriptors - DESCRIPTORS_SPARE) // 2, "descriptors of the system (fs.file-max)"),
        (room.groups * most, "source addresses"),
    ]
    more, why = min(limits, key=lambda limit: limit[0])
    return (more if why is None or more >= WORTH_IT else 0), why


def parse_meminfo(text):
    """(memory that programs can still have, memory that the kernel cannot give back) in KiB."""
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M))
    return int(found["MemAvailable"]), int(found["SUnreclaim"])


def parse_free_descriptors(text):
    """From /proc/sys/fs/file-nr: in use, free of these, most."""
    used, free, most = map(int, text.split())
    return most - used + free


def parse_private_kib(text):
    """Memory that no file is behind, from smaps_rollup; what is shared counts in shares."""
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M))
    names = ("Pss_Anon", "Pss_Shmem") if "Pss_Anon" in found else ("Private_Clean", "Private_Dirty")
    return sum(int(found.get(name, 0)) for name in names)
