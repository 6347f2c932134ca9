"""How many requests a second a topology can serve on so many cores, by what was measured on few.

A request costs CPU on the threads that receive and send, of which there is one each unless every
worker has its own, and on workers. No thread can be on two cores: so one of them may be what all
others wait for. With cores of its own it is the bound; else all of them share what there is.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """CPU for a request in microseconds, by what the thread is for."""

    receiving: float
    sending: float
    workers: float

    @property
    def total(self):
        return self.receiving + self.sending + self.workers


def most_per_second(costs, cores):
    """Requests a second, as a bound: with nothing lost to moves, caches and other programs."""
    least_us = costs.total / cores
    return 1e6 / max(least_us, costs.receiving, costs.sending)


def cores_that_pay(costs):
    """From how many cores on one thread is what all wait for; None if there is no such thread."""
    busiest = max(costs.receiving, costs.sending)
    return costs.total / busiest if busiest > 0 else None
