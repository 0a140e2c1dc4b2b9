"""Rate limits for requests of strangers, by address and by the peer that forwards it."""

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

from fanion.errors import Throttled
from fanion.runtime.token_bucket import TokenBucket, TokenBuckets
from fanion.server.forwarded import Client, network_of


class Rate(NamedTuple):
    """A number of requests at once, and then a number per second."""

    burst: int
    per_s: float


class RateLimit:
    """Token buckets by text; the least recently used ones are forgotten.

    Args:
        keys_max: The number of buckets that are kept.
        clock: Monotonic clock, in seconds.
    """

    def __init__(self, keys_max: int, clock: Callable[[], float]) -> None:
        self._buckets: TokenBuckets[str] = TokenBuckets(keys_max)
        self._clock = clock

    def __len__(self) -> int:
        return len(self._buckets)

    def require_room(self, rates: Sequence[tuple[str, Rate]]) -> list[TokenBucket]:
        """Return the buckets of these keys, each of which has a token. No token is taken.

        Raises:
            Throttled: One of the buckets is empty.
        """
        now = self._clock()
        buckets = [self._buckets.bucket_of(key) for key, _ in rates]
        waits_s = [
            bucket.wait_s(rate.per_s, rate.burst, now)
            for bucket, (_, rate) in zip(buckets, rates, strict=True)
        ]
        if any(waits_s):
            raise Throttled(ceil(max(waits_s)))
        return buckets


def take_tokens(buckets: Sequence[TokenBucket]) -> None:
    for bucket in buckets:
        bucket.level -= 1


def client_rates(client: Client, address: Rate, peer: Rate) -> list[tuple[str, Rate]]:
    """Return the keys and rates that a request of this client counts for; none without an address.

    Args:
        address: The rate of each client.
        peer: The rate of all clients together that one untrusted peer claims to forward.
    """
    if not client.address:
        return []
    network = network_of(client.address)
    if not client.claimed:
        return [(network, address)]
    return [(f"{network} {network_of(client.claimed)}", address), (f"{network} *", peer)]
