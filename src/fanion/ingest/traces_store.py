"""Removing deleted persons from what ingestion has put aside: dead letters, examples."""

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import convert, to_builtins
from sqlalchemy import Connection, Row, delete, select, update

from fanion.db.engine import Records
from fanion.db.schema.ingestion_tables import ingestion_examples
from fanion.db.schema.tables import dead_letters
from fanion.events.erasure import Erasure
from fanion.ingest.erasure_traces import Scrubbed, scrubbed, without_examples
from fanion.ingest.ledger.model import Example, moved
from fanion.ingest.ledger.store import write_tally
from fanion.ingest.pipeline.types import Drop

LETTERS_MAX = 20  # in memory at a time; each may be as large as a request

_letter = dead_letters.c
_example = ingestion_examples.c


async def scrub(records: Records, erasure: Erasure) -> None:
    """May be repeated. raises: RecordsUnavailable"""
    after = 0
    while letters := await _letters(records, erasure, after):
        found = await asyncio.to_thread(_scrubbed, letters, erasure)
        async with records.write() as connection:
            for letter, left in found:
                await connection.run_sync(_replace, letter, left)
        after = letters[-1].id
    async with records.write() as connection:
        await connection.run_sync(_scrub_examples, erasure)


async def _letters(records: Records, erasure: Erasure, after: int) -> Sequence[Row[Any]]:
    return await records.fetch(
        select(_letter.id, _letter.project_id, _letter.received_at, _letter.body)
        .where(
            _letter.project_id == erasure.project_id,
            _letter.received_at <= erasure.requested_at,
            _letter.id > after,
        )
        .order_by(_letter.id)
        .limit(LETTERS_MAX)
    )


def _scrubbed(letters: Sequence[Row[Any]], erasure: Erasure) -> list[tuple[Row[Any], Scrubbed]]:
    return [
        (letter, left)
        for letter in letters
        if (left := scrubbed(bytes(letter.body), erasure.distinct_ids)) is not None
    ]


def _replace(connection: Connection, letter: Row[Any], left: Scrubbed) -> None:
    """The ledger is told how many items are dead letters no longer."""
    of_letter = _letter.id == letter.id
    counted = connection.scalar(select(_letter["items"]).where(of_letter).with_for_update())
    if counted is None:
        return  # settled or dropped meanwhile
    if left.body is None:
        connection.execute(delete(dead_letters).where(of_letter))
    else:
        values = {_letter.body: left.body, _letter["items"]: left.items}
        connection.execute(update(dead_letters).where(of_letter).values(values))
    gone = max(0, counted - left.items)
    write_tally(connection, moved(letter.project_id, letter.received_at, gone, Drop.ERASED))


def _scrub_examples(connection: Connection, erasure: Erasure) -> None:
    of_project = _example.project_id == erasure.project_id
    rows = connection.execute(
        select(_example.outcome, _example.examples).where(of_project).with_for_update()
    ).all()
    for row in rows:
        shown = convert(row.examples, list[Example])
        kept = without_examples(shown, erasure.distinct_ids, erasure.requested_at)
        if len(kept) < len(shown):
            connection.execute(
                update(ingestion_examples)
                .where(of_project, _example.outcome == row.outcome)
                .values(examples=to_builtins(kept))
            )
