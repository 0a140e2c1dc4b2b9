"""The times of events, by the table of cases."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from fanion.ingest.event import PreparedEvent
from fanion.ingest.pipeline.prepare import Context, prepare
from fanion.ingest.timestamps import (
    IgnoredTime,
    SentAt,
    TimeFault,
    event_time,
    ignored_times,
    parse_sent_at,
    parse_timestamp,
    read_sent_at,
)

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "cases" / "timestamps.json").read_text()
)
RECEIVED = datetime.fromisoformat(CASES["received"])


@pytest.mark.parametrize("case", CASES["events"], ids=lambda case: case["name"])
def test_an_event_gets_its_time(case: dict[str, Any]) -> None:
    sent_at = datetime.fromisoformat(case["sent_at"]) if "sent_at" in case else None

    stored = event_time(case["item"], case.get("properties", {}), RECEIVED, sent_at)

    assert stored == datetime.fromisoformat(case["stored"])
    assert stored.utcoffset() is not None


@pytest.mark.parametrize("case", CASES["events"], ids=lambda case: case["name"])
def test_a_time_that_is_not_stored_is_reported(case: dict[str, Any]) -> None:
    sent_at = datetime.fromisoformat(case["sent_at"]) if "sent_at" in case else None
    item = {"event": "a", "distinct_id": "u", **case["item"]}
    item["properties"] = case.get("properties")

    prepared = prepare(item, Context(1, 1, RECEIVED, sent_at))

    assert isinstance(prepared, PreparedEvent)
    reported = prepared.ignored_times
    given = item.get("timestamp") or item.get("offset")
    if "ignored" not in case:
        assert reported == ()
    else:
        returned = given if isinstance(given, str) else repr(given)
        assert reported == (IgnoredTime(TimeFault(case["ignored"]), returned),)


def test_of_a_long_text_the_beginning_is_reported() -> None:
    reported = ignored_times({"timestamp": "x" * 10_000}, {}, RECEIVED, None)

    assert reported == (IgnoredTime(TimeFault.UNREADABLE, "x" * 100),)


@pytest.mark.parametrize("given", [*CASES["unreadable"], "Oct " + "1 " * 1_000, "1" * 1_000])
def test_a_time_with_two_meanings_or_none_is_an_error(given: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        parse_timestamp(given)


@pytest.mark.parametrize(("given", "read"), CASES["texts"])
def test_a_timestamp_is_read(given: object, read: str) -> None:
    assert parse_timestamp(given) == datetime.fromisoformat(read)


@pytest.mark.parametrize(("given", "read"), CASES["sent_at"])
def test_a_send_time_is_read(given: object, read: str) -> None:
    assert parse_sent_at(given) == datetime.fromisoformat(read)


@pytest.mark.parametrize("given", ["soon", "", "²²²²²²²²²²", "99999999999999999999999", True, None])
def test_a_send_time_that_cannot_be_read_is_an_error(given: object) -> None:
    with pytest.raises((ValueError, OverflowError)):
        parse_sent_at(given)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ((), SentAt()),
        ((None, "", 0, False), SentAt()),
        (("2024-03-01T12:00:00Z",), SentAt(RECEIVED)),
        (("soon", None, "2024-03-01T12:00:00Z"), SentAt(RECEIVED)),
        (("2024-03-01T12:00:00Z", "soon"), SentAt(RECEIVED)),
        (("soon", "later"), SentAt(None, "soon")),
        ((["soon"],), SentAt(None, "[…]")),
        (({}, "soon"), SentAt(None, "{…}")),
        (("x" * 1_000,), SentAt(None, "x" * 32)),
        ((1e300,), SentAt(None, "1e+300")),
    ],
)
def test_the_first_time_of_sending_that_can_be_read_counts(
    given: tuple[object, ...], read: SentAt
) -> None:
    assert read_sent_at(*given) == read
