"""What all clients of a soak share: when to end, what was right, what was wrong."""

import asyncio
import random
import time
from collections import Counter

from client import Client, Wrong

FAILURES_KEPT = 20
FAULTS = (Wrong, OSError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError, ValueError,
          KeyError)


class World:
    def __init__(self, port, seed, pace=1.0):
        self.port = port
        self.seed = seed
        self.pace = pace
        self.stopping = asyncio.Event()
        self.right = Counter()  # answers that were as they had to be, by kind of client
        self.wrong = 0
        self.failures = []  # the first of those that were not
        self.begin = time.monotonic()

    async def client(self):
        return await Client.connect(self.port)

    def ok(self, kind, count=1):
        self.right[kind] += count

    def fail(self, kind, error):
        self.wrong += 1
        if len(self.failures) < FAILURES_KEPT:
            after = time.monotonic() - self.begin
            self.failures.append(f"{kind}, after {after:.1f} s: {error!r:.300}")

    async def pause(self, seconds):
        """Waits so long, less if the soak is to end. A faster pace waits less."""
        try:
            await asyncio.wait_for(self.stopping.wait(), seconds / self.pace)
        except asyncio.TimeoutError:
            pass

    async def live(self, kind, episode, number):
        """One client, which lives through one episode after the other until the soak ends."""
        rng = random.Random(f"{self.seed} {kind} {number}")
        await self.pause(rng.random())
        while not self.stopping.is_set():
            try:
                await episode(self, rng, kind)
            except FAULTS as error:
                self.fail(kind, error)
                await self.pause(1.0)

    async def run(self, cast, seconds):
        """All clients of `cast` (kind, episode, how many), for so long and until they end."""
        clients = [asyncio.create_task(self.live(kind, episode, number))
                   for kind, episode, count in cast for number in range(count)]
        ending = asyncio.create_task(self._end_after(seconds))
        try:
            await asyncio.gather(*clients)
        finally:
            ending.cancel()
            for client in clients:
                client.cancel()

    async def _end_after(self, seconds):
        await asyncio.sleep(seconds)
        self.stopping.set()
