"""Starts of a program, in each of which something else fails."""

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

from programs import check, equal

AT_ONCE = 2


def try_starts(fail_one, numbers):
    """Fails the start at each of these numbers, several at once, until one is beyond its end."""
    begin = time.monotonic()
    count = 0
    wrong = []

    def try_one(number):
        try:
            return fail_one(number)
        except AssertionError as error:
            print(f"  number {number} of the start: {error!s:.1000}", flush=True)
            wrong.append(str(error)[:200])
            return True

    numbers = iter(numbers)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = True
        while failed and len(wrong) <= 30:
            some = list(pool.map(try_one, itertools.islice(numbers, 10 * AT_ONCE)))
            failed = all(some)
            count += sum(some)
    print(f"  {count} have failed, {time.monotonic() - begin:.0f} s", flush=True)
    equal(wrong, [])
    check(count > 0, "nothing has failed")
