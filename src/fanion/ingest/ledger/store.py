"""The ledger in the records store: counts of all accepted items by outcome."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Never

from msgspec import Struct, convert, to_builtins
from sqlalchemy import (
    BigInteger,
    Connection,
    Select,
    Table,
    cast,
    delete,
    func,
    select,
    text,
    tuple_,
    union_all,
)

from fanion.db.bulk import upsert
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.events import ingestion_counts, ingestion_examples, ingestion_ledger
from fanion.ingest.event import Drop
from fanion.ingest.ledger.model import (
    DEAD_LETTER,
    DISCARDED,
    HOURS_KEPT,
    MEANING,
    STORED,
    Example,
    LedgerCount,
    SkipReason,
    Tally,
    minute_of,
    newest_examples,
    time_of,
)
from fanion.runtime.background import run_loop

# A busy project has some 4,000 rows a day by minute and 70 by hour, so 2,000 projects stay within
# ten million rows.
MINUTES_KEPT = timedelta(days=1)
ROLL_UP_EVERY_S = 600.0
ROLL_UP_ROWS = 5_000  # rows in one transaction; ingestion waits for at most one of them

_HOUR = 60  # in minutes
NO_SLOT = 0
# The class of the advisory locks of examples, one for each project.
_EXAMPLES_LOCK = 1_179_602_498
_TRY_LOCK = text("""
SELECT project, PG_TRY_ADVISORY_XACT_LOCK(:class, HASHINT8(project)) AS is_locked
  FROM UNNEST(CAST(:projects AS bigint[])) AS asked (project)
""")
_row = ingestion_ledger.c
_example = ingestion_examples.c
_KEY = tuple_(_row.project_id, _row.minute, _row.outcome)


def write_tally(connection: Connection, tally: Tally, slot: int = NO_SLOT) -> None:
    """Add a tally to the ledger, in the transaction that writes the batch.

    Args:
        slot: A partition that only this server holds, so that batches of several servers in one
            project do not wait for each other.
    """
    _add_counts(connection, tally.counts, slot)
    if tally.examples:
        _put_examples(connection, tally.examples)


def _add_counts(
    connection: Connection, counts: Mapping[tuple[int, int, str], int], slot: int = NO_SLOT
) -> None:
    own = {} if slot == NO_SLOT else {"slot": slot}
    rows = [
        {"project_id": project_id, "minute": minute, "outcome": outcome, "items": items, **own}
        # Rows have one order, so that two servers cannot deadlock.
        for (project_id, minute, outcome), items in sorted(counts.items())
        if items
    ]
    if rows:
        table = ingestion_counts if own else ingestion_ledger
        statement = upsert(connection.dialect, table)
        added = table.c["items"] + statement.excluded["items"]
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=list(table.primary_key), set_={"items": added}
            ),
            rows,
        )


def _put_examples(
    connection: Connection, examples: Mapping[tuple[int, str], Sequence[Example]]
) -> None:
    projects = _not_locked(connection, sorted({project_id for project_id, _ in examples}))
    examples = {kind: newer for kind, newer in examples.items() if kind[0] in projects}
    if not examples:
        return
    known = _stored_examples(connection, examples)
    rows = [
        {
            "project_id": project_id,
            "outcome": outcome,
            "examples": encode_examples(
                newest_examples(newer, known.get((project_id, outcome), ()))
            ),
        }
        for (project_id, outcome), newer in sorted(examples.items())
    ]
    statement = upsert(connection.dialect, ingestion_examples)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "outcome"],
            set_={"examples": statement.excluded.examples},
        ),
        rows,
    )


def _not_locked(connection: Connection, projects: Sequence[int]) -> Collection[int]:
    """Return the projects whose examples no other server is writing now.

    The others will have newer examples in a moment, and nothing waits for examples.
    """
    if connection.dialect.name == "sqlite":
        return projects
    locked = connection.execute(_TRY_LOCK, {"class": _EXAMPLES_LOCK, "projects": list(projects)})
    return {row.project for row in locked if row.is_locked}


def _stored_examples(
    connection: Connection, places: Iterable[tuple[int, str]]
) -> dict[tuple[int, str], list[Example]]:
    projects = sorted({project_id for project_id, _ in places})
    rows = connection.execute(
        select(_example.project_id, _example.outcome, _example.examples)
        .where(_example.project_id.in_(projects))
        .with_for_update()
    )
    return {(row.project_id, row.outcome): read_examples(row.examples) for row in rows}


def read_examples(stored: Any) -> list[Example]:
    return convert(stored, list[Example])


def encode_examples(examples: Sequence[Example]) -> Any:
    """Return examples in their stored form."""
    return to_builtins(examples)


class Ledger:
    """The ledger of all projects."""

    def __init__(
        self, records: Records, now: Callable[[], datetime], rows_max: int = ROLL_UP_ROWS
    ) -> None:
        """Create the ledger's interface.

        Args:
            now: The time of day.
            rows_max: Rows that one transaction rolls up.
        """
        self._records = records
        self._now = now
        self._rows_max = rows_max

    async def counts(
        self, start: datetime, end: datetime, project_id: int | None = None
    ) -> list[LedgerCount]:
        """Return the counts from the minute of `start` to that of `end`, inclusive, in order.

        Args:
            project_id: None for all projects.
        """
        counted = union_all(
            *(
                _counted(table, start, end, project_id)
                for table in (ingestion_ledger, ingestion_counts)
            )
        ).subquery()
        row, items = counted.c, func.sum(counted.c["items"])
        statement = (
            select(row.project_id, row.minute, row.outcome, cast(items, BigInteger))
            .group_by(row.project_id, row.minute, row.outcome)
            .having(items != 0)
            .order_by(row.minute, row.project_id, row.outcome)
        )
        rows: Sequence[Any] = await self._records.fetch(statement)
        return [LedgerCount(*row) for row in rows]

    async def examples(self, project_id: int) -> dict[str, list[Example]]:
        """Return the newest examples by outcome, however old they are."""
        rows = await self._records.fetch(
            select(_example.outcome, _example.examples).where(_example.project_id == project_id)
        )
        return {row.outcome: read_examples(row.examples) for row in rows}

    async def run(self) -> Never:
        """Roll the ledger up regularly, until cancelled."""
        await run_loop(self.roll_up, ROLL_UP_EVERY_S, "ledger_not_rolled_up", (RecordsUnavailable,))

    async def roll_up(self) -> None:
        """Sum up old counts and delete those older than HOURS_KEPT.

        The counts of several servers are added up once their minute is over, and minutes older than
        MINUTES_KEPT are summed up by hour.

        Raises:
            RecordsUnavailable: The records store failed.
        """
        while await self._some(_add_up_some, minute_of(self._now())):
            pass
        before = _hour(minute_of(self._now() - MINUTES_KEPT))
        forgotten = minute_of(self._now() - HOURS_KEPT)
        while await self._some(_roll_up_some, before):
            pass
        while await self._some(_forget_some, forgotten):
            pass

    async def _some(self, work: Callable[[Connection, int, int], int], before: int) -> bool:
        """Do some of the work; return whether more may be left."""
        async with self._records.write() as connection:
            return await connection.run_sync(work, before, self._rows_max) == self._rows_max


def _end(moment: datetime) -> int:
    return minute_of(moment) + 1


def _hour(minute: int) -> int:
    return minute - minute % _HOUR


def _counted(
    table: Table, start: datetime, end: datetime, project_id: int | None
) -> Select[tuple[int, int, str, int]]:
    column = table.c
    statement = select(column.project_id, column.minute, column.outcome, column["items"]).where(
        column.minute >= minute_of(start), column.minute < _end(end)
    )
    return statement if project_id is None else statement.where(column.project_id == project_id)


def _add_up_some(connection: Connection, before: int, rows_max: int) -> int:
    """Move counts of several servers into the ledger.

    A row that a batch is being counted in is left to the next round.
    """
    count = ingestion_counts.c
    key = tuple_(*ingestion_counts.primary_key)
    keys = (
        select(*ingestion_counts.primary_key)
        .where(count.minute < before)
        .limit(rows_max)
        .with_for_update(skip_locked=True)
    )
    taken = connection.execute(
        delete(ingestion_counts)
        .where(key.in_(keys))
        .returning(count.project_id, count.minute, count.outcome, count["items"])
    ).all()
    summed: Counter[tuple[int, int, str]] = Counter()
    for project_id, minute, outcome, items in taken:
        summed[project_id, minute, outcome] += items
    _add_counts(connection, summed)
    return len(taken)


def _roll_up_some(connection: Connection, before: int, rows_max: int) -> int:
    """Sum up minutes by hour.

    Rows are deleted first, so that each of two concurrent servers adds up what it has deleted.
    """
    keys = select(_row.project_id, _row.minute, _row.outcome).where(
        _row.minute < before, _row.minute % _HOUR != 0
    )
    taken = connection.execute(
        delete(ingestion_ledger)
        .where(_KEY.in_(keys.limit(rows_max)))
        .returning(_row.project_id, _row.minute, _row.outcome, _row["items"])
    ).all()
    counts: dict[tuple[int, int, str], int] = {}
    for project_id, minute, outcome, items in taken:
        key = (project_id, _hour(minute), outcome)
        counts[key] = counts.get(key, 0) + items
    _add_counts(connection, counts)
    return len(taken)


def _forget_some(connection: Connection, before: int, rows_max: int) -> int:
    keys = select(_row.project_id, _row.minute, _row.outcome).where(_row.minute < before)
    deleted = connection.execute(delete(ingestion_ledger).where(_KEY.in_(keys.limit(rows_max))))
    return deleted.rowcount


# ── Summaries, for the API and the command line ──────────────────────────────────────────


class Totals(Struct, kw_only=True):
    """Numbers of items. `accepted` is the sum of the others.

    It counts all items that were answered with 200 and have been ingested.
    """

    accepted: int = 0
    stored: int = 0
    duplicates: int = 0
    dropped: int = 0
    dead_lettered: int = 0


class Minute(Struct, kw_only=True):
    minute: datetime
    accepted: int
    stored: int
    duplicates: int
    dropped: int
    dead_lettered: int


class Reason(Struct, frozen=True):
    """A reason why items were not stored, or why stored ones changed no person or group."""

    reason: str
    meaning: str
    items: int


def totals_of(counts: Iterable[LedgerCount]) -> Totals:
    totals = Totals()
    for count in counts:
        if count.outcome in _CHANGES:
            continue
        name = _COLUMN.get(count.outcome, "dropped")
        setattr(totals, name, getattr(totals, name) + count.items)
        totals.accepted += count.items
    return totals


def minutes_of(counts: Iterable[LedgerCount]) -> list[Minute]:
    """Return the totals of each minute. The counts must be in the order of their minutes."""
    by_minute: dict[int, list[LedgerCount]] = {}
    for count in counts:
        if count.outcome not in _CHANGES:
            by_minute.setdefault(count.minute, []).append(count)
    return [_minute(minute, of_minute) for minute, of_minute in by_minute.items()]


def reasons_of(counts: Iterable[LedgerCount]) -> list[Reason]:
    """Return all outcomes except stored, the most frequent first."""
    return _summed(
        count for count in counts if count.outcome != STORED and count.outcome not in _CHANGES
    )


def skipped_changes_of(counts: Iterable[LedgerCount]) -> list[Reason]:
    """Return the skipped changes of stored events, the most frequent first."""
    return _summed(count for count in counts if count.outcome in _CHANGES)


def _summed(counts: Iterable[LedgerCount]) -> list[Reason]:
    items: Counter[str] = Counter()
    for count in counts:
        items[count.outcome] += count.items
    return [
        Reason(outcome, MEANING.get(outcome, outcome), number)
        for outcome, number in sorted(items.items(), key=lambda pair: (-pair[1], pair[0]))
        if number
    ]


_CHANGES = frozenset(map(str, SkipReason))
_COLUMN = {
    STORED: "stored",
    Drop.DUPLICATE: "duplicates",
    DEAD_LETTER: "dead_lettered",
    DISCARDED: "dropped",
}


def _minute(minute: int, counts: list[LedgerCount]) -> Minute:
    totals = totals_of(counts)
    return Minute(
        minute=time_of(minute),
        accepted=totals.accepted,
        stored=totals.stored,
        duplicates=totals.duplicates,
        dropped=totals.dropped,
        dead_lettered=totals.dead_lettered,
    )
