"""Sinks of copied events: the log itself, or the server that holds it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest
from msgspec import json

from fanion.accept_log.port import AcceptLog
from fanion.accept_log.postgres import open_postgres_log
from fanion.accept_log.sqlite import open_sqlite_log
from fanion.ingest.partitioning import cut
from fanion.projects.model import Project
from fanion.transfer.posthog.sink_client import (
    BATCH_ITEMS_MAX,
    WAIT_S_MAX,
    HttpSink,
    LogSink,
    SinkError,
    split_batches,
)
from tests.support import plain_http
from tests.support.accept_logs import positions_everywhere
from tests.support.management import NOW
from tests.support.scripted_source import Script, ScriptedAnswer, ScriptedSource, scripted_server

pytestmark = pytest.mark.every_engine

PROJECT = Project(7, uuid4(), uuid4(), "p", 'phc_"odd', "UTC", NOW)
BODY_MAX = 20_971_520


def items(count: int, size: int = 20) -> list[bytes]:
    """Return events, always the same.

    Args:
        size: The bytes of a value that cannot be compressed much.
    """
    pad = Random(1).randbytes(size).hex()
    return [json.encode({"n": n, "pad": pad}) for n in range(count)]


def test_batches_keep_the_order_and_their_limits() -> None:
    small, large = items(BATCH_ITEMS_MAX + 1), items(1, 5_000)

    assert [len(batch) for batch in split_batches(small, BODY_MAX)] == [BATCH_ITEMS_MAX, 1]
    assert [len(batch) for batch in split_batches([*small[:3], *large, *small[:1]], 1_000)] == [
        3,
        1,
        1,
    ]
    assert [item for batch in split_batches(small, 100) for item in batch] == small
    assert list(split_batches([], 100)) == []


@pytest.fixture
async def log(records_url: str, tmp_path: Path) -> AsyncIterator[AcceptLog]:
    """Open a log that is full after the first group."""
    if records_url.startswith("sqlite"):
        log: AcceptLog = await open_sqlite_log(tmp_path / "log.db", bytes_max=200)
    else:
        log = await open_postgres_log(records_url, bytes_max=200, cut=cut)
    yield log
    await log.close()


class RecordedSleep:
    """A wait that does something else, and keeps the seconds."""

    def __init__(self, log: AcceptLog | None = None) -> None:
        self._log = log
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if self._log is not None:
            await self._log.trim(positions_everywhere(self._log, 1), historical=True)


async def test_the_log_takes_events_in_the_lane_of_imports(log: AcceptLog) -> None:
    sink = LogSink(log, PROJECT, lambda: NOW, BODY_MAX)
    events = items(3)

    too_large = await sink.write_events([*events, *items(1, BODY_MAX)])
    [entry] = await log.read(positions_everywhere(log), 10, BODY_MAX, historical=True)

    envelope = entry.envelope
    assert too_large == 1
    assert (envelope.project_id, envelope.received_at, envelope.historical) == (7, NOW, True)
    assert (envelope.client_ip, envelope.user_agent, envelope.sent_at) == ("", "", None)
    assert json.decode(envelope.body) == [json.decode(item) for item in events]
    assert await log.read(positions_everywhere(log), 10, BODY_MAX) == []
    assert await sink.await_ingestion() is False


async def test_a_full_log_that_is_not_processed_ends_the_copy(log: AcceptLog) -> None:
    sink = LogSink(log, PROJECT, lambda: NOW, BODY_MAX)
    await sink.write_events(items(1, 500))

    with pytest.raises(SinkError, match="the accept log is full: start `fanion serve`"):
        await sink.write_events(items(1))


async def test_a_full_log_that_a_server_works_off_is_waited_for(log: AcceptLog) -> None:
    waiting, reached = RecordedSleep(log), iter([0, 1, 2])

    async def is_ingested(entry_id: int) -> bool:
        return next(reached) >= entry_id

    sink = LogSink(log, PROJECT, lambda: NOW, BODY_MAX, is_ingested, waiting.sleep)
    await sink.write_events(items(1, 500))
    await sink.write_events(items(1))

    assert waiting.seconds == [1.0]
    assert await sink.await_ingestion() is True


@asynccontextmanager
async def http_sink(
    script: Script, body_max: int = BODY_MAX
) -> AsyncIterator[tuple[HttpSink, ScriptedSource, list[float]]]:
    waiting = RecordedSleep()
    with scripted_server(script) as server:
        async with plain_http.AsyncClient(base_url=server.url, trust_env=False) as client:
            yield (
                HttpSink(client, PROJECT.api_token, body_max, waiting.sleep),
                server,
                waiting.seconds,
            )


def numbers(server: ScriptedSource) -> list[Sequence[int]]:
    return [
        [item["n"] for item in json.decode(request.body)["batch"]] for request in server.requests
    ]


async def test_a_server_is_sent_an_import() -> None:
    async with http_sink(lambda _: ScriptedAnswer(200)) as (sink, server, _):
        too_large = await sink.write_events(items(2))

    [request] = server.requests
    assert (too_large, request.path) == (0, "/batch/")
    assert json.decode(request.body) == {
        "api_key": PROJECT.api_token,
        "historical_migration": True,
        "batch": [json.decode(item) for item in items(2)],
    }


async def test_a_server_that_is_busy_is_waited_for() -> None:
    slowly, later = {"retry-after": "5"}, {"retry-after": "900"}
    busy = [
        ScriptedAnswer(503, b"", slowly),
        ScriptedAnswer(429, b"", later),
        None,
        ScriptedAnswer(500),
    ]
    answers = iter([*busy, ScriptedAnswer(200)])
    async with http_sink(lambda _: next(answers)) as (sink, server, waited):
        await sink.write_events(items(2))

    assert waited == [5.0, 60.0, 4.0, 8.0]
    assert numbers(server) == [[0, 1]] * 5


async def test_a_batch_that_is_too_large_is_halved() -> None:
    async with http_sink(
        lambda request: ScriptedAnswer(413 if b'"n":2' in request.body else 200)
    ) as (
        sink,
        server,
        _,
    ):
        too_large = await sink.write_events(items(4))

    assert too_large == 1
    assert numbers(server) == [[0, 1, 2, 3], [0, 1], [2, 3], [2], [3]]


async def test_a_server_that_refuses_ends_the_copy() -> None:
    async with http_sink(lambda _: ScriptedAnswer(401, b"no such key")) as (sink, _, _):
        with pytest.raises(SinkError) as refused:
            await sink.write_events(items(1))

    assert str(refused.value) == "the server responds with 401: no such key"


async def test_a_server_that_never_has_time_is_given_up() -> None:
    async with http_sink(lambda _: ScriptedAnswer(503, b"busy")) as (sink, _, waited):
        with pytest.raises(SinkError, match="no success within 900 s"):
            await sink.write_events(items(1))

    assert WAIT_S_MAX <= sum(waited) < 2 * WAIT_S_MAX


METRICS = b"\nfanion_log_lag_envelopes %s\nother 1\n"


async def test_what_was_sent_is_waited_for() -> None:
    answers = iter([ScriptedAnswer(200, METRICS % b"3.0"), ScriptedAnswer(200, METRICS % b"0.0")])
    async with http_sink(lambda _: next(answers)) as (sink, _, waited):
        assert await sink.await_ingestion() is True
    async with http_sink(lambda _: ScriptedAnswer(200, METRICS % b"3.0")) as (busy, _, long_waited):
        assert await busy.await_ingestion() is False
    async with http_sink(lambda _: None) as (gone, _, _):
        assert await gone.await_ingestion() is False

    assert (len(waited), len(long_waited)) == (1, 240)
