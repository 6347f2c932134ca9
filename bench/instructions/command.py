"""What bench/instructions and bench/touched have in common as commands."""

import os
import signal
import sys

from error import InstructionsError


def give_up(*_):
    raise InstructionsError("it takes too long (--limit)")


def main(parse_arguments, run):
    """The exit code of run(options)."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers are stopped
    signal.signal(signal.SIGALRM, give_up)
    os.environ["LC_ALL"] = "C"
    options = parse_arguments()
    signal.alarm(options.limit)
    try:
        return run(options)
    except InstructionsError as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
