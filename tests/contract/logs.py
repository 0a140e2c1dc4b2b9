"""Opening the accept log of a place, and envelopes to put into it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fanion.log.port import AcceptLog, Entry, Envelope
from fanion.log.postgres import open_postgres_log
from fanion.log.sqlite import open_sqlite_log
from tests.conftest import ENGINES

NOW = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
BYTES_MAX = 1024**3
APART = "apart:"
KINDS = [*ENGINES, "sqlite-apart"]


def place_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """Where `open_log` opens a log of that kind."""
    if kind == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"{APART if kind == 'sqlite-apart' else ''}{folder / 'accept-log.db'}"


async def open_log(place: str, bytes_max: int = BYTES_MAX) -> AcceptLog:
    """place: a PostgreSQL URL, or the path of a file; `APART` before it for a writing process"""
    if place.startswith("postgresql://"):
        return await open_postgres_log(place, bytes_max=bytes_max)
    path = Path(place.removeprefix(APART))
    return await open_sqlite_log(path, bytes_max=bytes_max, apart=place.startswith(APART))


def envelope(body: bytes = b"{}", *, historical: bool = False, project_id: int = 1) -> Envelope:
    return Envelope(project_id, NOW, "203.0.113.7", "python/1", None, body, historical)


async def read_all(log: AcceptLog, after: int = 0, *, historical: bool = False) -> list[Entry]:
    entries: list[Entry] = []
    while run := await log.read(after, 500, 10**7, historical=historical):
        entries += run
        after = run[-1].id
    return entries


def ids(entries: Sequence[Entry]) -> list[int]:
    return [entry.id for entry in entries]
