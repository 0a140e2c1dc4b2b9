"""How much a project may send: token buckets, one for items and one for bytes."""

from collections import OrderedDict
from math import ceil

from fanion.projects.model import IngestionSettings

# Only projects with a limit have buckets; of more than these the least recently used start full.
PROJECTS_MAX = 10_000
ROUNDING_S = 1e-6


class RateLimits:
    """A request that finds anything in the bucket goes through whole and may leave a debt, so
    that no batch is too large to be sent ever; the rate holds over time."""

    def __init__(self, projects_max: int = PROJECTS_MAX) -> None:
        self._projects_max = projects_max
        self._buckets: OrderedDict[int, tuple[_Bucket, _Bucket]] = OrderedDict()

    def wait_s(
        self, project_id: int, settings: IngestionSettings, items: int, size: int, now: float
    ) -> int:
        """Take what a request needs; 0, or whole seconds until it may come again and nothing
        is taken.

        size: bytes; now: seconds of any clock that does not go back
        """
        of_items, of_bytes = self._of(project_id)
        burst_s = settings.burst_seconds
        wait = max(
            of_items.wait_s(settings.items_per_second, burst_s, now),
            of_bytes.wait_s(settings.bytes_per_second, burst_s, now),
        )
        if wait > 0:
            return ceil(wait)
        of_items.level -= items
        of_bytes.level -= size
        return 0

    def _of(self, project_id: int) -> "tuple[_Bucket, _Bucket]":
        buckets = self._buckets.get(project_id)
        if buckets is None:
            buckets = self._buckets[project_id] = _Bucket(), _Bucket()
            if len(self._buckets) > self._projects_max:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(project_id)
        return buckets


class _Bucket:
    """level: what may be taken now; negative is a debt"""

    __slots__ = ("_at", "level")

    def __init__(self) -> None:
        self.level = float("inf")
        self._at = 0.0

    def wait_s(self, rate: float | None, burst_s: float, now: float) -> float:
        """Seconds until something is in it. A rate that changed counts from now on."""
        if rate is None:
            self.level = float("inf")
            return 0.0
        grown = self.level + max(0.0, now - self._at) * rate
        self.level = min(grown, rate * burst_s)
        self._at = now
        # A whole one, or the smallest bucket's worth: fractions would let through too early.
        needed = min(1.0, rate * burst_s)
        wait = (needed - self.level) / rate
        return wait if wait > ROUNDING_S else 0.0
