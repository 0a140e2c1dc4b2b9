"""A move of everything that an installation has to other stores, while its servers run.

First everything is copied while servers go on writing. Then they are paused, what has changed is
copied and all is compared, and the source is marked as moved in the transaction that has kept
others from changing it. Captures go on all the time: those that were not ingested yet are sent on
from the source's accept log at the end.

Every step compares before it copies, so a move that was interrupted goes on when it is run again.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Final, Protocol

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fanion.config import Settings
from fanion.db.engine import pooled_connection
from fanion.db.maintenance import (
    MOVE,
    Maintenance,
    State,
    end_maintenance,
    set_maintenance,
)
from fanion.db.schema.servers import installation, maintenance
from fanion.errors import StartRefused
from fanion.events.ownership_store import Installation
from fanion.move.events_copy import EventsMove
from fanion.move.events_store import EventsDiffer
from fanion.move.log_store import (
    LogFile,
    NewLogFile,
    SourceLog,
    TargetLog,
    open_log_tables,
    send_on,
)
from fanion.move.records_store import (
    NotSettled,
    Positions,
    bind_records,
    copy_records,
    count_moved,
    fence,
    first_filled,
    make_records_equal,
    open_engine,
    sent_on_positions,
    settled_positions,
    snapshot_of,
)
from fanion.move.rows_store import RowsDiffer
from fanion.runtime.clock import utc_now

# How long servers stay paused if the command dies.
PAUSE_S: Final = 60.0
# How long to wait until servers have noticed the pause, and have ended their batches.
SETTLE_S: Final = 45.0
LOOK_S: Final = 0.2


class MoveRefused(Exception):
    """A move that cannot be made as asked; the text is one line for the operator."""


class Bar(Protocol):
    def expect(self, total: float) -> None: ...

    def advance(self, count: int = 1) -> None: ...


# Opens a progress bar: the work, and the plural of what is counted.
Bars = Callable[[str, str], AbstractContextManager[Bar]]


@dataclass(frozen=True, slots=True)
class Moved:
    """The result of a move.

    Attributes:
        rows: The number of rows of each table in the records store.
        events: The number of rows of each table in the event store.
        paused_s: For how long nothing was ingested.
    """

    rows: Mapping[str, int]
    events: Mapping[str, int]
    paused_s: float


@dataclass(frozen=True, slots=True)
class Move:
    """A move from the stores that some settings name to those of others.

    Attributes:
        where: The target as messages name it, without passwords.
    """

    source: Settings
    target: Settings
    where: str
    bars: Bars

    async def copy_everything(self) -> Moved | None:
        """Copy everything, and mark the source as moved.

        Returns:
            None if that was done before.

        Raises:
            MoveRefused: The move cannot be made as asked.
            RecordsUnavailable: A records store failed.
            EventStoreUnavailable: An event store failed.
            OSError: A file cannot be read or written.
        """
        async with AsyncExitStack() as stack:
            reading = await _entered(stack, open_engine(self.source.records_url, writes=False))
            writing = await _entered(stack, open_engine(self.source.records_url, writes=True))
            target = await _entered(stack, open_engine(self.target.records_url, writes=True))
            owner, is_moved = await self._check(reading, target)
            if is_moved:
                await _end(target)
                return None
            events = await self._open_events(owner)
            if events is not None:
                stack.callback(events.close)
            await self._copy_while_running(reading, target, events)
            moved = await self._move(writing, target, owner, events)
            await _end(target)
            return moved

    async def _check(self, source: AsyncEngine, target: AsyncEngine) -> tuple[Installation, bool]:
        """Return the source's installation, and whether it was moved to the target before.

        The target is marked, so that no server starts on it.

        Raises:
            MoveRefused: The target is not empty, or is another installation's.
        """
        async with snapshot_of(source) as connection:
            owner, asked = await _installation(connection), await _asked(connection)
        is_moved = asked is not None and asked.state is State.MOVED
        async with pooled_connection(target) as connection, connection.begin():
            found, arriving = await _installation(connection), await _asked(connection)
            if is_moved:
                if found.id != owner.id:
                    raise MoveRefused(f"these records were moved to {asked.note if asked else ''}")
                return owner, True
            if arriving is not None and arriving.state is State.ARRIVING:
                if arriving.note != str(owner.id):
                    raise MoveRefused(
                        f"--to: {self.where} is being filled from installation {arriving.note}, "
                        f"and this is {owner.id}"
                    )
            elif found.id == owner.id:
                raise MoveRefused(f"--to: {self.where} has these very records")
            elif table := await first_filled(connection):
                raise MoveRefused(f"--to: {self.where} is not empty: {table} has rows")
            wanted = Maintenance(MOVE, State.ARRIVING, note=str(owner.id))
            await connection.run_sync(set_maintenance, wanted)
        return owner, False

    async def _open_events(self, owner: Installation) -> EventsMove | None:
        if self.source.event_store_url == self.target.event_store_url:
            return None
        try:
            return await asyncio.to_thread(EventsMove, self.source, self.target, owner)
        except StartRefused as error:
            raise MoveRefused(str(error)) from None

    async def _copy_while_running(
        self, source: AsyncEngine, target: AsyncEngine, events: EventsMove | None
    ) -> None:
        with self.bars("Copying records", "rows") as bar:
            async with snapshot_of(source) as connection:
                bar.expect(await count_moved(connection))
                await copy_records(connection, target, bar.advance)
        if events is not None:
            with self.bars("Copying events", "rows") as bar:
                await asyncio.to_thread(events.copy, bar.advance, is_last=False)

    async def _move(
        self,
        source: AsyncEngine,
        target: AsyncEngine,
        owner: Installation,
        events: EventsMove | None,
    ) -> Moved:
        """Pause the servers, copy what has changed, compare everything, and mark the source.

        Raises:
            MoveRefused: Something differs, or ingestion does not come to an end. Servers go on.
        """
        started = monotonic()
        try:
            async with self._standstill(source) as (connection, positions):
                with self.bars("Comparing", "rows") as bar:
                    bar.expect(await count_moved(connection))
                    held, copied = await _both(
                        self._finish_records(connection, target, owner, events, positions, bar),
                        self._finish_events(events, bar),
                    )
                moved = Maintenance(MOVE, State.MOVED, note=self.where)
                await connection.run_sync(set_maintenance, moved)
        except BaseException as error:
            await _end(source)
            if isinstance(error, RowsDiffer | EventsDiffer | NotSettled | IntegrityError):
                raise MoveRefused(_reason(error)) from None
            raise
        return Moved(held, copied, monotonic() - started)

    @asynccontextmanager
    async def _standstill(
        self, source: AsyncEngine
    ) -> AsyncGenerator[tuple[AsyncConnection, Positions]]:
        """Pause servers, and open the transaction in which nobody else changes the source.

        Raises:
            NotSettled: A batch does not come to its end.
        """
        give_up = monotonic() + SETTLE_S
        while True:
            async with pooled_connection(source) as connection, connection.begin():
                until = utc_now() + timedelta(seconds=PAUSE_S)
                paused = Maintenance(MOVE, State.PAUSED, until, self.where)
                await connection.run_sync(set_maintenance, paused)
            async with fence(source) as connection:
                try:
                    positions = await settled_positions(connection)
                except NotSettled:
                    if monotonic() > give_up:
                        raise
                else:
                    yield connection, positions
                    return
            await asyncio.sleep(LOOK_S)

    async def _finish_records(
        self,
        source: AsyncConnection,
        target: AsyncEngine,
        owner: Installation,
        events: EventsMove | None,
        positions: Positions,
        bar: Bar,
    ) -> Mapping[str, int]:
        event_store = owner.event_store if events is None else events.event_store
        async with pooled_connection(target) as connection, connection.begin():
            held = await make_records_equal(source, connection, bar.advance)
            await bind_records(connection, owner.id, event_store, positions)
        return {table: total.rows for table, total in held.items()}

    async def _finish_events(self, events: EventsMove | None, bar: Bar) -> Mapping[str, int]:
        if events is None:
            return {}
        held = await asyncio.to_thread(events.copy, bar.advance, is_last=True)
        return {table: digest.rows for table, digest in held.items()}

    async def send_captures_on(self, *, until_left: bool) -> int:
        """Send on what servers have accepted on the source, and return how many requests.

        Args:
            until_left: Whether to go on until no server can append to the source's log any more.

        Raises:
            LogFull: The target's log is full.
            OSError: A log cannot be used.
        """
        async with AsyncExitStack() as stack:
            source = await self._source_log(stack)
            target = await self._target_log(stack)
            total = 0
            while True:
                is_left = await source.is_left()
                total += await send_on(source, target)
                if is_left or not until_left:
                    return total
                await asyncio.sleep(LOOK_S)

    async def _source_log(self, stack: AsyncExitStack) -> SourceLog:
        if _is_postgresql(self.source):
            bytes_max = self.source.accept_log_bytes_max
            return await stack.enter_async_context(
                open_log_tables(self.source.records_url, bytes_max)
            )
        file = LogFile(self.source.accept_log_path)
        stack.callback(file.close)
        return file

    async def _target_log(self, stack: AsyncExitStack) -> TargetLog:
        bytes_max = self.target.accept_log_bytes_max
        if _is_postgresql(self.target):
            return await stack.enter_async_context(
                open_log_tables(self.target.records_url, bytes_max)
            )
        engine = await _entered(stack, open_engine(self.target.records_url, writes=False))
        async with snapshot_of(engine) as connection:
            owner = await _installation(connection)
            sent_on = await sent_on_positions(connection)
        file = await asyncio.to_thread(
            NewLogFile, self.target.accept_log_path, bytes_max, sent_on, str(owner.id)
        )
        stack.callback(file.close)
        return file


async def _both(
    first: Awaitable[Mapping[str, int]], second: Awaitable[Mapping[str, int]]
) -> Sequence[Mapping[str, int]]:
    """Await both to their ends, also if one of them fails."""
    results = await asyncio.gather(first, second, return_exceptions=True)
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        raise failures[0]
    return [result for result in results if not isinstance(result, BaseException)]


def _is_postgresql(settings: Settings) -> bool:
    return not settings.records_url.startswith("sqlite")


async def _entered(stack: AsyncExitStack, engine: AsyncEngine) -> AsyncEngine:
    stack.push_async_callback(engine.dispose)
    return engine


async def _installation(connection: AsyncConnection) -> Installation:
    row = (await connection.execute(select(installation))).one()
    return Installation(row.id, row.event_store)


async def _asked(connection: AsyncConnection) -> Maintenance | None:
    statement = select(maintenance).where(maintenance.c.name == MOVE)
    row = (await connection.execute(statement)).first()
    if row is None:
        return None
    return Maintenance(row.name, State(row.state), row.held_until, row.note)


async def _end(engine: AsyncEngine) -> None:
    """End what was asked of servers on these records."""
    async with pooled_connection(engine) as connection, connection.begin():
        await connection.run_sync(end_maintenance, MOVE)


def _reason(error: Exception) -> str:
    if isinstance(error, NotSettled):
        return (
            f"{error} after {SETTLE_S:g} s. If no server runs, start one, and stop it when it has "
            "ingested everything; then run this again."
        )
    if isinstance(error, IntegrityError):
        return f"a row refers to one that does not exist: {error.orig}"
    return f"after copying, {error}"
