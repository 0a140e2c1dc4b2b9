"""Which traces of a person are to go from every store."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """A person that was deleted, as long as something of it may be left somewhere.

    persons:      the person and all that were merged into it
    version:      the highest that any of them can have; who comes back has a higher one
    with_events:  whether its events go too
    requested_at: what was accepted up to here is meant; whoever comes back later is new
    """

    id: int
    project_id: int
    persons: tuple[UUID, ...]
    distinct_ids: frozenset[str]
    version: int
    with_events: bool
    requested_at: datetime
