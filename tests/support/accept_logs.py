"""The accept logs of tests: how to open one, and envelopes to put into it.

Programs that tests start again and again load this, so it imports no more than the log needs.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from fanion.accept_log.port import SINGLE, AcceptLog, Envelope, LogEntry, Positions
from fanion.accept_log.postgres import open_postgres_log
from fanion.accept_log.postgres_partitions import PARTITIONS
from fanion.accept_log.shared import SharedLog
from fanion.accept_log.sqlite import open_sqlite_log
from fanion.ingest.partitioning import cut
from tests.support.postgres import SQLITE

if TYPE_CHECKING:
    import pytest

    from tests.support.kafka.brokers import Kafka

NOW = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
BYTES_MAX = 1024**3
KAFKA = "kafka"


def log_location(engine: str, request: "pytest.FixtureRequest", folder: Path) -> str:
    """Return the URL or path at which `open_log` opens a log of that engine."""
    if engine == SQLITE:
        return str(folder / "accept-log.db")
    if engine == KAFKA:
        kafka: Kafka = request.getfixturevalue("kafka")
        return kafka.url()
    url: str = request.getfixturevalue("postgres_url")
    return url


async def open_log(location: str, bytes_max: int = BYTES_MAX) -> AcceptLog:
    """Open an accept log.

    Args:
        location: A URL of PostgreSQL or Kafka, or the path of a file.
    """
    if location.startswith("kafka://"):
        from tests.support.kafka.logs import open_kafka_log

        return await open_kafka_log(location)
    if location.startswith("postgresql://"):
        return await open_postgres_log(location, bytes_max=bytes_max, cut=cut)
    return await open_sqlite_log(Path(location), bytes_max=bytes_max)


def envelope(body: bytes = b"{}", *, historical: bool = False, project_id: int = 1) -> Envelope:
    return Envelope(project_id, NOW, "203.0.113.7", "python/1", None, body, historical)


def positions_everywhere(log: AcceptLog, entry_id: int = 0) -> dict[int, int]:
    """Return this position for all partitions that appends go to."""
    if isinstance(log, SharedLog):
        return dict.fromkeys(range(1, log.partitions + 1), entry_id)
    return {SINGLE: entry_id}


def ids_of_one_partition(project_id: int, number: int) -> list[str]:
    """Return sorted distinct ids whose items are in one partition of a partitioned log."""
    ids: dict[int, list[str]] = {}
    for name in map("p{}".format, count()):
        body = f'{{"distinct_id": "{name}"}}'.encode()
        [(partition, _)] = cut(envelope(body, project_id=project_id), PARTITIONS)
        ids.setdefault(partition, []).append(name)
        if len(ids[partition]) == number:
            return sorted(ids[partition])
    raise AssertionError


def positions_behind(positions: Positions, entries: Sequence[LogEntry]) -> Positions:
    return {**positions, **{entry.partition: entry.id for entry in entries}}


async def read_all(log: AcceptLog, *, historical: bool = False) -> list[LogEntry]:
    entries: list[LogEntry] = []
    after: Positions = positions_everywhere(log)
    while run := await log.read(after, 500, 10**7, historical=historical):
        entries += run
        after = positions_behind(after, run)
    return sorted(entries, key=lambda entry: entry.id)


def entry_ids(entries: Sequence[LogEntry]) -> list[int]:
    return [entry.id for entry in entries]
