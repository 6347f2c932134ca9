"""What is asked of the servers whose lines are counted."""

from dataclasses import dataclass

import script


@dataclass(frozen=True)
class Case:
    """A round: `depth` requests on each connection, all found at once by a server that slept."""

    name: str
    depth: int = 1
    rest_seconds: float = 0.0  # nobody asks for so long, behind a request that is not counted
    rounds: int = 3  # that are measured
    nginx: bool = True  # asked of it, too


REQUEST = script.get("/plaintext")
# rota-http gives up what an idle client's output kept after a second (server_limits::rest_after):
# for a client that is not idle the requests that are counted have to come sooner.
AWAKE_SECONDS = 0.9
CASES = (
    Case("keep-alive"),
    Case("from rest", rest_seconds=1.2, rounds=2, nginx=False),
    Case("16 deep", depth=16, rounds=2),
)
# The difference between the last and the first is that of so many connections.
CONNECTIONS = (8, 40)
ROUNDS_BEFORE = 2  # for memory that grows once
