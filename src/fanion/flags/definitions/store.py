"""Reading feature flags from the records store; `changes` writes them.

A flag is read with everything that the management API shows; a project's definitions are what its
flags are compiled from.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select

from fanion.cohorts.store import live_criteria
from fanion.db.engine import Records
from fanion.db.schema.tables import feature_flags, flag_versions, group_types, users
from fanion.flags.definitions.experiments_store import EXPERIMENT_SET, HAS_EXPERIMENT
from fanion.flags.definitions.list_query import EVERYTHING, Candidate, FlagQuery
from fanion.flags.engine.definition import (
    CohortRow,
    Flag,
    FlagDefinitions,
    FlagRow,
    compile_flag,
    grouped_filters,
)
from fanion.projects.model import UserSummary, user_summary
from fanion.projects.organizations.store import USER_SUMMARY
from fanion.properties.filters import InCohort
from fanion.rest.validation import object_id

_flag = feature_flags.c

# Rows read in one turn of the event loop.
READ_ROWS = 500
READ_IDS_MAX = 1_000  # in one statement: both engines limit its parameters
_DEFINITION_NAMES = tuple(field.name for field in fields(FlagRow))
# What the table of experiments says of a flag.
_DERIVED: Mapping[str, ColumnElement[Any]] = {
    "has_experiment": HAS_EXPERIMENT,
    "experiment_set": EXPERIMENT_SET,
}


def _selected(name: str) -> ColumnElement[Any]:
    return _DERIVED[name].label(name) if name in _DERIVED else _flag[name]


DEFINITION = tuple(map(_selected, _DEFINITION_NAMES))
# The columns that a query compares. Filters are long, so they are only read if a query needs them,
# with the old percentage that belongs to filters without groups.
_CANDIDATE = (
    _flag.id,
    _flag.key,
    _flag.name,
    _flag.active,
    _flag.tags,
    _flag.created_by_id,
    _flag.created_at,
    _flag.evaluation_runtime,
    HAS_EXPERIMENT,
)
_FILTERS = (_flag.filters, _flag.rollout_percentage)


@dataclass(frozen=True, slots=True)
class StoredFlag:
    """A stored flag: its definition, its creator, and the further columns by name."""

    definition: FlagRow
    created_by: UserSummary | None
    project_id: int
    created_at: datetime
    rollback_conditions: Any
    performed_rollback: bool | None
    tags: list[str]
    usage_dashboard: int | None
    analytics_dashboards: list[int]
    has_enriched_analytics: bool
    experiment_set: list[int]

    @property
    def creator_id(self) -> int | None:
        return None if self.created_by is None else self.created_by.id

    @property
    def candidate(self) -> Candidate:
        """Return the fields that a query compares."""
        row = self.definition
        return Candidate(
            row.id,
            row.key,
            row.name,
            row.active,
            grouped_filters(row),
            self.tags,
            self.creator_id,
            self.created_at,
            row.evaluation_runtime,
            row.has_experiment,
        )


_FURTHER_NAMES = tuple(
    field.name for field in fields(StoredFlag) if field.name not in ("definition", "created_by")
)
_COLUMNS = (*DEFINITION, *map(_selected, _FURTHER_NAMES))


def flag_rows() -> Select[Any]:
    return select(*_COLUMNS, *USER_SUMMARY).select_from(
        feature_flags.outerjoin(users, users.c.id == _flag.created_by_id)
    )


def get_flag(connection: Connection, project_id: int, flag_id: int) -> StoredFlag | None:
    """Return a flag, even if it is deleted."""
    statement = flag_rows().where(_flag.project_id == project_id, _flag.id == flag_id)
    row = connection.execute(statement).first()
    return None if row is None else stored_flag(row)


def lock_flag(connection: Connection, project_id: int, flag_id: int) -> StoredFlag | None:
    """Return a flag that no other transaction can change before this one ends.

    Every change of something that belongs to a flag locks the flag first, so that all transactions
    lock in one order.
    """
    statement = flag_rows().where(_flag.project_id == project_id, _flag.id == flag_id)
    row = connection.execute(statement.with_for_update(of=feature_flags)).first()
    return None if row is None else stored_flag(row)


def stored_flag(row: Row[Any]) -> StoredFlag:
    further = row[len(DEFINITION) : len(_COLUMNS)]
    return StoredFlag(FlagRow(*row[: len(DEFINITION)]), user_summary(row), *further)


def columns_of(flag: StoredFlag) -> dict[str, Any]:
    """Return the stored columns of a flag, by name, without its creator."""
    row = {name: getattr(flag.definition, name) for name in _DEFINITION_NAMES}
    return row | {name: getattr(flag, name) for name in _FURTHER_NAMES}


def flag_row(columns: Mapping[str, Any]) -> FlagRow:
    """Return the definition in a flag's columns; missing columns have their defaults."""
    return FlagRow(**{name: columns[name] for name in _DEFINITION_NAMES if name in columns})


def flag_version(connection: Connection, project_id: int) -> int:
    statement = select(flag_versions.c.version).where(flag_versions.c.project_id == project_id)
    return connection.scalar(statement) or 0


def live_flags(project_id: int) -> Select[Any]:
    """Select the definitions of flags that are not deleted, oldest first."""
    return (
        select(*DEFINITION)
        .where(_flag.project_id == project_id, _flag.deleted.is_(False))
        .order_by(_flag.id)
    )


def with_references(
    connection: Connection, project_id: int, flags: Sequence[FlagRow], version: int
) -> FlagDefinitions:
    """Return the flags together with everything else that their conditions name."""
    names = _group_types(connection, project_id)
    return FlagDefinitions(flags, names, cohort_rows(connection, project_id), version)


def definitions_around(
    connection: Connection, project_id: int, row: FlagRow | None
) -> FlagDefinitions:
    """Return what one flag is compiled from.

    That is the flag itself, the flags that it depends on directly or indirectly, and everything
    else that their conditions name. The stored version of the flag is not read.

    Args:
        row: None for no flag at all.
    """
    flags = [] if row is None else _with_dependencies(connection, project_id, row)
    version = flag_version(connection, project_id)
    if any(_names_cohort(compile_flag(flag)) for flag in flags):
        return with_references(connection, project_id, flags, version)
    return FlagDefinitions(flags, _group_types(connection, project_id), (), version)


def _with_dependencies(connection: Connection, project_id: int, row: FlagRow) -> list[FlagRow]:
    rows = {row.id: row}
    known: set[str] = {str(row.id)}
    pending = _flags_named(row)
    while names := pending - known:
        known |= names
        pending = set()
        for other in _flags_called(connection, project_id, sorted(names)):
            if other.id not in rows:
                rows[other.id] = other
                pending |= _flags_named(other)
    return list(rows.values())


def _flags_called(
    connection: Connection, project_id: int, names: Sequence[str]
) -> Iterator[FlagRow]:
    """Yield the flags with these names.

    Args:
        names: Keys, or ids in decimal.
    """
    for start in range(0, len(names), READ_IDS_MAX):
        batch = names[start : start + READ_IDS_MAX]
        ids = [number for number in map(object_id, batch) if number is not None]
        called = _flag.key.in_(batch) | _flag.id.in_(ids)
        for columns in connection.execute(live_flags(project_id).where(called)):
            yield FlagRow(*columns)


def _flags_named(row: FlagRow) -> set[str]:
    rules = compile_flag(row).rules
    return set() if rules is None else set(rules.flags_named())


def _names_cohort(flag: Flag) -> bool:
    return flag.rules is not None and any(isinstance(x, InCohort) for x in flag.rules.leaves())


def _group_types(connection: Connection, project_id: int) -> Mapping[int, str]:
    types = select(group_types.c.group_type_index, group_types.c.group_type).where(
        group_types.c.project_id == project_id
    )
    return {row[0]: row[1] for row in connection.execute(types)}


def cohort_rows(connection: Connection, project_id: int) -> Sequence[CohortRow]:
    """Return the project's cohorts, without deleted ones."""
    return [
        CohortRow(
            cohort.id,
            None if cohort.is_static else cohort.effective_filters.get("properties"),
            cohort.is_static,
        )
        for cohort in live_criteria(connection, project_id)
    ]


@dataclass(frozen=True, slots=True)
class FlagStore:
    """Queries for flags."""

    records: Records

    async def flags_page(
        self, project_id: int, limit: int, offset: int
    ) -> tuple[Sequence[StoredFlag], int]:
        """Return a page of flags that are not deleted, newest first, and their total number."""
        not_deleted = (_flag.project_id == project_id) & _flag.deleted.is_(False)
        statement = (
            flag_rows()
            .where(not_deleted)
            .order_by(_flag.created_at.desc(), _flag.id.desc())
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(feature_flags).where(not_deleted)
            )
            rows = await connection.execute(statement)
            return [stored_flag(row) for row in rows], total or 0

    async def find_flags(
        self, project_id: int, query: FlagQuery, now: datetime, limit: int, offset: int
    ) -> tuple[Sequence[StoredFlag], int]:
        """Return a page of the flags that match a query, in its order, and their total number."""
        if query == EVERYTHING:
            return await self.flags_page(project_id, limit, offset)
        columns = (*_CANDIDATE, *(_FILTERS if query.looks_at_filters else ()))
        candidates = select(*columns).where(
            _flag.project_id == project_id, _flag.deleted.is_(query.deleted)
        )
        async with self.records.read() as connection:
            ids = query.choose(map(_candidate, await connection.execute(candidates)), now)
            page_ids = ids[offset : offset + limit]
            return await connection.run_sync(_flags_in_order, page_ids), len(ids)

    async def get_flag(self, project_id: int, flag_id: int) -> StoredFlag | None:
        """Return a flag, even if it is deleted."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_flag, project_id, flag_id)

    async def definitions(self, project_id: int) -> FlagDefinitions:
        """Return everything that evaluation needs, from one snapshot of the store."""
        async with self.records.read() as connection:
            version = await connection.run_sync(flag_version, project_id)
            flags: list[FlagRow] = []
            for part in (await connection.execute(live_flags(project_id))).partitions(READ_ROWS):
                flags += [FlagRow(*row) for row in part]
                await asyncio.sleep(0)
            return await connection.run_sync(with_references, project_id, flags, version)

    async def keys_newest_first(self, project_id: int) -> Sequence[str]:
        """Return the keys of all flags that are not deleted, newest first."""
        statement = (
            select(_flag.key)
            .where(_flag.project_id == project_id, _flag.deleted.is_(False))
            .order_by(_flag.created_at.desc(), _flag.id.desc())
        )
        return [row.key for row in await self.records.fetch(statement)]

    async def flag_versions(self, project_ids: Sequence[int]) -> Mapping[int, int]:
        """Return the flag versions of these projects; a project without flags has none."""
        statement = select(flag_versions.c.project_id, flag_versions.c.version).where(
            flag_versions.c.project_id.in_(project_ids)
        )
        return {row.project_id: row.version for row in await self.records.fetch(statement)}


def _flags_in_order(connection: Connection, ids: Sequence[int]) -> Sequence[StoredFlag]:
    flags = {}
    for start in range(0, len(ids), READ_IDS_MAX):
        batch = ids[start : start + READ_IDS_MAX]
        for row in connection.execute(flag_rows().where(_flag.id.in_(batch))):
            flags[row.id] = stored_flag(row)
    return [flags[flag_id] for flag_id in ids]


def _candidate(row: Row[Any]) -> Candidate:
    plain, filters = row[: len(_CANDIDATE)], row[len(_CANDIDATE) :]
    flag_id, key, name, active, *rest = plain
    grouped = grouped_filters(FlagRow(flag_id, key, *filters)) if filters else {}
    return Candidate(flag_id, key, name, active, grouped, *rest)
