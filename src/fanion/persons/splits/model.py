"""The rules of splits: which distinct ids leave a person, and which persons they get."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from fanion.errors import Invalid
from fanion.persons.merge import person_uuid

# Distinct ids split off by one request. Their persons are created in one transaction.
IDS_MAX: Final = 500
_CHOSEN, _MAIN = "distinct_ids_to_split", "main_distinct_id"


@dataclass(frozen=True, slots=True)
class SplitChoice:
    """The distinct ids that a request splits off; at most one field is set.

    Attributes:
        chosen: These.
        main: All but this one.
    """

    chosen: Sequence[str] | None = None
    main: str | None = None


@dataclass(frozen=True, slots=True)
class EventsOfId:
    """The events of a distinct id.

    Attributes:
        count: None if counting takes too long.
        first: The time of the first one; None if there is none, or it was not found.
    """

    count: int | None = 0
    first: datetime | None = None


@dataclass(frozen=True, slots=True)
class SplitPerson:
    """A person that is made for a distinct id that is split off."""

    distinct_id: str
    uuid: UUID
    created_at: datetime


def leaving_ids(ids: Sequence[str], choice: SplitChoice) -> Sequence[str]:
    """Return the distinct ids that leave a person, which keeps at least one.

    Args:
        ids: Those of the person, sorted.

    Raises:
        Invalid: The request cannot be fulfilled; `attr` names the field.
    """
    if choice.chosen is not None and choice.main is not None:
        raise Invalid(f"Give {_CHOSEN} or {_MAIN}, not both.", attr=_MAIN)
    leaving = _chosen(ids, choice) if choice.chosen is not None else _others(ids, choice.main)
    if len(ids) < 2:
        raise Invalid("This person has only one distinct id, so that nothing can be split off.")
    if len(leaving) == len(ids):
        raise Invalid("A person keeps at least one of its distinct ids.", attr=_CHOSEN)
    if len(leaving) > IDS_MAX:
        raise Invalid(
            f"At most {IDS_MAX} distinct ids can be split off at once (these are {len(leaving)}). "
            f"Name some in {_CHOSEN}.",
            attr=_CHOSEN,
        )
    return leaving


def _chosen(ids: Sequence[str], choice: SplitChoice) -> Sequence[str]:
    if not choice.chosen:
        raise Invalid("This list may not be empty.", code="empty", attr=_CHOSEN)
    known = set(ids)
    for index, distinct_id in enumerate(choice.chosen):
        if distinct_id not in known:
            raise Invalid(
                f"This person does not have the distinct id {distinct_id!r}.",
                attr=f"{_CHOSEN}__{index}",
            )
    return list(dict.fromkeys(choice.chosen))


def _others(ids: Sequence[str], main: str | None) -> Sequence[str]:
    if main is not None and main not in ids:
        raise Invalid(f"This person does not have the distinct id {main!r}.", attr=_MAIN)
    kept = main if main is not None else next(iter(ids), "")
    return [distinct_id for distinct_id in ids if distinct_id != kept]


def split_persons(
    project_id: int,
    leaving: Sequence[str],
    events: Mapping[str, EventsOfId],
    person_created_at: datetime,
    version: int,
) -> Sequence[SplitPerson]:
    """Return the persons to make for distinct ids.

    A person is as old as the first of its events, if it has any.

    Args:
        version: That of the split; no other one has it, so that nobody has these UUIDs yet.
    """
    return [
        SplitPerson(
            distinct_id,
            uuid5(person_uuid(project_id, distinct_id), str(version)),
            events.get(distinct_id, EventsOfId()).first or person_created_at,
        )
        for distinct_id in leaving
    ]
