"""Failures that leave something behind each time."""

import time

from programs import check

REPEATS = 25
WINDOW = 4  # rounds of so many, in which caches that breathe do not matter
ROUNDS = 20  # in which caches that fill are full


def check_no_leak(fail_once, blocks, number):
    """Lets the same one fail again and again: of a leak there is a block each time at least. False
    if it does not always fail: it is close to the end of the script."""
    seen = [blocks()]
    while len(seen) <= ROUNDS:
        if not all(fail_once(number) for _ in range(REPEATS)):
            return False
        seen.append(blocks())
        if len(seen) > WINDOW and seen[-1] - seen[-1 - WINDOW] < WINDOW * REPEATS / 2:
            return True
    grown = [after - before for before, after in zip(seen, seen[1:])]
    raise AssertionError(f"number {number} leaves {grown} blocks in {REPEATS} tries each")


def check_no_leaks(fail_once, blocks, seen, count):
    """So with `count` of the `seen` ones of a script, with others each time. A run of the script
    may be much shorter than the one that was counted: then it is one from further ahead."""
    step = max(1, seen // count)
    tried = []
    for number in range(1 + int(time.time()) % step, seen + 1, step):
        while number > 0 and not check_no_leak(fail_once, blocks, number):
            number //= 2
        if number > 0:
            tried.append(number)
    check(tried or seen < 3, f"none of {seen} fails again and again")
    print(f"  nothing leaks by numbers {tried}", flush=True)
