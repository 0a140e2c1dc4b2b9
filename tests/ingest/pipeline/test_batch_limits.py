"""The limit of what is ingested at once counts the memory that it takes."""

import subprocess
import sys
from typing import Any

import msgspec
import pytest

from fanion.accept_log.port import Envelope, LogEntry
from fanion.ingest.pipeline.batch import (
    LOCATED_OBJECT_BYTES,
    Budget,
    divide_entry,
    entries_within,
    ids_of,
    named_before,
    prepare_batch,
    with_ids,
)
from fanion.projects.model import IngestionSettings
from tests.support.management import NOW

UUID_A = "018e0000-0000-7000-8000-00000000000a"


def entry(body: bytes, number: int = 7) -> LogEntry:
    return LogEntry(number, Envelope(1, NOW, "192.0.2.1", "", NOW, body))


def events(count: int) -> list[dict[str, Any]]:
    return [{"event": f"e{n}", "distinct_id": "u"} for n in range(count)]


def items_of(part: LogEntry) -> list[Any]:
    items: list[Any] = msgspec.json.decode(part.envelope.body)
    return items


ONE = Budget().cost(msgspec.json.encode(events(1)[0]))


@pytest.mark.parametrize("form", [lambda some: some, lambda some: {"batch": some, "api_key": "k"}])
@pytest.mark.parametrize("of_one", [1, 3, 100])
def test_pieces_are_all_items_in_order_within_the_limit(form: Any, of_one: int) -> None:
    some = events(7)
    whole = entry(msgspec.json.encode(form(some)))

    parts = divide_entry(whole, 0, Budget(of_one * ONE))

    assert [item for part in parts for item in items_of(part)] == some
    assert [part.start for part in parts] == list(range(0, 7, of_one))
    assert {(part.id, part.envelope.client_ip) for part in parts} == {(7, "192.0.2.1")}
    for part in parts:
        assert divide_entry(whole, part.start, Budget(of_one * ONE)) == parts[parts.index(part) :]


@pytest.mark.parametrize(
    "body",
    [b'{"event":"a","distinct_id":"u"}', b'{"batch":null,"event":"a"}', b"[", b"[]", b"\xff"],
)
def test_what_is_no_list_is_one_piece(body: bytes) -> None:
    assert divide_entry(entry(body), 0, Budget(1)) == [entry(body)]


def test_an_item_that_is_too_large_alone_stands_alone() -> None:
    large = {"event": "a", "distinct_id": "u", "properties": {"a": [{}] * 50}}
    body = msgspec.json.encode([*events(2), large, *events(1)])

    assert [part.start for part in divide_entry(entry(body), 0, Budget(2 * ONE))] == [0, 2, 3]


def test_events_of_pieces_have_the_ids_of_the_whole() -> None:
    whole = entry(msgspec.json.encode([*events(5), {**events(1)[0], "uuid": UUID_A}]))

    def ids(*entries: LogEntry) -> list[Any]:
        batches = [prepare_batch([piece], lambda _: IngestionSettings()) for piece in entries]
        return [received.prepared.uuid for batch in batches for received in batch.arrived[1]]

    parts = divide_entry(whole, 0, Budget(2 * ONE))
    assert len(parts) == 4
    assert ids(*parts) == ids(whole)
    # As dead letters, pieces keep the ids.
    assert [ids(with_ids(part)) for part in parts] == [ids(part) for part in parts]
    assert [with_ids(part).start for part in parts] == [0, 0, 0, 0]
    assert {str(uuid) for uuid in named_before(whole, 6)} == {UUID_A}
    assert named_before(whole, 5) == named_before(whole, 0) == set()


def test_a_body_that_cannot_be_read_is_put_aside_as_it_is() -> None:
    assert with_ids(entry(b"[{")) == entry(b"[{")
    assert ids_of([]) == set()


def test_a_batch_ends_where_it_comes_to_too_much() -> None:
    some = [entry(msgspec.json.encode(item), n) for n, item in enumerate(events(5))]

    assert [piece.id for piece in entries_within(some, Budget(2 * ONE))] == [0, 1]
    assert [piece.id for piece in entries_within(some, Budget(1))] == [0]
    assert entries_within(some, Budget(5 * ONE)) == some
    assert entries_within([], Budget(1)) == []
    assert Budget(ONE - 1).exceeds(some[:1])
    assert not Budget(ONE).exceeds(some[:1])


@pytest.mark.parametrize("body", [b"{" * 1000, b"[" * 1000, b"x" * 1000, b'{"a":[{},[]]}' * 50])
def test_what_is_surely_within_is_within(body: bytes) -> None:
    size = Budget().cost(body)

    for budget in map(Budget, (size - 1, size, 2 * size, 1000 * size)):
        assert not (budget.surely_takes([entry(body)]) and budget.exceeds([entry(body)]))
    assert Budget(1000 * size).surely_takes([entry(body)])


ITEMS = {
    "smallest events": b'{"event":"a","distinct_id":"u"}',
    "items that are dropped": b'{"":0}',
    "lists in lists": b'{"event":"a","distinct_id":"u","properties":{"a":['
    + b"[]," * 999
    + b"[]]}}",
    "ordinary events": b'{"event":"paid","distinct_id":"user","properties":{'
    + b",".join(b'"name%d":"value%d"' % (n, n) for n in range(20))
    + b"}}",
    "numbers": b'{"event":"a","distinct_id":"u","properties":{"a":[' + b"1.5," * 999 + b"1]}}",
}
BODY_BYTES = 2**18
# Each case is measured in its own process, whose allocator has nothing to give back. They are
# forked from one process, because loading the modules takes longer than most of them.
MEASURE = """
import json, os, sys, tracemalloc
from datetime import UTC, datetime
from fanion.events.storage.native_encoder import NativeEncoder
from fanion.ingest.pipeline.events_writer import event_blocks
from fanion.ingest.pipeline.batch import Budget
from fanion.projects.model import IngestionSettings
from fanion.ingest.pipeline.resolve import ProjectState, Resolution
from fanion.ingest.pipeline.batch import prepare_batch
from fanion.accept_log.port import LogEntry, Envelope

def measure(item, body_bytes, object_bytes):
    body = b"[" + b",".join([item] * (body_bytes // (len(item) + 1))) + b"]"
    now = datetime(2024, 3, 1, tzinfo=UTC)
    one = LogEntry(1, Envelope(1, now, "192.0.2.1", "x" * 1000, now, body))
    place = {f"$geoip_{n}": "value" for n in range(13)} if object_bytes else None
    tracemalloc.start()
    run = prepare_batch([one], lambda _: IngestionSettings(), place and (lambda _: place))
    resolution = Resolution(1, run.arrived.get(1, []), ProjectState({}, {}, {}))
    for block in event_blocks(NativeEncoder(), run, [resolution]):
        pass
    resolution.outcome()
    budget = Budget(object_bytes=object_bytes) if object_bytes else Budget()
    print(tracemalloc.get_traced_memory()[1], budget.cost(body), flush=True)

for item, body_bytes, object_bytes in json.load(sys.stdin):
    if os.fork() == 0:
        measure(item.encode(), body_bytes, object_bytes)
        os._exit(0)
    os.wait()
"""
WITHOUT_PLACES = 0
CASES = [(name, more) for name in ITEMS for more in (WITHOUT_PLACES, LOCATED_OBJECT_BYTES)]


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, int], tuple[int, int]]:
    """Return, for each case, the bytes that it took and the estimated bytes."""
    cases = [(ITEMS[name].decode(), BODY_BYTES, more) for name, more in CASES]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        input=msgspec.json.encode(cases),
        capture_output=True,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return {
        case: (int(taken), int(reckoned))
        for case, (taken, reckoned) in zip(CASES, lines, strict=True)
    }


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_it_takes_is_about_what_is_reckoned(
    case: tuple[str, int], measured: dict[tuple[str, int], tuple[int, int]]
) -> None:
    taken, reckoned = measured[case]

    assert taken < 3 * reckoned, f"{taken} bytes for {reckoned}"
