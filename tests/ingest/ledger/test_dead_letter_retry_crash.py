"""Dead letters that are retried while the server is killed are neither lost nor stored twice."""

import asyncio
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import json

from fanion.accept_log.port import Envelope, LogEntry
from fanion.db.engine import open_records
from fanion.ingest.ledger.dead_letters_store import (
    DeadLetterFilter,
    DeadLetters,
    insert_dead_letter,
)
from tests.support.awaited import SOON_S
from tests.support.outcome import check_outcome
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, project_client
from tests.support.traffic import AGE_ROUNDS, Request, Traffic

pytestmark = pytest.mark.long("starts real servers and kills them")

# As many as in test_kill_crash.py, which kills the same server without dead letters.
ROUNDS, WRITERS, LETTERS = 12, 4, 8


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PreloadedServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


async def test_dead_letters_are_there_once_after_12_kills(server: PreloadedServer) -> None:
    keys, traffic = server.setup(), Traffic(WRITERS, seed=26)
    chance, letters = random.Random(26), traffic.add_writer()

    for round_number in range(ROUNDS):
        age = round_number // AGE_ROUNDS
        failed = [letters.new_request(age) for _ in range(LETTERS)]
        await store_dead_letters(server, keys, failed, 1 + round_number * LETTERS)
        server.start()
        writing = asyncio.create_task(traffic.write_until_killed(server, keys, round_number))
        await asyncio.sleep(chance.uniform(0.02, 0.4))
        server.kill()
        await writing
    server.start()

    async with project_client(server, keys) as http:
        await no_letter_is_marked(server)
        await check_outcome(http, traffic)


async def store_dead_letters(
    server: PreloadedServer, keys: Keys, requests: list[Request], log_id: int
) -> None:
    """Store requests as envelopes that could not be ingested, and mark them for a retry."""
    records = await open_records(f"sqlite:///{server.data}/records.db")
    now = datetime.now(UTC)
    try:
        for entry_id, request in enumerate(requests, log_id):
            body = json.encode({"batch": request.items})
            envelope = Envelope(keys.project_id, now, "", "", None, body)
            entry = LogEntry(entry_id, envelope)
            async with records.write() as connection:
                items = len(request.items)
                await connection.run_sync(insert_dead_letter, entry, items, "ValueError", now)
            request.tries = request.acknowledged = 1
        await DeadLetters(records).mark_for_retry(DeadLetterFilter(), now)
    finally:
        await records.close()


async def no_letter_is_marked(server: PreloadedServer) -> None:
    records = await open_records(f"sqlite:///{server.data}/records.db")
    try:
        async with asyncio.timeout(SOON_S):
            while True:
                if not [letter async for letter in DeadLetters(records).marked_letters()]:
                    return
                await asyncio.sleep(0.05)
    finally:
        await records.close()
