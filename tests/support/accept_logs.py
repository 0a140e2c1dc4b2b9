"""Opening the accept log of a place, and envelopes to put into it. Programs that tests start again
and again load this: it needs no more than the log does."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fanion.accept_log.port import AcceptLog, Envelope, LogEntry
from fanion.accept_log.postgres import open_postgres_log
from fanion.accept_log.sqlite import open_sqlite_log

if TYPE_CHECKING:
    import pytest

NOW = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
BYTES_MAX = 1024**3


def place_of(engine: str, request: "pytest.FixtureRequest", folder: Path) -> str:
    """Where `open_log` opens a log of that engine of the records store."""
    if engine == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return str(folder / "accept-log.db")


async def open_log(place: str, bytes_max: int = BYTES_MAX) -> AcceptLog:
    """place: a PostgreSQL URL, or the path of a file"""
    if place.startswith("postgresql://"):
        return await open_postgres_log(place, bytes_max=bytes_max)
    return await open_sqlite_log(Path(place), bytes_max=bytes_max)


def envelope(body: bytes = b"{}", *, historical: bool = False, project_id: int = 1) -> Envelope:
    return Envelope(project_id, NOW, "203.0.113.7", "python/1", None, body, historical)


async def read_all(log: AcceptLog, after: int = 0, *, historical: bool = False) -> list[LogEntry]:
    entries: list[LogEntry] = []
    while run := await log.read(after, 500, 10**7, historical=historical):
        entries += run
        after = run[-1].id
    return entries


def ids(entries: Sequence[LogEntry]) -> list[int]:
    return [entry.id for entry in entries]
