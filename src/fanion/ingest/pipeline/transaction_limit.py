"""The limit on what one transaction stores, so that other writers need not wait long for it.

SQLite has one writer at a time: whoever saves a flag waits for the transaction of a batch. 68,000
new persons in one transaction took 2.5 s, and 5.7 s beside a dozen busy processes, after which
the requests that waited were refused with status 503.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fanion.accept_log.port import LogEntry
from fanion.ingest.pipeline.batch import EXPANDED_BYTES_MAX, OBJECT_BYTES, Budget

# A batch without any other limit has so many JSON objects. An event with `$set` has three.
OBJECTS_MAX = EXPANDED_BYTES_MAX // OBJECT_BYTES
# The first transaction, of 13,000 new persons. Each next one may have twice as many.
FIRST_OBJECTS = 40_000
OBJECTS_MIN = 4_000
TRANSACTION_S = 0.5


@dataclass(slots=True)
class TransactionLimit:
    """The limit on the JSON objects of a transaction, from how long the previous ones took.

    The number of objects, rather than their length, says how many rows a transaction writes.

    Attributes:
        is_fixed: Whether other writers do not wait for a transaction, as in PostgreSQL.
        objects: The limit.
    """

    is_fixed: bool = True
    objects: int = OBJECTS_MAX

    def may_change(self, seconds: float, entries: Sequence[LogEntry]) -> bool:
        """Return whether `adapt` may change the limit; most batches are too small for that.

        Args:
            seconds: How long others could not write.
            entries: The entries that were stored.
        """
        if self.is_fixed or TRANSACTION_S / 2 <= seconds <= TRANSACTION_S:
            return False
        if seconds > TRANSACTION_S:
            return self.objects > OBJECTS_MIN
        # Each object has at least two bytes.
        size = sum(len(entry.envelope.body) for entry in entries)
        return self.objects < OBJECTS_MAX and size > self.objects

    def adapt(self, seconds: float, entries: Sequence[LogEntry]) -> None:
        """Adapt the limit to a transaction; 0.2 ms per MB.

        Args:
            seconds: How long others could not write.
            entries: The entries that it stored.
        """
        if not self.may_change(seconds, entries):
            return
        stored = sum(entry.envelope.body.count(b"{") for entry in entries)
        if seconds > TRANSACTION_S:
            fitting = int(stored * TRANSACTION_S / seconds)
            self.objects = max(min(self.objects, fitting), OBJECTS_MIN)
        elif stored > self.objects // 2:
            self.objects = min(2 * self.objects, OBJECTS_MAX)

    def within(self, budget: Budget) -> Budget:
        """Return the budget of a transaction, which is that of a batch with costlier objects."""
        return replace(budget, object_bytes=max(budget.object_bytes, budget.bytes // self.objects))


def transaction_limit(*, is_shared: bool) -> TransactionLimit:
    """Return the limit for a records store.

    Args:
        is_shared: Whether the store is PostgreSQL, where writers do not wait for one another.
    """
    if is_shared:
        return TransactionLimit()
    return TransactionLimit(is_fixed=False, objects=FIRST_OBJECTS)
