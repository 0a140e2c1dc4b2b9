"""The number of persons that match a search and properties."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from fanion.db.engine import Records
from fanion.events.storage.store import EventStore
from fanion.persons.list_store import (
    SCAN_MAX,
    PersonQuery,
    ask_persons,
    conditions_of,
    keys_of,
    read_keys,
)
from fanion.properties.bindings import Bindings
from fanion.properties.filters import Property

# Persons that the records store counts; it takes 30 ms.
COUNT_MAX = 100_000
# Persons found by a search whose properties the event store compares, in requests of SCAN_MAX.
COMPARED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class PersonsCount:
    """The number of persons that match a query; they are more unless it is exact."""

    count: int
    is_exact: bool


async def count_persons(
    records: Records, project_id: int, query: PersonQuery, counted_max: int = COUNT_MAX
) -> PersonsCount:
    """Count the persons of a query, without regard to its page.

    Args:
        counted_max: The limit where the query has no `chosen`.
    """
    if query.chosen is not None:
        return await _count_chosen(records, project_id, query)
    keys = keys_of(project_id).where(*conditions_of(project_id, query)).limit(counted_max + 1)
    async with records.read() as connection:
        number = await connection.scalar(select(func.count()).select_from(keys.subquery()))
    return PersonsCount(min(number or 0, counted_max), is_exact=(number or 0) <= counted_max)


async def _count_chosen(records: Records, project_id: int, query: PersonQuery) -> PersonsCount:
    assert query.chosen is not None
    keys = keys_of(project_id).where(*conditions_of(project_id, query)).limit(COMPARED_MAX + 1)
    found = await read_keys(records, keys)
    compared, count = found[:COMPARED_MAX], 0
    for start in range(0, len(compared), SCAN_MAX):
        count += len(await query.chosen(compared[start : start + SCAN_MAX]))
    return PersonsCount(count, is_exact=len(found) <= COMPARED_MAX)


async def count_with_properties(
    properties: Sequence[Property], events: EventStore, project_id: int, now: datetime
) -> PersonsCount:
    """Count the persons with all of the properties, as the event store knows them.

    Raises:
        Invalid: The properties cannot be compared.
        EventStoreUnavailable: The event store failed.
    """
    bindings = Bindings()
    where = [f"project_id = {bindings.add(project_id, 'UInt64')}"]
    [[count]] = await ask_persons("count()", where, properties, bindings, events, now)
    return PersonsCount(int(count), is_exact=True)
