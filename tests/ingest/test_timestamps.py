"""When events happened, by the table of cases."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from fanion.ingest.pipeline.prepare import Context, PreparedEvent, prepare
from fanion.ingest.timestamps import (
    IgnoredTime,
    event_time,
    ignored_time,
    parse_sent_at,
    parse_timestamp,
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
    reported = prepared.ignored_time
    given = item.get("timestamp") or item.get("offset")
    if "ignored" not in case:
        assert reported is None
    else:
        returned = given if isinstance(given, str) else repr(given)
        assert reported == IgnoredTime(case["ignored"] == "ahead", returned)


def test_of_a_long_text_the_beginning_is_reported() -> None:
    reported = ignored_time({"timestamp": "x" * 10_000}, {}, RECEIVED, None)

    assert reported == IgnoredTime(False, "x" * 100)


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
