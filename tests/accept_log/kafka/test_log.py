"""The accept log in Kafka: its partitions, sizes, repeated spools, and ownership."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import pytest
from msgspec import json

from fanion.accept_log.kafka.log import KafkaLog
from fanion.accept_log.kafka.records import topic_name
from fanion.accept_log.port import Backlog, EnvelopeTooLarge, LogEntry, sum_backlogs
from fanion.app.accept_logs import open_log
from fanion.config import Settings, read_settings
from fanion.db.engine import Records
from fanion.errors import StartRefused
from fanion.ingest.items import read_items
from fanion.ingest.pipeline.position_store import (
    HISTORICAL,
    LIVE,
    committed_positions,
    is_ingested,
    lane_backlogs,
)
from tests.support.accept_logs import (
    BYTES_MAX,
    entry_ids,
    envelope,
    positions_behind,
    positions_everywhere,
    read_all,
)
from tests.support.kafka.brokers import Kafka
from tests.support.kafka.logs import open_kafka_log
from tests.support.server import free_port

NAMED = [
    {"event": f"e{n}", "distinct_id": f"u{n}", "uuid": f"018f0000-0000-7000-8000-{n:012}"}
    for n in range(30)
]


@pytest.fixture
async def log(kafka: Kafka) -> AsyncIterator[KafkaLog]:
    opened = await open_kafka_log(kafka.url())
    yield opened
    await opened.close()


def items_of(entries: Sequence[LogEntry]) -> list[Any]:
    return [item for entry in entries for item in read_items(entry.envelope.body)]


async def test_a_named_batch_is_one_record_a_partition(log: KafkaLog) -> None:
    last = await log.append(envelope(json.encode(NAMED)))

    entries = await read_all(log)

    assert len({entry.partition for entry in entries}) == len(entries) > 4
    assert sorted(items_of(entries), key=str) == sorted(NAMED, key=str)
    assert last in entry_ids(entries)


async def test_a_batch_without_ids_is_one_record(log: KafkaLog) -> None:
    body = json.encode([{"event": f"e{n}", "distinct_id": f"u{n}"} for n in range(30)])

    await log.append(envelope(body))

    assert [entry.envelope.body for entry in await read_all(log)] == [body]


async def test_events_of_a_distinct_id_stay_in_order_over_several_programs(kafka: Kafka) -> None:
    """Each program appends one batch after another; the reader must see them in that order."""
    url = kafka.url()
    logs = [await open_kafka_log(url) for _ in range(3)]

    async def append(log: KafkaLog, who: int) -> None:
        for number in range(40):
            items = [{**item, "event": f"{number}", "distinct_id": f"{who} {n}"} for n, item in
                     enumerate(NAMED[:5])]  # fmt: skip
            await log.append(envelope(json.encode(items)))

    async def follow() -> dict[str, list[int]]:
        seen: dict[str, list[int]] = {}
        after = positions_everywhere(logs[0])
        while sum(map(len, seen.values())) < 3 * 40 * 5:
            await logs[0].appended(after)
            entries = await logs[0].read(after, 37, BYTES_MAX)
            after = dict(positions_behind(after, entries))
            for item in items_of(entries):
                seen.setdefault(item["distinct_id"], []).append(int(item["event"]))
        return seen

    *_, seen = await asyncio.gather(*(append(log, who) for who, log in enumerate(logs)), follow())

    assert seen == {f"{who} {n}": list(range(40)) for who in range(3) for n in range(5)}
    for log in logs:
        await log.close()


async def test_a_read_of_some_partitions_ends_where_it_is_told(log: KafkaLog) -> None:
    for _ in range(3):
        await log.append(envelope(json.encode(NAMED)))
    entries = await read_all(log)
    first = {entry.partition: entry.id for entry in reversed(entries)}
    some = dict(list(first.items())[:3])

    read = await log.read(dict.fromkeys(some, 0), 100, BYTES_MAX, upto=some)
    rest = await log.read(some, 100, BYTES_MAX)

    assert {entry.partition: entry.id for entry in read} == some
    assert len(read) == 3
    assert {entry.partition for entry in rest} == some.keys()
    assert len(rest) == 6


async def test_the_backlog_says_how_much_waits_in_each_partition(log: KafkaLog) -> None:
    appended = [await log.append(envelope(b"%d" % n)) for n in range(3)]
    [partition] = {entry.partition for entry in await read_all(log)}
    start = positions_everywhere(log)

    before = await log.backlog(start)
    after = await log.backlog(start | {partition: appended[1]})
    of_imports = await log.backlog(start, historical=True)

    def waiting(backlog: Backlog) -> dict[tuple[str, int], int]:
        return {(lag.topic, lag.partition): lag.envelopes for lag in backlog.partitions}

    name = log.positions_prefix.split("/")[1]
    live, historical = (topic_name(name, historical=lane) for lane in (False, True))
    nothing = dict.fromkeys([(live, number) for number in range(8)], 0)
    assert waiting(before) == nothing | {(live, partition - 1): 3}
    assert waiting(after) == nothing | {(live, partition - 1): 1}
    assert waiting(of_imports) == dict.fromkeys([(historical, n) for n in range(8)], 0)
    assert (
        sum_backlogs([before, of_imports]).partitions == before.partitions + of_imports.partitions
    )


async def test_what_was_read_can_be_read_again(log: KafkaLog) -> None:
    appended = [await log.append(envelope(b"%d" % n)) for n in range(20)]
    start = positions_everywhere(log)

    whole = await log.read(start, 100, BYTES_MAX)
    await log.read(positions_everywhere(log, appended[15]), 100, BYTES_MAX)
    again = await log.read(start, 100, BYTES_MAX)

    assert entry_ids(whole) == entry_ids(again) == appended


async def test_a_request_that_the_brokers_never_take_is_refused_alone(kafka: Kafka) -> None:
    log = await open_kafka_log(kafka.url())
    most = (await log.state()).record_bytes_max
    noise = envelope(random.Random(1).randbytes(most))

    outcomes = await asyncio.gather(
        log.append(envelope(b"1")),
        log.append(noise),
        log.append(envelope(b"2")),
        return_exceptions=True,
    )

    assert most == 20 * 1024**2
    assert [type(outcome) for outcome in outcomes] == [int, EnvelopeTooLarge, int]
    with pytest.raises(EnvelopeTooLarge):
        await log.require_fits([noise])
    assert [entry.envelope.body for entry in await read_all(log)] == [b"1", b"2"]
    await log.close()


async def test_a_spool_that_is_sent_twice_has_the_same_items_at_another_time(log: KafkaLog) -> None:
    body = json.encode([{"event": "a", "distinct_id": "u"}, {"event": "b", "distinct_id": "v"}])
    entries = [LogEntry(1, envelope(body)), LogEntry(2, envelope(body))]

    for _ in range(2):
        await log.append_spooled("20260101T000000-abc", entries, historical=False)
    await log.append_spooled("20260101T000000-def", entries, historical=False)

    stored = await read_all(log)
    ids = [item["uuid"] for item in items_of(stored)]
    assert len(ids) == 12
    assert len(set(ids)) == 8
    times = {
        uuid: {e.envelope.received_at for e in stored if uuid in e.envelope.body.decode()}
        for uuid in ids
    }
    assert sorted(len(of) for of in times.values()) == [1, 1, 1, 1, 2, 2, 2, 2]


def settings_of(records_url: str, log_url: str) -> Settings:
    return read_settings({"FANION_DATABASE_URL": records_url, "FANION_LOG_URL": log_url})


@pytest.mark.postgresql
async def test_topics_belong_to_the_installation_that_has_written_to_them(
    kafka: Kafka, records: Records, records_url: str
) -> None:
    others = await open_kafka_log(kafka.url("taken"))
    await others.append(envelope())
    await others.close()

    with pytest.raises(StartRefused, match="this installation has not"):
        await open_log(settings_of(records_url, kafka.url("taken")), records)


@pytest.mark.postgresql
async def test_positions_are_kept_for_every_partition(
    kafka: Kafka, records: Records, records_url: str
) -> None:
    log = await open_log(settings_of(records_url, kafka.url("positions")), records)

    entry_id = await log.append(envelope())

    for lane in (LIVE, HISTORICAL):
        positions = await committed_positions(records, lane, log.positions_prefix)
        assert positions == dict.fromkeys(range(1, 9), 0)
    assert [lane.envelopes for lane in await lane_backlogs(records, log)] == [0, 1]
    assert not await is_ingested(records, entry_id, prefix=log.positions_prefix)
    await log.close()


@pytest.mark.postgresql
async def test_topics_that_were_created_again_are_refused(
    kafka: Kafka, records: Records, records_url: str
) -> None:
    settings = settings_of(records_url, kafka.url("again"))
    await (await open_log(settings, records)).close()
    await kafka.delete_topics("again")

    with pytest.raises(StartRefused, match="deleted and created again"):
        await open_log(settings, records)


@pytest.mark.postgresql
async def test_a_start_does_without_the_brokers(records: Records, records_url: str) -> None:
    """The start waits 4 s for them, and so does the append."""
    log = await open_log(settings_of(records_url, f"kafka://127.0.0.1:{free_port()}/away"), records)

    with pytest.raises(OSError, match="accept log"):
        await log.append(envelope())
    await log.close()


@pytest.mark.postgresql
async def test_what_waits_in_postgresql_is_ingested_first(
    kafka: Kafka, records: Records, records_url: str
) -> None:
    before = await open_log(read_settings({"FANION_DATABASE_URL": records_url}), records)
    await before.append(envelope())
    open_again = partial(open_log, settings_of(records_url, kafka.url("later")), records)

    with pytest.raises(StartRefused, match="Start without FANION_LOG_URL"):
        await open_again()
    await before.trim(positions_everywhere(before, 10**6))
    await (await open_again()).close()
    await before.close()
