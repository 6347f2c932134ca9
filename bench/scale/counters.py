"""What bench/scale/lines.cpp counts: read from the file that both have open."""

import struct
from dataclasses import dataclass, field

HEAD = struct.Struct("4Q")  # struct counters
PLACE = struct.Struct("3Q")  # struct place
PLACES = 4096
THREADS = 64  # those beyond would count as one of these


@dataclass
class Moves:
    """Lines that have moved between threads; of them, those for the sake of a neighbour."""

    moves: int = 0
    needless: int = 0
    threads: int = 0
    lost: int = 0  # of which there was no room to take note
    places: dict = field(default_factory=dict)  # (moves, needless) by where the program did it

    def since(self, earlier):
        places = {}
        for code, (moves, needless) in self.places.items():
            moves_before, needless_before = earlier.places.get(code, (0, 0))
            if moves > moves_before:
                places[code] = (moves - moves_before, needless - needless_before)
        return Moves(self.moves - earlier.moves, self.needless - earlier.needless, self.threads,
                     self.lost - earlier.lost, places)


def parse(data):
    moves, needless, threads, lost = HEAD.unpack_from(data)
    places = {}
    for at in range(HEAD.size, HEAD.size + PLACES * PLACE.size, PLACE.size):
        code, *counts = PLACE.unpack_from(data, at)
        if code:
            places[code] = tuple(counts)
    return Moves(moves, needless, threads, lost, places)
