"""Rate limit of sign-ins that a stranger may begin: each writes a row."""

from collections.abc import Callable
from math import ceil

from fanion.errors import Throttled
from fanion.runtime.token_bucket import TokenBuckets
from fanion.server.forwarded import Client, network_of

STARTS_PER_S = 0.5
STARTS_BURST = 60  # an office behind one address
ADDRESSES_MAX = 10_000  # counted at a time: 3 MB


class StartLimit:
    """clock: seconds that only go forward"""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: TokenBuckets[str] = TokenBuckets(ADDRESSES_MAX)

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, client: Client) -> None:
        """Where clients cannot be told apart there is no limit. raises: Throttled"""
        if not client.address:
            return
        networks = [network_of(one) for one in (client.address, client.claimed) if one]
        bucket = self._buckets.of(" ".join(networks))
        wait_s = bucket.wait_s(STARTS_PER_S, STARTS_BURST, self._clock())
        if wait_s:
            raise Throttled(ceil(wait_s))
        bucket.level -= 1
