"""Stored flags that the rules of today refuse: they go on working, and an operator may want to
know of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from fanion.db.engine import Records
from fanion.db.schema.tables import feature_flags
from fanion.errors import Invalid
from fanion.flags.automation.rollback import check_conditions
from fanion.flags.engine.definition import FlagRow, grouped_filters
from fanion.flags.storage.rows import READ_ROWS
from fanion.flags.validation.filters import check_filters, check_key

_flag = feature_flags.c


@dataclass(frozen=True, slots=True)
class InvalidFlag:
    """why: the first rule that a flag breaks, with the place"""

    project_id: int
    key: str
    why: str


async def invalid_flags(records: Records) -> Sequence[InvalidFlag]:
    """Of every project, without deleted ones."""
    statement = (
        select(_flag.project_id, _flag.key, _flag.filters, _flag.rollback_conditions)
        .where(_flag.deleted.is_(False))
        .order_by(_flag.project_id, _flag.id)
    )
    found: list[InvalidFlag] = []
    async with records.read() as connection:
        for part in (await connection.execute(statement)).partitions(READ_ROWS):
            found += [one for one in (_refused(*row) for row in part) if one is not None]
    return found


def _refused(project_id: int, key: str, filters: Any, conditions: Any) -> InvalidFlag | None:
    try:
        check_key(key)
        check_filters(grouped_filters(FlagRow(0, key, filters)), creating=False)
        check_conditions(conditions, None)
    except Invalid as error:
        place = f"{error.attr}: " if error.attr else ""
        return InvalidFlag(project_id, key, f"{place}{error.detail}")
    return None
