"""Dead letters in the records: requests that were accepted and could not be ingested."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, select, update

from fanion.accept_log.port import Envelope, LogEntry
from fanion.db.engine import Records
from fanion.db.schema.tables import dead_letters
from fanion.ingest.ledger.model import (
    DISCARDED,
    Tally,
    dead_letter_of,
    joined_tallies,
    moved_from_dead_letters,
)
from fanion.ingest.ledger.store import write_tally

# The limit of one read; the next one follows within seconds.
RETRIES_MAX = 20
DROPS_MAX = 500  # in one transaction

_letter = dead_letters.c
_SHOWN = (
    _letter.id,
    _letter.project_id,
    _letter.log_id,
    _letter.received_at,
    _letter.failed_at,
    _letter["items"],
    _letter.attempts,
    _letter.retry_requested_at,
    _letter.error,
    func.length(_letter.body).label("body_bytes"),
)
_MARKED = (
    select(_letter.id)
    .where(_letter.retry_requested_at.is_not(None))
    .order_by(_letter.id)
    .limit(RETRIES_MAX)
)


class LetterGone(Exception):
    """The error when a dead letter was discarded or ingested meanwhile."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead letter without its body.

    Attributes:
        log_id: Its id in the accept log.
        items: Number of its items, as counted in the ledger.
    """

    id: int
    project_id: int
    log_id: int
    received_at: datetime
    failed_at: datetime
    items: int
    attempts: int
    retry_requested_at: datetime | None
    error: str
    body_bytes: int


@dataclass(frozen=True, slots=True)
class MarkedLetter:
    """A dead letter to be retried.

    Attributes:
        entry: The envelope with its id in the log, from which event ids derive.
    """

    id: int
    items: int
    entry: LogEntry


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """A selection of dead letters. None stands for any project, or for any id."""

    project_id: int | None = None
    ids: Sequence[int] | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        conditions = []
        if self.project_id is not None:
            conditions.append(_letter.project_id == self.project_id)
        if self.ids is not None:
            conditions.append(_letter.id.in_(self.ids))
        return conditions


@dataclass(frozen=True, slots=True)
class DeadLetters:
    records: Records

    async def read_page(
        self, letter_filter: DeadLetterFilter, limit: int, offset: int
    ) -> tuple[list[DeadLetter], int]:
        """Return a page of the newest letters first, and the number of all letters."""
        conditions = letter_filter.conditions()
        count = select(func.count()).select_from(dead_letters).where(*conditions)
        statement = select(*_SHOWN).where(*conditions).order_by(_letter.id.desc())
        [(total,)] = await self.records.fetch(count)
        rows: Sequence[Any] = await self.records.fetch(statement.limit(limit).offset(offset))
        return [DeadLetter(*row) for row in rows], total

    async def read_body(self, letter_filter: DeadLetterFilter) -> bytes | None:
        """Return the accepted body of the selected letter."""
        rows = await self.records.fetch(
            select(_letter.body).where(*letter_filter.conditions()).limit(1)
        )
        return bytes(rows[0].body) if rows else None

    async def mark_for_retry(self, letter_filter: DeadLetterFilter, now: datetime) -> int:
        """Mark letters for a retry by the server that ingests; return their number."""
        async with self.records.write() as connection:
            marked = await connection.execute(
                update(dead_letters)
                .where(*letter_filter.conditions())
                .values(retry_requested_at=now)
            )
            return marked.rowcount

    async def discard_letters(self, letter_filter: DeadLetterFilter) -> int:
        """Discard letters, which the ledger counts; return their number."""
        dropped = 0
        while number := await self._drop_some(letter_filter):
            dropped += number
        return dropped

    async def retry_marks(self) -> frozenset[tuple[int, datetime]]:
        """Return the letters to be retried, and when the retry was requested."""
        columns = select(_letter.id, _letter.retry_requested_at)
        rows = await self.records.fetch(columns.where(_letter.retry_requested_at.is_not(None)))
        return frozenset((row.id, row.retry_requested_at) for row in rows)

    async def marked_letters(self) -> AsyncGenerator[MarkedLetter]:
        """Yield the letters to be retried, at most RETRIES_MAX. Only one body is in memory."""
        for [letter_id] in await self.records.fetch(_MARKED):
            statement = select(dead_letters).where(
                _letter.id == letter_id, _letter.retry_requested_at.is_not(None)
            )
            for row in await self.records.fetch(statement):
                yield _marked(row)

    async def split_letter(
        self, letter: MarkedLetter, pieces: Sequence[tuple[LogEntry, int]]
    ) -> None:
        """Replace a letter by letters of its pieces, each with its number of items, also marked.

        The ledger counts the same items as before.

        Raises:
            LetterGone: The letter was discarded or ingested meanwhile.
        """
        async with self.records.write() as connection:
            await connection.run_sync(_split, letter, pieces)

    async def record_failure(self, letter: MarkedLetter, error: str, now: datetime) -> None:
        """Record that a retry failed."""
        async with self.records.write() as connection:
            await connection.execute(
                update(dead_letters)
                .where(_letter.id == letter.id)
                .values(
                    error=error,
                    failed_at=now,
                    attempts=_letter.attempts + 1,
                    retry_requested_at=None,
                )
            )

    async def _drop_some(self, letter_filter: DeadLetterFilter) -> int:
        async with self.records.write() as connection:
            return await connection.run_sync(_drop_some, letter_filter)


def insert_dead_letter(
    connection: Connection, entry: LogEntry, items: int, error: str, now: datetime
) -> None:
    """Add a dead letter, in the transaction that advances past the entry."""
    envelope = entry.envelope
    connection.execute(
        dead_letters.insert().values(
            project_id=envelope.project_id,
            log_id=entry.id,
            received_at=envelope.received_at,
            failed_at=now,
            client_ip=envelope.client_ip,
            user_agent=envelope.user_agent,
            sent_at=envelope.sent_at,
            body=envelope.body,
            error=error,
            items=items,
            attempts=1,
        )
    )
    write_tally(connection, dead_letter_of(envelope.project_id, envelope.received_at, items, error))


def delete_retried(connection: Connection, letter: MarkedLetter) -> Tally:
    """Delete a letter in the transaction that writes its events.

    Returns:
        The tally by which the ledger no longer counts its items as a dead letter.

    Raises:
        LetterGone: The letter was discarded or ingested meanwhile.
    """
    deleted = connection.execute(
        delete(dead_letters).where(_letter.id == letter.id, _letter.retry_requested_at.is_not(None))
    )
    if deleted.rowcount != 1:
        raise LetterGone(f"dead letter {letter.id}")
    envelope = letter.entry.envelope
    return moved_from_dead_letters(envelope.project_id, envelope.received_at, letter.items, None)


def _drop_some(connection: Connection, letter_filter: DeadLetterFilter) -> int:
    ids = (
        select(_letter.id).where(*letter_filter.conditions()).order_by(_letter.id).limit(DROPS_MAX)
    )
    deleted = connection.execute(
        delete(dead_letters)
        .where(_letter.id.in_(ids))
        .returning(_letter.project_id, _letter.received_at, _letter["items"])
    ).all()
    write_tally(
        connection, joined_tallies(*(moved_from_dead_letters(*row, DISCARDED) for row in deleted))
    )
    return len(deleted)


def _split(
    connection: Connection, letter: MarkedLetter, pieces: Sequence[tuple[LogEntry, int]]
) -> None:
    row = connection.execute(
        delete(dead_letters)
        .where(_letter.id == letter.id, _letter.retry_requested_at.is_not(None))
        .returning(dead_letters)
    ).first()
    if row is None:
        raise LetterGone(f"dead letter {letter.id}")
    same = {name: value for name, value in row._mapping.items() if name != "id"}
    rows = [{**same, "body": piece.envelope.body, "items": items} for piece, items in pieces]
    connection.execute(dead_letters.insert(), rows)


def _marked(row: Row[Any]) -> MarkedLetter:
    envelope = Envelope(
        row.project_id,
        row.received_at,
        row.client_ip,
        row.user_agent,
        row.sent_at,
        bytes(row.body),
    )
    return MarkedLetter(row.id, row._mapping["items"], LogEntry(row.log_id, envelope))
