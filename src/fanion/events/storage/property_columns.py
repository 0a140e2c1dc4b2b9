"""The maintenance of dedicated columns for properties of events, in short steps.

A property that questions use often gets a column, which the engine fills for new events by itself
and for older ones in a mutation for each partition. A part without the column is read right all the
same, because the engine then computes its values. A step may be interrupted anywhere: what is
missing is looked up in the engine's own tables.

Source: docs/decisions/0027-property-columns.md.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Lanes, read_rows
from fanion.events.storage.mutations import POLL_FIRST_S, POLL_MAX_S
from fanion.events.storage.stored_columns import (
    StoredColumn,
    StoredColumns,
    kill_fills,
    pending_fills,
    read_stored,
)
from fanion.properties.bindings import COLUMN, column_of, stored_text
from fanion.runtime.background import Backoff

# How many properties that questions use are looked at, and how many rejected ones are remembered.
USED_MAX: Final = 1_000
REJECTED_MAX: Final = 1_000

_TYPE: Final = "LowCardinality(Nullable(String))"

_USES: Final = """
  SELECT property, sum(uses) AS number, sumIf(uses, day > today() - {days:UInt16}) AS recent,
         argMax(project_id, uses)
    FROM property_uses
   WHERE day > today() - {unused_days:UInt16}
GROUP BY property
ORDER BY recent DESC, number DESC, property
   LIMIT {limit:UInt64}
"""
_WRITE_USES: Final = """
  INSERT INTO property_uses (day, project_id, property, uses)
  SELECT today(), use.1, use.2, use.3
    FROM (SELECT arrayJoin({uses:Array(Tuple(UInt64, String, UInt64))}) AS use)
"""
# The newest events of the project that uses the property most.
_SAMPLE: Final = """
  SELECT countIf(isNotNull(value)), countIf(value = '\\0'), uniq(value), max(length(value))
    FROM (SELECT {text} AS value
            FROM events
           WHERE project_id = {project_id:UInt64}
        ORDER BY project_id DESC, toDate32(timestamp) DESC
           LIMIT {limit:UInt64})
"""

Use = tuple[int, str, int]  # project, property, how often


@dataclass(frozen=True, slots=True)
class PropertyUse:
    """How many questions have used a property.

    Attributes:
        recent: In the last `use_days`.
        project_id: The project that uses it most.
    """

    key: str
    uses: int
    recent: int
    project_id: int


@dataclass(frozen=True, slots=True)
class ColumnLimits:
    """The limits within which a property gets a column, and keeps it.

    Attributes:
        columns: How many columns there may be.
        events: How many events there must be. With fewer, questions take as long without columns.
        uses: How many questions of the last `use_days` must have used a property.
        unused_days: A column that no question has used for so long is removed.
        replaces: With all columns taken, a property replaces one that is used so many times less.
        sample: How many events are looked at.
        values: The most values in the sample. A column of more is not read faster than the JSON.
        value_bytes: The longest value in the sample.
        nested_share: The largest share of values that are lists or objects.
        rejected_s: How long a property is not looked at again.
    """

    columns: int = 10
    events: int = 500_000
    uses: int = 20
    use_days: int = 7
    unused_days: int = 30
    replaces: int = 4
    sample: int = 100_000
    values: int = 5_000
    value_bytes: int = 1_000
    nested_share: float = 0.001
    rejected_s: float = 86_400.0


class PropertyColumns:
    """The maintenance of dedicated columns, in short steps, each of which may be interrupted.

    Args:
        lanes: Threads for jobs.
        monotonic: The clock, in seconds.
    """

    def __init__(
        self, lanes: Lanes, limits: ColumnLimits, monotonic: Callable[[], float] = monotonic
    ) -> None:
        self._lanes = lanes
        self._limits = limits
        self._monotonic = monotonic
        self._rejected: dict[str, float] = {}

    async def stored(self) -> Sequence[StoredColumn]:
        """Return the properties with a column.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        return (await self._lanes.run(read_stored)).columns

    async def add_uses(self, uses: Sequence[Use]) -> None:
        """Add to how often questions have used properties today.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        if uses:
            await self._lanes.run(_write_uses, uses)

    async def step(self) -> bool:
        """Do the next step, and return whether there is more to do at once.

        Raises:
            EventStoreUnavailable: The event store failed.
            EventRejected: The engine refuses a column.
            StatementFailed: A step needs too much, or the engine refuses a change for now.
        """
        stored = await self._settled()
        uses = await self._uses()
        unwanted = _unwanted(stored, uses, self._limits)
        if unwanted:
            await self._alter(stored, [f"DROP COLUMN IF EXISTS {name}" for name in unwanted])
            return True
        candidate = self._candidate(stored, uses)
        if candidate is not None:
            await self._consider(stored, uses, candidate)
            return True
        if not stored.unfilled:
            return False
        await self._fill(stored)
        return True

    async def _settled(self) -> StoredColumns:
        """Return the columns when none is being filled. One that cannot be filled is removed."""
        backoff = Backoff(POLL_FIRST_S, POLL_MAX_S)
        while pending := await self._lanes.run(pending_fills):
            if any(pending):
                await self._give_up()
            await asyncio.sleep(backoff.next_s())
        return await self._lanes.run(read_stored)

    async def _give_up(self) -> None:
        """End the fills, one of which fails and holds up all others, and remove their columns."""
        stored = await self._lanes.run(read_stored)
        await self._lanes.run(kill_fills, stored.rows)
        unfilled = {column.name: column.key for column in stored.columns if not column.is_filled}
        for key in unfilled.values():
            self._reject(key)
        if unfilled:
            await self._alter(stored, [f"DROP COLUMN IF EXISTS {name}" for name in unfilled])

    async def _uses(self) -> Sequence[PropertyUse]:
        """Return the properties that questions have used, those most used recently first."""
        limits = self._limits
        bound = {
            "days": limits.use_days,
            "unused_days": limits.unused_days,
            "limit": USED_MAX,
        }
        return [PropertyUse(*row) for row in await self._lanes.run(read_rows, _USES, bound)]

    def _candidate(self, stored: StoredColumns, uses: Sequence[PropertyUse]) -> PropertyUse | None:
        """Return the most used property that may get a column."""
        limits, own = self._limits, {column.key for column in stored.columns}
        if stored.events < limits.events or limits.columns == 0:
            return None
        needed = limits.uses
        if len(own) >= limits.columns:
            least = min(use.recent for use in uses if use.key in own)  # unused ones are removed
            needed = max(needed, limits.replaces * max(least, 1))
        now = self._monotonic()
        for use in uses:
            is_new = use.key not in own and self._rejected.get(use.key, now) <= now
            if use.recent >= needed and is_new and COLUMN.fullmatch(use.key):
                return use
        return None

    async def _consider(
        self,
        stored: StoredColumns,
        uses: Sequence[PropertyUse],
        candidate: PropertyUse,
    ) -> None:
        """Add a column, in place of the least used one if there are enough, or reject it."""
        key, limits = candidate.key, self._limits
        bound = {"project_id": candidate.project_id, "limit": limits.sample}
        statement = _SAMPLE.replace("{text}", stored_text(key))
        [(values, nested, different, longest)] = await self._lanes.run(read_rows, statement, bound)
        is_fit = (
            values > 0
            and nested <= limits.nested_share * values
            and different <= limits.values
            and (longest or 0) <= limits.value_bytes
        )
        if not is_fit:
            self._reject(key)
            return
        if len(stored.columns) >= limits.columns:
            least = _by_use(stored, uses)[0]
            await self._alter(stored, [f"DROP COLUMN IF EXISTS {least.name}"])
        await self._alter(stored, [added(key)])

    def _reject(self, key: str) -> None:
        if len(self._rejected) >= REJECTED_MAX:
            self._rejected.clear()
        self._rejected[key] = self._monotonic() + self._limits.rejected_s

    async def _fill(self, stored: StoredColumns) -> None:
        """Fill the newest partition that lacks columns, and return when that has ended."""
        partition, names = stored.unfilled[0]
        filled = ", ".join(
            f"MATERIALIZE COLUMN {name} IN PARTITION ID '{partition}'" for name in names
        )
        await self._lanes.run(_command, f"ALTER TABLE {stored.rows.altered} {filled}")
        await self._settled()

    async def _alter(self, stored: StoredColumns, changes: Sequence[str]) -> None:
        """Change the table with the rows, and the Distributed table before it.

        A column is added to the rows first, and removed from them last.
        """
        tables = stored.tables if changes[0].startswith("ADD") else reversed(stored.tables)
        for table in tables:
            await self._lanes.run(_command, f"ALTER TABLE {table.altered} {', '.join(changes)}")


def added(key: str) -> str:
    """Return the change that adds the column of a property."""
    return (
        f"ADD COLUMN IF NOT EXISTS {column_of(key)} {_TYPE} "
        f"MATERIALIZED {stored_text(key)} COMMENT '{key}'"
    )


def _unwanted(
    stored: StoredColumns, uses: Sequence[PropertyUse], limits: ColumnLimits
) -> Sequence[str]:
    """Return the names of columns to remove."""
    used = {use.key for use in uses}
    unused = [column.name for column in stored.columns if column.key not in used]
    kept = [column for column in _by_use(stored, uses) if column.key in used]
    beyond = [column.name for column in kept[: max(0, len(kept) - limits.columns)]]
    return [*stored.outdated, *unused, *beyond]


def _by_use(stored: StoredColumns, uses: Sequence[PropertyUse]) -> Sequence[StoredColumn]:
    """Return the columns, the least used first."""
    recent = {use.key: use.recent for use in uses}
    return sorted(stored.columns, key=lambda column: (recent.get(column.key, 0), column.key))


def _write_uses(client: Client, uses: Sequence[Use]) -> None:
    client.command(_WRITE_USES, {"uses": list(uses)})


def _command(client: Client, statement: str) -> None:
    client.command(statement)
