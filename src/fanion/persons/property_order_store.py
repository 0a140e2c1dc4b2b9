"""Pages of persons sorted by a property, as known to the event store.

The records store does not parse properties, so the event store sorts the project's persons, within
the time limit of interactive queries. Changes of the last few seconds may be missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from fanion.db.bulk import in_chunks
from fanion.db.engine import Records
from fanion.db.schema.tables import persons
from fanion.errors import Invalid
from fanion.events.storage.store import EventStore
from fanion.persons.list_store import (
    PersonQuery,
    PersonsPage,
    ask_persons,
    conditions_of,
    keys_of,
    read_keys,
    read_page,
)
from fanion.persons.state.store import ids_by_uuid
from fanion.properties.bindings import NO_COLUMNS, Bindings
from fanion.properties.condition_sql import event_text
from fanion.properties.filters import Property

PREFIX: Final = "properties."
# The most search results that the event store sorts, because it receives their UUIDs.
SORTED_MAX = 10_000
# Texts are sorted by this many leading characters, because properties may have 512 KB.
SORTED_CHARS = 200


@dataclass(frozen=True, slots=True)
class PropertyOrder:
    key: str
    is_descending: bool


class _Key(NamedTuple):
    """The key of a person; the id is 0 if the person has been deleted in the meantime."""

    id: int
    uuid: UUID
    created_at: datetime


def property_order(text: str) -> PropertyOrder | None:
    """Return the order that `properties.plan` names, or None if the text names no property."""
    name = text.removeprefix("-")
    key = name.removeprefix(PREFIX)
    if key in ("", name):
        return None
    return PropertyOrder(key, is_descending=text != name)


async def persons_by_property(
    records: Records,
    events: EventStore,
    project_id: int,
    query: PersonQuery,
    order: PropertyOrder,
    having: Sequence[Property],
    now: datetime,
    found_max: int = SORTED_MAX,
) -> PersonsPage:
    """Return one page of persons, sorted by a property.

    Args:
        query: Its conditions are checked by the records store; `chosen` and `order` are ignored.
        having: Conditions that the event store checks.
        found_max: The most persons that the records store may find.

    Raises:
        Invalid: More persons were found, or the properties cannot be compared.
        EventStoreUnavailable: The event store failed, or sorting took too long.
    """
    bindings = Bindings()
    where = [f"project_id = {bindings.add(project_id, 'UInt64')}"]
    if conditions := [*conditions_of(project_id, query)]:
        found = await _found(records, project_id, conditions, found_max)
        where.append(f"person_id IN {bindings.add(found, 'Array(UUID)')}")
    limit = bindings.add(query.limit + 1, "UInt64")
    offset = bindings.add(query.offset, "UInt64")
    ordered = f"{_order_by(order, bindings)} LIMIT {limit} OFFSET {offset}"
    columns = await ask_persons(
        "person_id, created_at", where, having, bindings, events, now, ordered
    )
    keys = await _with_ids(records, project_id, [*zip(*columns, strict=True)])
    page = await read_page(records, project_id, keys[: query.limit])
    return page if len(keys) <= query.limit else replace(page, is_cut=True)


async def _found(
    records: Records, project_id: int, conditions: Sequence[Any], found_max: int
) -> list[UUID]:
    keys = await read_keys(records, keys_of(project_id).where(*conditions).limit(found_max + 1))
    if len(keys) > found_max:
        raise Invalid(
            f"More than {found_max} persons are found, too many to be sorted by a property; "
            "search for fewer, or use conditions on properties.",
            code="too_large",
            attr="order",
        )
    return [key.uuid for key in keys]


def _order_by(order: PropertyOrder, bindings: Bindings) -> str:
    """Return ORDER BY: numbers first, then texts ignoring case; missing values come last."""
    text = event_text(order.key, bindings, NO_COLUMNS)
    number = f"toFloat64OrNull({text})"
    number = f"if(isFinite({number}), {number}, NULL)"
    start = f"leftUTF8({text}, {SORTED_CHARS})"
    way = "DESC" if order.is_descending else "ASC"
    terms = (
        f"{text} = ''",
        f"isNull({number}) {way}",
        f"{number} {way}",
        f"lowerUTF8({start}) {way}",
        f"{start} {way}",
        "created_at DESC",
        "person_id",
    )
    return f"ORDER BY {', '.join(terms)}"


async def _with_ids(
    records: Records, project_id: int, rows: Sequence[tuple[UUID, datetime]]
) -> list[_Key]:
    ids: dict[UUID, int] = {}
    for part in in_chunks([uuid for uuid, _ in rows]):
        statement = keys_of(project_id).where(persons.c.id.in_(ids_by_uuid(project_id, part)))
        ids |= {key.uuid: key.id for key in await read_keys(records, statement)}
    return [_Key(ids.get(uuid, 0), uuid, created_at) for uuid, created_at in rows]
