"""The event store, in chDB or on a ClickHouse server: one SQL dialect, one adapter."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from clickhouse_connect.driver.client import Client

from fanion.db.engine import Records
from fanion.events.event import (
    Erasure,
    Event,
    EventQuery,
    EventStoreUnavailable,
    GroupRow,
    Override,
    PersonEvent,
    PersonEventQuery,
    PersonRow,
)
from fanion.events.ownership_store import (
    EventStoreGone,
    Mark,
    bind_event_store,
    is_empty,
    read_installation,
)
from fanion.events.storage.client import (
    Lanes,
    Rows,
    close,
    engine_at,
    engine_version,
    open_clients,
    read_rows,
)
from fanion.events.storage.cluster import open_cluster
from fanion.events.storage.cluster_inserts import ClusterInserts
from fanion.events.storage.compiled_query import (
    QuestionLimits,
    QuestionResult,
    StatementResult,
    TableLimits,
    TableResult,
    run_compiled,
    run_question,
    run_table,
)
from fanion.events.storage.counts_query import Counts
from fanion.events.storage.encoder import Batch, EventEncoder, TextEncoder
from fanion.events.storage.export_query import (
    ExportPage,
    ExportQuery,
    Place,
    first_day_statement,
    page_statement,
    read_page,
    read_parquet,
    rows_statement,
    written_rows_statement,
)
from fanion.events.storage.inserts import insert_batch, insert_inputs
from fanion.events.storage.list_query import Listing
from fanion.events.storage.marks import read_mark, require_mark
from fanion.events.storage.moved_events import send_moves
from fanion.events.storage.mutations import erase, squash, wait_until_done
from fanion.events.storage.native_encoder import NativeEncoder
from fanion.events.storage.native_format import micros
from fanion.events.storage.old_events import COUNT_OLD, bound, erase_old
from fanion.events.storage.project_rows import COUNT, erase_project
from fanion.events.storage.property_columns import ColumnLimits, PropertyColumns
from fanion.events.storage.reads import Reads
from fanion.events.storage.session_rows import SessionRows, WriteRows
from fanion.events.storage.sql_user import SqlUser, of_project
from fanion.events.storage.timeline_query import Timeline
from fanion.events.storage.values_query import read_values
from fanion.events.storage.writes import Writes
from fanion.events.turns.gate_service import GateLimits

# A calculation may read years of events; no request waits for it.
SECONDS_MAX: Final = 300
# How many statements of ingestion, and of probes and cancellations, run at once.
INGEST_LANES: Final = 2
PROBE_LANES: Final = 1
# Versions of the engine whose Native format is known byte by byte: the tests run on them.
NATIVE_VERSIONS = ("26.9.",)

_EXISTING = """
  SELECT uuid, min(received_at)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND uuid IN {uuids:Array(UUID)}
"""
EXISTING = _EXISTING + "GROUP BY uuid\n"

# The key leads to the days: 5,000 ids of one day are looked up without reading the others.
EXISTING_ON = f"{_EXISTING}     AND toDate32(timestamp) IN {{days:Array(Date32)}}\nGROUP BY uuid\n"

# Events of any age count: a client that was offline sends events from days ago.
RECENT_IDS = """
  SELECT uuid
    FROM events
   WHERE received_at >= fromUnixTimestamp64Micro({since:Int64})
ORDER BY received_at DESC
   LIMIT {limit:UInt64}
"""

NEWEST_VERSION = """
  SELECT max(newest)
    FROM (SELECT max(version) AS newest FROM persons
          UNION ALL SELECT max(version) FROM person_overrides
          UNION ALL SELECT max(version) FROM groups)
"""


def encoder_for(version: str) -> EventEncoder:
    """Return the encoder for a version of the engine, as `SELECT version()` returns it."""
    return NativeEncoder() if version.startswith(NATIVE_VERSIONS) else TextEncoder()


def cost_of_text(version: str) -> str:
    """Return what it costs that rows are sent to this version of the engine as text, or ""."""
    if version.startswith(NATIVE_VERSIONS):
        return ""
    known = " or ".join(f"{release}x" for release in NATIVE_VERSIONS)
    return (
        f"Version {version or 'unknown'} of the event engine is sent rows as text, which makes "
        f"ingestion several times slower. Use {known}, to which columns are sent."
    )


async def open_events(url: str) -> "EventStore":
    """Open the store that the URL names and bring its tables up to date.

    Args:
        url: As for `EventStore`.

    Raises:
        EventStoreUnavailable: The engine does not answer, or the URL is not usable.
        SchemaTooNew: A newer version has migrated the tables.
        StartRefused: Retrying will not help.
    """
    store = EventStore(url)
    await store.open()
    return store


class EventStore:
    """The event store. Each call is one query of one project, in threads of the store.

    Inserts, reads of ingestion, probes, reads of single rows, reads of users, and jobs of the
    server have their own threads, so that none of them waits for another. A read for a user waits
    for its turn, and ends when the client leaves. A cancelled read is ended in the store before its
    call returns. A cancelled insert still runs to its end in its thread.

    Args:
        url: chdb:///absolute/folder[?database=name], which one process at a time may open;
            clickhouse://user:password@host:8123/database, or clickhouses:// (also
            clickhouse+https://) for TLS, with the option `cluster`. The port is the one of the HTTP
            interface.
        limits: The limits of reads of users at once.
        reads: The limits of one statement that reads for a user.
        sql_url: The same store, by the user that runs SQL of people; "" to run it by that of `url`.

    Attributes:
        engine: The engine that the URL names.
        opened: Set once the store is open. Until then every call raises EventStoreUnavailable.
        people: The turns of reads for which users wait.
        rows: The turns of reads of single events.
        behind: The turns of reads for which nobody waits.
        exports: The turns of pages of exports.

    Raises:
        EventStoreUnavailable: The URL is none of these. The message is one line.
    """

    def __init__(
        self,
        url: str,
        limits: GateLimits | None = None,
        reads: QuestionLimits | None = None,
        sql_url: str = "",
    ) -> None:
        self.engine = engine_at(url)
        self._sql = SqlUser(engine_at(sql_url)) if sql_url else None
        self._writes = Writes()
        self._inserts, self._ingests, self._probes = (
            Lanes("insert", self._writes),
            Lanes("ingest"),
            Lanes("probe"),
        )
        self.reads = reads or QuestionLimits()
        self._reads = Reads(self._probes, limits or GateLimits(), self.reads, self._writes)
        self._jobs = self._reads.lanes["jobs"]
        self.people, self.rows = self._reads.people, self._reads.rows
        self.behind, self.turn = self._reads.behind, self._reads.turn
        self.exports = self._reads.exports
        self._listing = Listing(self._reads.fetch)
        self._timeline = Timeline(self._reads.fetch)
        self.counts = Counts(self._reads.fetch, self.ask)
        self._encoder: EventEncoder | None = None
        self._cluster: ClusterInserts | None = None
        self.opened = asyncio.Event()

    @property
    def _sizes(self) -> Sequence[tuple[Lanes, int]]:
        """Return all lanes except those for inserts, with their sizes."""
        own = ((self._ingests, INGEST_LANES), (self._probes, PROBE_LANES))
        return (*own, *self._reads.sizes)

    @property
    def encoder(self) -> EventEncoder:
        """Return the encoder for this engine.

        Raises:
            EventStoreUnavailable: The store is not open yet.
        """
        if self._encoder is None:
            raise EventStoreUnavailable("the event store is not open yet")
        if self._cluster is not None:
            return self._cluster.dividing(self._encoder)
        return self._encoder

    async def open(self, records: Records | None = None) -> None:
        """Migrate the tables. May be retried until it succeeds.

        Args:
            records: The records whose events the store must hold. A store that belongs to nobody is
                bound to them. None for any store.

        Raises:
            EventStoreUnavailable: The engine does not answer. The message is one line.
            SchemaRefused: Another version has made the tables.
            ForeignEventStore: The store belongs to another installation.
            StartRefused: Retrying will not help.
            RecordsUnavailable: The records store failed.
        """
        number = sum(size for _, size in self._sizes)
        if records is None:
            inserts, reads = await asyncio.to_thread(open_clients, self.engine, number)
        else:
            inserts, reads = await self._open_own(records, number)
        version = engine_version(inserts[0])
        self._encoder = encoder_for(version)
        if self.engine.cluster is not None:
            self._cluster = await asyncio.to_thread(open_cluster, self.engine, inserts[0])
        if reason := cost_of_text(version):
            structlog.get_logger().warning("events_sent_as_text", engine=version, reason=reason)
        if self._sql is not None:
            await self._open_sql(self._sql, (*inserts, *reads), is_marked=records is not None)
        self._inserts.open(inserts)
        for lanes, size in self._sizes:
            lanes.open(reads[:size])
            reads = reads[size:]
        self.opened.set()

    async def _open_sql(self, sql: SqlUser, opened: Sequence[Client], *, is_marked: bool) -> None:
        own = opened[0] if is_marked else None
        try:
            await asyncio.to_thread(sql.open, self._reads.sql_lanes, own)
        except BaseException:
            close(opened)
            raise

    async def _open_own(self, records: Records, number: int) -> tuple[list[Client], list[Client]]:
        """Open a number of clients that read, of the store that belongs to these records."""
        marks: list[Mark] = []
        installation, where = await read_installation(records), self.engine.where

        folder = self.engine.folder
        # If the records store is shared, this may be another server, whose folder is its own.
        is_used = records.dialect == "sqlite" and installation.event_store is not None
        if is_used and folder is not None and is_empty(folder):
            raise EventStoreGone(where)

        def check(client: Client) -> None:
            marks.append(mark(client, installation, where))

        makes_tables = self.engine.cluster is None
        mark = require_mark if makes_tables else read_mark
        opened = await asyncio.to_thread(
            partial(open_clients, makes_tables=makes_tables), self.engine, number, check
        )
        try:
            await bind_event_store(records, marks[-1])
        except BaseException:
            close((*opened[0], *opened[1]))
            raise
        return opened

    def observe(self, took: Callable[[float], None]) -> None:
        """Call `took` with the seconds of each insert and each read from now on."""
        for lanes in (self._inserts, *(lanes for lanes, _ in self._sizes)):
            lanes.took = took

    async def close(self) -> None:
        """Wait for running calls, then close the folder or the connections."""
        for lanes in (self._inserts, *(lanes for lanes, _ in self._sizes)):
            await asyncio.to_thread(lanes.close)
        if self._sql is not None:
            await asyncio.to_thread(self._sql.lanes.close)
        if self._cluster is not None:
            await asyncio.to_thread(self._cluster.close)

    async def ping(self) -> None:
        """Raise EventStoreUnavailable unless the engine answers."""
        await self._probes.run(read_rows, "SELECT 1", {})

    async def now(self) -> datetime:
        """Return the time by the engine's clock.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        [(now,)] = await self._probes.run(read_rows, "SELECT now64(6)", {})
        there: datetime = now
        return there

    async def insert(self, batch: Batch, token: str) -> None:
        """Store a batch, of any projects. When this returns, the batch is on disk.

        Times outside the years 1900–2299 are moved to the nearest end. Of persons, overrides and
        groups the highest version wins.

        Args:
            token: Identifies the batch's events in the whole store. Sent again under the same
                token, they are stored once. Under another one they are stored again, but every
                answer still shows one event per project and uuid.

        Raises:
            EventRejected: A row can never be stored. Part of the batch may be stored.
            EventStoreUnavailable: The event store failed. Part of the batch may be stored.
        """
        await self._inserts.run(insert_batch, batch, token, self._cluster)

    async def mirror_persons(self, persons: Sequence[PersonRow]) -> None:
        """Store rows of persons. They may be sent again at any time; the highest version wins.

        Raises:
            EventRejected: A row can never be stored.
            EventStoreUnavailable: The event store failed.
        """
        if persons:
            await self.insert(self.encoder.batch((), persons), "")

    async def mirror_groups(self, groups: Sequence[GroupRow]) -> None:
        """Store rows of groups. They may be sent again at any time; the highest version wins.

        Raises:
            EventRejected: A row can never be stored.
            EventStoreUnavailable: The event store failed.
        """
        if groups:
            blocks = await asyncio.to_thread(self.encoder.group_blocks, groups)
            await self.insert(Batch((), groups=blocks), "")

    async def override_persons(self, overrides: Sequence[Override]) -> None:
        """Store overrides. They may be sent again at any time; the highest version wins.

        Raises:
            EventRejected: A row can never be stored.
            EventStoreUnavailable: The event store failed.
        """
        if overrides:
            await self.insert(self.encoder.batch((), (), overrides), "")

    async def newest_version(self) -> int:
        """Return the highest version of all persons, overrides and groups."""
        [(newest,)] = await self._ingested(NEWEST_VERSION, {})
        return int(newest)

    async def list(self, project_id: int, query: EventQuery) -> Sequence[Event]:
        """Return the page of a query. The `person_id` of each event is the survivor.

        Raises:
            EventStoreUnavailable: The event store failed.
            EventRejected: A property cannot be compared.
        """
        async with self.turn(project_id):
            return await self._listing.page(project_id, query)

    async def get(self, project_id: int, uuid: UUID) -> Event | None:
        async with self.rows.turn(project_id):
            return await self._listing.get(project_id, uuid)

    async def timeline(self, project_id: int, query: PersonEventQuery) -> Sequence[PersonEvent]:
        """Return a page of a person's events. An event that is stored twice may be returned twice.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        async with self.turn(project_id):
            return await self._timeline.page(project_id, query)

    async def accepted_upto(
        self, project_id: int, query: PersonEventQuery, upto: datetime
    ) -> Sequence[PersonEvent]:
        """Return the last events of a person that were accepted until then, at most `limit`.

        The other fields of the query, except the person's, do not count.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        async with self.turn(project_id):
            return await self._timeline.accepted_upto(project_id, query, upto)

    async def existing(self, project_id: int, uuids: Sequence[UUID]) -> dict[UUID, datetime]:
        """Return which of the ids are stored, with the time at which they were accepted."""
        rows = await self._ingested(EXISTING, {"project_id": project_id, "uuids": uuids})
        return {row[0]: row[1] for row in rows}

    async def existing_on(
        self, project_id: int, uuids: Sequence[UUID], days: Sequence[date]
    ) -> dict[UUID, datetime]:
        """Return which ids are stored on one of these days, in UTC, and when they were accepted."""
        parameters = {"project_id": project_id, "uuids": uuids, "days": days}
        return {row[0]: row[1] for row in await self._ingested(EXISTING_ON, parameters)}

    async def recent_ids(self, since: datetime, limit: int) -> Sequence[UUID]:
        """Return the ids of events of all projects accepted from `since` on, the newest first."""
        rows = await self._ingested(RECENT_IDS, {"since": micros(since), "limit": limit})
        return [row[0] for row in rows]

    async def ask(
        self,
        statement: str,
        parameters: Mapping[str, Any],
        seconds_max: int = SECONDS_MAX,
        *,
        estimated: bool = True,
    ) -> StatementResult:
        """Run a statement that was compiled from the conditions of a cohort.

        Args:
            estimated: Whether to return how many rows were read, which costs another query.

        Raises:
            StatementFailed: The statement needs too much.
            EventStoreUnavailable: The event store failed.
            EventRejected: A value cannot be compared.
        """
        return await self._reads.run(run_compiled, statement, parameters, seconds_max, estimated)

    def written(self) -> int | None:
        """Return the number of writes so far; None during one, or if others write too.

        What was read stays right as long as this is the same number.
        """
        return None if self.engine.folder is None else self._writes.number

    async def question(
        self, statement: str, parameters: Mapping[str, Any], limits: QuestionLimits
    ) -> QuestionResult:
        """Return the answer to a statement of an insight.

        Raises:
            StatementFailed: The statement exceeds the limits.
            EventStoreUnavailable: The event store failed.
            EventRejected: A value cannot be compared.
        """
        lanes, own = self._user_of(limits)
        settings = {**limits.settings, **own}
        return await self._reads.run(run_question, statement, parameters, settings, lanes=lanes)

    async def table(
        self, statement: str, parameters: Mapping[str, Any], limits: TableLimits
    ) -> TableResult:
        """Run a statement that was made of SQL of a user, which can only read.

        Raises:
            EventRejected: A value cannot be compared or converted.
            StatementFailed: The engine refused the statement, or it took too much.
            EventStoreUnavailable: The event store failed.
        """
        lanes, own = self._user_of(limits.question)
        settings = {**limits.settings, **own}
        return await self._reads.run(run_table, statement, parameters, settings, lanes=lanes)

    def _user_of(self, limits: QuestionLimits) -> tuple[Lanes | None, Mapping[str, int | str]]:
        """Return the connections for a statement, with their settings; None for the usual ones."""
        if self._sql is None or limits.sql_of is None:
            return None, {}
        return self._sql.lanes, of_project(limits.sql_of)

    async def values(self, statement: str, parameters: Mapping[str, Any]) -> Rows:
        """Run a statement of `values_query`.

        Raises:
            StatementFailed: The statement takes too long.
            EventStoreUnavailable: The event store failed.
        """
        return await self._reads.run(read_values, statement, parameters)

    async def first_day(self, project_id: int, query: ExportQuery) -> date | None:
        """Return the day of the first event of an export; None if it has no events.

        Raises:
            EventRejected: A property cannot be compared.
            EventStoreUnavailable: The event store failed.
        """
        async with self.exports.turn(project_id):
            rows = await self._reads.fetch(*first_day_statement(project_id, query))
        return rows[0][0] if rows else None

    async def export_page(
        self, project_id: int, query: ExportQuery, after: Place, last_day: date, limit: int
    ) -> ExportPage:
        """Return the next events of an export as text.

        Raises:
            StatementFailed: The page takes too much memory or time.
            EventRejected: A property cannot be compared.
            EventStoreUnavailable: The event store failed.
        """
        statement, values = page_statement(project_id, query, after, last_day, limit)
        async with self.exports.turn(project_id):
            return await self._reads.run(read_page, statement, values, self.reads)

    async def export_parquet(
        self, project_id: int, query: ExportQuery, after: Place, last: Place, rows: int
    ) -> bytes:
        """Return the events of an export between two places as a Parquet file.

        It raises the same errors as `export_page`.
        """
        statement, values = rows_statement(project_id, query, after, last, rows)
        async with self.exports.turn(project_id):
            return await self._reads.run(read_parquet, statement, values, self.reads)

    async def rows_as_parquet(self, project_id: int, schema: str, lines: bytes) -> bytes:
        """Return rows as a Parquet file.

        Args:
            schema: The columns of the rows with their types.
            lines: The rows as JSON, a line each.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        statement, values = written_rows_statement(schema, lines)
        async with self.exports.turn(project_id):
            return await self._reads.run(read_parquet, statement, values, self.reads)

    async def put_inputs(self, run: UUID, cohort_id: int, members: Sequence[str]) -> None:
        """Store members of a static cohort for the statements of one calculation.

        Args:
            members: UUIDs in hexadecimal digits, at least one.
        """
        await self._inserts.run(insert_inputs, run, cohort_id, members, self._cluster)

    async def squash(
        self, overrides_min: int, batches_committed: Callable[[], Awaitable[None]]
    ) -> int:
        """Rewrite the events of merged persons in projects with `overrides_min` overrides or more.

        Args:
            batches_committed: Returns when every batch begun before its call is committed.

        Returns:
            The number of overrides that are no longer needed.
        """
        return await squash(self._jobs, overrides_min, batches_committed)

    async def erase(self, erasure: Erasure) -> None:
        """Delete a person and, if requested, its events. Return when no part has any of the rows.

        May be repeated.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        await erase(self._jobs, erasure)

    async def send_moves(self, project_id: int, moves: Mapping[str, UUID]) -> bool:
        """Give the events of distinct ids to persons, in the background. May be repeated.

        Returns:
            Whether there were events of other persons; `mutated` waits until these are changed.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        return await self._jobs.run(send_moves, project_id, moves)

    async def mutated(self) -> None:
        """Wait until all changes of stored events that were begun are made.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        await wait_until_done(self._jobs)

    async def count_events(self, project_id: int) -> int:
        """Count the events of a project; copies of one that are not merged yet count, too.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        [(number,)] = await self._probes.run(read_rows, COUNT, {"project_id": project_id})
        return int(number)

    async def erase_project(self, project_id: int) -> None:
        """Delete everything of a project, and return when no part has any of the rows.

        May be repeated.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        await erase_project(self._jobs, project_id)

    async def count_old(self, project_id: int, before: datetime) -> int:
        """Count the events of a project from before a time, as `count_events` counts all.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        [(number,)] = await self._probes.run(read_rows, COUNT_OLD, bound(project_id, before))
        return int(number)

    async def erase_old(self, project_id: int, before: datetime) -> None:
        """Delete the events of a project from before a time, and return when they are gone.

        May be repeated.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        await erase_old(self._jobs, project_id, before)

    def session_rows(self, write_rows: WriteRows) -> SessionRows:
        """Return the maintenance of the rows of sessions.

        Args:
            write_rows: As for `SessionRows`.
        """
        return SessionRows(self._jobs, write_rows)

    def property_columns(self, limits: ColumnLimits) -> PropertyColumns:
        """Return the dedicated columns of properties, and their maintenance."""
        return PropertyColumns(self._jobs, limits)

    async def _ingested(self, statement: str, parameters: Mapping[str, Any]) -> Rows:
        return await self._ingests.run(read_rows, statement, parameters)
