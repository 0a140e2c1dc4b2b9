"""SQL that counts an event once, however often it is stored.

Copies of an event have one key if they agree in project, UTC day, name, distinct id and uuid. These
are joined by merges, and by `FINAL` before they are merged, in a third of the time in which uuids
are compared. Copies of one uuid with different keys, such as a retry days later at the time of its
arrival, are joined by nothing but their uuid.

Source: docs/decisions/0004-once-and-in-order.md.
"""

from dataclasses import dataclass
from typing import Final

# A hash of 64 bits takes less memory than the uuid. Two uuids of equal hash would only make the
# project's statements compare uuids.
COPIES_WITH_DIFFERENT_KEYS: Final = """
  SELECT hash
    FROM (SELECT cityHash64(uuid) AS hash
            FROM events FINAL
           WHERE project_id = {project_id:UInt64})
GROUP BY hash
  HAVING count() > 1
   LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class CountedOnce:
    """The parts of a statement about `events` that depend on how copies are joined.

    Attributes:
        by_key: Whether all copies of the project's events share their key.
    """

    by_key: bool

    @property
    def events(self) -> str:
        """Return what follows FROM."""
        return "events FINAL" if self.by_key else "events"

    @property
    def limit(self) -> str:
        """Return what ends a SELECT of rows of `events`."""
        return "" if self.by_key else "\n   LIMIT 1 BY uuid"

    def count(self, condition: str) -> str:
        """Return an aggregate: how many events fulfil a condition."""
        return f"countIf({condition})" if self.by_key else f"uniqExactIf(uuid, {condition})"
