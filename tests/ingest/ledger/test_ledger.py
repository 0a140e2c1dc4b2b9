"""The ledger's record of a batch: counts by minute and outcome, and examples without secrets."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanion.accept_log.port import Envelope, LogEntry
from fanion.ingest.event import Drop
from fanion.ingest.ledger.model import (
    EXAMPLE_BYTES_MAX,
    EXAMPLES_MAX,
    MEANING,
    STORED,
    Dropped,
    LedgerCount,
    SkippedChange,
    SkipReason,
    Tally,
    example_of,
    joined_tallies,
    minute_of,
    moved_from_dead_letters,
    tally_of,
    time_of,
)
from fanion.ingest.ledger.store import minutes_of, reasons_of, skipped_changes_of, totals_of
from fanion.ingest.pipeline.batch import (
    PreparedBatch,
    count_items,
    prepare_batch,
    without_duplicates,
)
from fanion.projects.model import IngestionSettings

CONSOLE = Path(__file__).parents[3] / "console" / "src"

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
MINUTE = minute_of(NOON)
ID = "0190d0a6-0000-7000-8000-0000000000aa"


def batch_of(*requests: tuple[int, float, list[Any]]) -> PreparedBatch:
    """Prepare a batch of requests: project, seconds after noon, items."""
    entries = [
        LogEntry(
            place,
            Envelope(
                project_id,
                NOON + timedelta(seconds=after_s),
                "",
                "curl/8",
                None,
                msgspec.json.encode(items),
            ),
        )
        for place, (project_id, after_s, items) in enumerate(requests, 1)
    ]
    return prepare_batch(entries, lambda _: IngestionSettings(dropped_user_agents=("bot",)))


def stored_of(batch: PreparedBatch) -> dict[int, list[datetime]]:
    return {
        key: [received.received_at for received in events] for key, events in batch.arrived.items()
    }


def event(name: str = "paid", **fields: Any) -> dict[str, Any]:
    return {"event": name, "distinct_id": "u1", **fields}


def test_items_count_by_project_minute_and_outcome() -> None:
    batch = batch_of((1, 0, [event(), {"event": "x"}]), (1, 59.9, [event()]), (1, 60, [event()]),
                 (2, 0, [{"distinct_id": "u"}]))  # fmt: skip

    ledger = batch.ledger(stored_of(batch))

    assert ledger.counts == {
        (1, MINUTE, "stored"): 2,
        (1, MINUTE, "no_distinct_id"): 1,
        (1, MINUTE + 1, "stored"): 1,
        (2, MINUTE, "no_name"): 1,
    }


def test_a_repetition_within_a_batch_counts_as_a_duplicate() -> None:
    batch = without_duplicates(batch_of((1, 0, [event(uuid=ID)]), (1, 60, [event(uuid=ID)])), {})

    ledger = batch.ledger(stored_of(batch))

    assert ledger.counts == {(1, MINUTE, "stored"): 1, (1, MINUTE + 1, "duplicate"): 1}
    assert batch.dropped[Drop.DUPLICATE] == 1
    assert ledger.examples[1, "duplicate"][0].uuid == ID


def test_what_arrived_and_was_not_stored_was_erased() -> None:
    batch = batch_of((1, 0, [event(), event()]), (1, 60, [event()]), (2, 0, [event()]))

    ledger = batch.ledger({1: [NOON], 2: [NOON]})

    assert ledger.counts == {
        (1, MINUTE, "stored"): 1,
        (1, MINUTE, "erased"): 1,
        (1, MINUTE + 1, "erased"): 1,
        (2, MINUTE, "stored"): 1,
    }


def test_every_reason_has_a_meaning_in_words() -> None:
    assert {*Drop, *SkipReason} <= MEANING.keys()


def test_the_console_has_a_name_for_every_reason() -> None:
    _, _, names = (CONSOLE / "words/ingestion.ts").read_text().partition("  names: {")

    named = set(re.findall(r"(\w+): ", names.partition("}")[0]))
    assert named == MEANING.keys() - {STORED}


def test_the_newest_examples_are_stored() -> None:
    batch = batch_of((1, 0, [{"event": f"e{n}"} for n in range(EXAMPLES_MAX + 5)]))
    later = batch_of((1, 1, [{"event": "later"}]))

    both = joined_tallies(batch.tally, later.tally).examples[1, "no_distinct_id"]

    assert [example.event for example in both] == ["later", *(f"e{n}" for n in range(14, 5, -1))]


@pytest.mark.parametrize(
    "item",
    [
        {"event": "é" * 9_000, "distinct_id": "😀" * 9_000, "uuid": "x" * 9_000},
        {"event": ["a"] * 9_000, "properties": {"😀" * 500 + str(n): n for n in range(500)}},
        {"event": 17, "properties": {"$lib": "l" * 9_000, "$lib_version": {"a": "b" * 9_000}}},
        {"event": "a", "properties": "none"},
        {"k" * 9_000: 1},
        {},
    ],
)
def test_an_example_is_small_whatever_was_sent(item: dict[str, Any]) -> None:
    example = example_of(item, NOON, "agent " * 9_000)

    assert len(msgspec.json.encode(example)) <= EXAMPLE_BYTES_MAX


def test_an_example_reports_names_of_properties_and_no_values() -> None:
    item = {
        "event": "paid",
        "$distinct_id": "u1",
        "distinct_id": "u2",
        "properties": {"$ip": "192.0.2.1", "card": "4111", "$lib": "web", "$lib_version": "1.2"},
    }

    example = example_of(item, NOON, "curl/8")

    assert (example.event, example.distinct_id, example.uuid) == ("paid", "u1", None)
    assert example.detail == (
        "user agent: curl/8; library: web 1.2; "
        "properties: $ip, $lib, $lib_version, card; "
        "keys: $distinct_id, distinct_id, event, properties"
    )


@pytest.mark.parametrize(
    ("body", "items"),
    [(b'[{"event": 1}, {}]', 2), (b'{"event": 1}', 1), (b"[]", 1), (b"{broken", 1), (b"17", 1)],
)
def test_a_body_that_cannot_be_read_counts_as_one_item(body: bytes, items: int) -> None:
    assert count_items(body) == items


def test_a_dead_letter_that_is_settled_counts_no_more() -> None:
    ledger = joined_tallies(
        Tally(Dropped().tally().counts),
        moved_from_dead_letters(1, NOON, 3, "discarded"),
    )

    assert ledger.counts == {(1, MINUTE, "dead_letter"): -3, (1, MINUTE, "discarded"): 3}


def test_changes_that_were_not_made_are_in_no_sum_of_items() -> None:
    counts = [
        LedgerCount(1, MINUTE, "merge_left_out", 7),
        LedgerCount(1, MINUTE, "person_too_large", 2),
        LedgerCount(1, MINUTE, "stored", 5),
        LedgerCount(1, MINUTE + 60, "group_too_large", 1),
    ]

    totals, minutes = totals_of(counts), minutes_of(counts)

    assert (totals.accepted, totals.stored, totals.dropped) == (5, 5, 0)
    assert [(minute.minute, minute.accepted) for minute in minutes] == [(NOON, 5)]
    assert reasons_of(counts) == []
    assert [(change.reason, change.items) for change in skipped_changes_of(counts)] == [
        ("merge_left_out", 7),
        ("person_too_large", 2),
        ("group_too_large", 1),
    ]


def test_a_change_that_was_not_made_counts_with_its_newest_examples() -> None:
    batch = batch_of((1, 0, [event(f"e{n}") for n in range(EXAMPLES_MAX + 1)]), (1, 60, [event()]))
    long = ["ü" * 9_000] * 100

    tally = tally_of(
        1,
        [
            *(
                SkippedChange(SkipReason.PERSON_TOO_LARGE, arrived, "person: p", 1, ["a"])
                for arrived in batch.arrived[1]
            ),
            SkippedChange(
                SkipReason.MERGE_LEFT_OUT, batch.arrived[1][0], "person: " + "x" * 9_000, 120, long
            ),
        ],
    )

    assert tally.counts == {
        (1, MINUTE, "person_too_large"): EXAMPLES_MAX + 1,
        (1, MINUTE + 1, "person_too_large"): 1,
        (1, MINUTE, "merge_left_out"): 120,
    }
    newest, *others = tally.examples[1, "person_too_large"]
    assert (newest.event, newest.distinct_id, newest.detail) == (
        "paid",
        "u1",
        "person: p; properties: a",
    )
    assert [example.event for example in others] == [f"e{n}" for n in range(EXAMPLES_MAX, 1, -1)]
    [merged] = tally.examples[1, "merge_left_out"]
    assert len(msgspec.json.encode(merged)) <= EXAMPLE_BYTES_MAX


def test_the_report_sums_up() -> None:
    counts = [
        LedgerCount(1, MINUTE, "no_name", 2),
        LedgerCount(1, MINUTE, "stored", 5),
        LedgerCount(1, MINUTE + 1, "dead_letter", 4),
        LedgerCount(1, MINUTE + 1, "duplicate", 1),
        LedgerCount(1, MINUTE + 1, "no_name", 3),
    ]

    totals, minutes = totals_of(counts), minutes_of(counts)

    assert (totals.accepted, totals.stored, totals.dropped) == (15, 5, 5)
    assert (totals.duplicates, totals.dead_lettered) == (1, 4)
    assert [(minute.minute, minute.accepted) for minute in minutes] == [
        (NOON, 7),
        (NOON + timedelta(minutes=1), 8),
    ]
    assert [(reason.reason, reason.items) for reason in reasons_of(counts)] == [
        ("no_name", 5),
        ("dead_letter", 4),
        ("duplicate", 1),
    ]
    assert time_of(MINUTE) == NOON
