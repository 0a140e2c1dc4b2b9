"""Entries of the log of merges: which distinct ids came to which person, by which event."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from msgspec import Meta, Struct

from fanion.persons.merge import Changes, Join, PersonState
from fanion.projects.model import UserSummary

IDS_LISTED_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class LoggedSplit:
    """A distinct id that leaves a person for a new one."""

    distinct_id: str
    person: UUID
    new_person: UUID


@dataclass(frozen=True, slots=True)
class MovedIds:
    """The distinct ids of a person.

    Attributes:
        listed: The first IDS_LISTED_MAX of them.
        count: The number of all.
    """

    listed: tuple[str, ...] = ()
    count: int = 0

    def __add__(self, other: "MovedIds") -> "MovedIds":
        listed = (*self.listed, *other.listed)[:IDS_LISTED_MAX]
        return MovedIds(listed, self.count + other.count)


class MergeEvent(Struct, frozen=True, kw_only=True):
    id: UUID
    event: Annotated[str, Meta(description="`$identify`, `$create_alias` or `$merge_dangerously`.")]
    distinct_id: str
    timestamp: datetime


class LoggedMerge(Struct, frozen=True, kw_only=True):
    """An entry of the log, as it is stored.

    Attributes:
        person: The person that the ids came to; of a split, the one that they left.
        other_person: The person that was merged; of a split, the new one.
    """

    id: int
    created_at: datetime
    person: UUID
    other_person: UUID | None
    distinct_ids: list[str]
    distinct_ids_count: int
    event: MergeEvent | None
    user: UserSummary | None


def moved_ids(changes: Changes, stored: Mapping[int, MovedIds]) -> Iterator[tuple[Join, MovedIds]]:
    """Yield each merge of a batch with the distinct ids that came by it.

    Args:
        stored: The ids that merged persons had before the batch, by id of the person.
    """
    vanishing = {join.person for join in changes.joins if join.person is not None}
    gathered: dict[PersonState, MovedIds] = {}
    for join in changes.joins:
        moved = MovedIds((join.distinct_id,), 1)
        if join.person is not None:
            moved = _own_ids(join.person, changes, stored)
            moved += gathered.get(join.person, MovedIds())
        if join.into in vanishing:
            gathered[join.into] = gathered.get(join.into, MovedIds()) + moved
        yield join, moved


def _own_ids(person: PersonState, changes: Changes, stored: Mapping[int, MovedIds]) -> MovedIds:
    if person.id is not None:
        return stored.get(person.id, MovedIds())
    return MovedIds((changes.first_ids[person.uuid],), 1)
