"""The effect of an event on persons, without the event."""

from datetime import datetime
from uuid import UUID

import msgspec

from fanion.persons.merge import Merge, PersonUpdate


class Command(msgspec.Struct, frozen=True):
    """A `persons.merge.PersonCommand`."""

    distinct_id: str
    timestamp: datetime
    update: PersonUpdate | None = None
    merge: Merge | None = None
    makes_person: bool = True
    uuid: UUID = UUID(int=0)
