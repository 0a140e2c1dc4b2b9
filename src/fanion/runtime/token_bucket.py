"""The token buckets of rate limits, one for each key. Pure: the clock is passed in."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

ROUNDING_S = 1e-6

K = TypeVar("K", bound=Hashable)


class TokenBucket:
    """A token bucket, full at first.

    Attributes:
        level: The tokens that may be taken now; a negative number is a debt.
    """

    __slots__ = ("_at", "level")

    def __init__(self) -> None:
        self.level = float("inf")  # full, whatever the capacity
        self._at = 0.0

    def wait_s(self, per_s: float | None, capacity: float, now: float) -> float:
        """Return the seconds until there is a whole token, or 0.0 if there is one; take nothing.

        Args:
            per_s: Tokens added per second. A changed rate counts from now on; None fills the
                bucket.
            capacity: The most tokens. A bucket smaller than one token needs all of it.
            now: Seconds of any clock; one that was set back adds nothing.
        """
        if per_s is None:
            self.level = float("inf")
            return 0.0
        self.level = min(self.level + max(0.0, now - self._at) * per_s, capacity)
        self._at = now
        wait_s = (min(1.0, capacity) - self.level) / per_s
        return wait_s if wait_s > ROUNDING_S else 0.0


class TokenBuckets(Generic[K]):
    """The buckets of many keys.

    Beyond `keys_max` keys the least recently used are forgotten, and start full again.
    """

    def __init__(self, keys_max: int) -> None:
        self._keys_max = keys_max
        self._buckets: OrderedDict[K, TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def __iter__(self) -> Iterator[K]:
        return iter(self._buckets)

    def bucket_of(self, key: K) -> TokenBucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = TokenBucket()
            if len(self._buckets) > self._keys_max:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
        return bucket
