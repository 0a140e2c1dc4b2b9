"""Persons and their distinct ids in the records store."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import (
    Row,
    Select,
    func,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.bulk import in_chunks
from fanion.db.engine import Records
from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.persons.state.store import (
    PORTION_IDS,
    PROPERTIES_TEXT,
    STATES,
    ids_by_uuid,
    next_portion,
    of_distinct_ids,
)

# Decoding more than this takes more than 1 to 2 ms, which is too long for the event loop.
DECODED_ON_LOOP_CHARS_MAX = 256 * 1024
_person = persons.c
_link = person_distinct_ids.c
_override = person_overrides.c
_decode = msgspec.json.Decoder().decode
PERSON_COLUMNS = (
    _person.id,
    _person.uuid,
    PROPERTIES_TEXT,
    _person.is_identified,
    _person.created_at,
)


@dataclass(frozen=True, slots=True)
class Person:
    """A stored person.

    Attributes:
        distinct_ids: Sorted as text; all of them, unless the reader limits them.
        properties_chars: The length of the JSON of the properties; 0 where it is not needed.
    """

    id: int
    uuid: UUID
    properties: Mapping[str, Any]
    is_identified: bool
    created_at: datetime
    distinct_ids: Sequence[str]
    properties_chars: int = 0


# ── For flags ────────────────────────────────────────────────────────────────────────────

_PROPERTIES = of_distinct_ids(_person.properties)


async def stored_properties(
    records: Records, keys: Sequence[tuple[int, str]]
) -> Mapping[tuple[int, str], Mapping[str, Any]]:
    """Return the properties of the persons that own distinct ids.

    Args:
        keys: Pairs of (project id, distinct id).

    Returns:
        Properties by key; unknown ids are absent.
    """
    by_project: dict[int, list[str]] = {}
    for project_id, distinct_id in keys:
        by_project.setdefault(project_id, []).append(distinct_id)
    properties: dict[tuple[int, str], Mapping[str, Any]] = {}
    for project_id, ids in by_project.items():
        parameters = {"project_id": project_id, "distinct_ids": list(dict.fromkeys(ids))}
        rows = await records.fetch(_PROPERTIES[records.dialect], parameters)
        properties.update({(project_id, row.distinct_id): row.properties for row in rows})
    return properties


# ── For the API ───────────────────────────────────────────────────────────────────────────


async def get_person(records: Records, project_id: int, person: UUID | int) -> Person | None:
    """Return a person by UUID or id, or None; a merged person is replaced by its survivor."""
    async with records.read() as connection:
        statement = select(*PERSON_COLUMNS).where(_person.project_id == project_id)
        if isinstance(person, UUID):
            survivor = select(_override.new_person).where(
                _override.project_id == project_id, _override.old_person == person
            )
            became = (await connection.execute(survivor)).scalar()
            statement = statement.where(_person.id.in_(ids_by_uuid(project_id, [became or person])))
        else:
            statement = statement.where(_person.id == person)
        rows = (await connection.execute(statement)).all()
        loaded = await with_distinct_ids(connection, project_id, rows)
    return loaded[0] if loaded else None


async def persons_of(
    records: Records, project_id: int, distinct_ids: Iterable[str], names: Collection[str]
) -> dict[str, Person]:
    """Return the persons of distinct ids, each with only that id and the properties in `names`.

    They are read in portions, as by `load_states`.
    """
    unique_ids = sorted(set(distinct_ids))
    by_distinct_id: dict[str, Person] = {}
    start, ids = 0, PORTION_IDS
    while start < len(unique_ids):
        some = unique_ids[start : start + ids]
        async with records.read() as connection:
            parameters = {"project_id": project_id, "distinct_ids": some}
            rows = (await connection.execute(STATES[records.dialect], parameters)).all()
        chars = sum(len(row.text) for row in rows)
        if chars <= DECODED_ON_LOOP_CHARS_MAX:
            by_distinct_id.update(_with_properties(rows, names))
        else:
            by_distinct_id.update(await asyncio.to_thread(_with_properties, rows, names))
        start += len(some)
        ids = next_portion(len(some), chars)
    return by_distinct_id


def _with_properties(rows: Sequence[Row[Any]], names: Collection[str]) -> dict[str, Person]:
    read: dict[int, Mapping[str, Any]] = {}
    for row in rows:
        if row.id not in read:
            properties = _decode(row.text)
            read[row.id] = {name: properties[name] for name in names if name in properties}
    return {
        row.distinct_id: Person(
            row.id,
            row.uuid,
            read[row.id],
            row.is_identified,
            row.created_at,
            [row.distinct_id],
        )
        for row in rows
    }


async def with_distinct_ids(
    connection: AsyncConnection,
    project_id: int,
    rows: Sequence[Row[Any]],
    distinct_ids_max: int | None = None,
) -> list[Person]:
    """Return the persons of some rows with their distinct ids.

    Args:
        rows: Rows of PERSON_COLUMNS.
        distinct_ids_max: The limit of the distinct ids of each person; None for all of them.
    """
    ids: dict[int, list[str]] = {row.id: [] for row in rows}
    for some in in_chunks(list(ids)):
        for person_id, distinct_id in await connection.execute(
            _links(project_id, some, distinct_ids_max)
        ):
            ids[person_id].append(distinct_id)
    if sum(len(row.text) for row in rows) <= DECODED_ON_LOOP_CHARS_MAX:
        return [_read_person(row, ids[row.id]) for row in rows]
    return await asyncio.to_thread(lambda: [_read_person(row, ids[row.id]) for row in rows])


def _links(project_id: int, persons: Sequence[int], distinct_ids_max: int | None) -> Select[Any]:
    columns = select(_link.person_id, _link.distinct_id)
    links = columns.where(_link.project_id == project_id, _link.person_id.in_(persons))
    if distinct_ids_max is not None:
        rank = func.row_number().over(partition_by=_link.person_id, order_by=_link.distinct_id)
        ranked = links.add_columns(rank.label("rank")).subquery().c
        links = select(ranked.person_id, ranked.distinct_id).where(ranked.rank <= distinct_ids_max)
        return links.order_by(ranked.person_id, ranked.distinct_id)
    return links.order_by(_link.person_id, _link.distinct_id)


def _read_person(row: Row[Any], distinct_ids: Sequence[str]) -> Person:
    return Person(
        row.id,
        row.uuid,
        _decode(row.text),
        row.is_identified,
        row.created_at,
        distinct_ids,
        len(row.text),
    )
