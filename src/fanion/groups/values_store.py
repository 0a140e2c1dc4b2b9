"""The values of a property of groups, with how often they occur."""

import asyncio
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Text, select, type_coerce

from fanion.db.engine import Records
from fanion.db.schema.tables import groups
from fanion.groups.store import PORTION_KEYS
from fanion.properties.value_counts import PropertyValue, ValueCounter, ValueSearch

# Groups that are counted, in the order of their keys.
GROUPS_MAX: Final = 20_000
BYTES_MAX: Final = 64 * 2**20  # limit of their properties as JSON

_group = groups.c


async def group_values(
    records: Records, project_id: int, index: int, search: ValueSearch
) -> list[PropertyValue]:
    """Return the most frequent values of a property.

    A portion of the groups is in memory at a time.

    Args:
        index: The index of the group type.
    """
    counter = ValueCounter(search)
    page = (
        select(_group.group_key, type_coerce(_group.properties, Text).label("text"))
        .where(_group.project_id == project_id, _group.group_type_index == index)
        .order_by(_group.group_key)
        .limit(PORTION_KEYS)
    )
    after, seen, size = page, 0, 0
    while seen < GROUPS_MAX and size < BYTES_MAX:
        rows = await records.fetch(after)
        await asyncio.to_thread(_add_values, counter, [row.text for row in rows])
        if len(rows) < PORTION_KEYS:
            break
        after = page.where(_group.group_key > rows[-1].group_key)
        seen += len(rows)
        size += sum(len(row.text) for row in rows)
    return await asyncio.to_thread(counter.most_frequent)


def _add_values(counter: ValueCounter, texts: Sequence[str]) -> None:
    for text in texts:
        counter.count_values(text)
