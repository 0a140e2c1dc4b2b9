"""Devices and users that sources join by fields of events, as events that join them here."""

from datetime import datetime

from fanion.transfer.event_files.ids import id_of
from fanion.transfer.event_files.model import FileProblem, ImportedEvent

PAIRS_MAX = 10_000_000


class Identities:
    """The pairs of anonymous id and user that have been seen, each of which is joined once."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._seen: set[int] = set()

    def joined(self, anonymous_id: str, user_id: str, at: datetime) -> list[ImportedEvent]:
        """Return the event that joins both; [] if there was one before.

        Raises:
            FileProblem: There are too many pairs.
        """
        uuid = id_of(self._kind, "identify", anonymous_id, user_id)
        if anonymous_id == user_id or uuid.int in self._seen:
            return []
        if len(self._seen) >= PAIRS_MAX:
            raise FileProblem(f"More than {PAIRS_MAX} devices; import the files in several runs.")
        self._seen.add(uuid.int)
        properties = {"$anon_distinct_id": anonymous_id}
        return [ImportedEvent("$identify", at, uuid, user_id, properties)]
