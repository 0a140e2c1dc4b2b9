"""Mappings: which are refused, what is guessed, and what becomes of a row."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import json

from fanion.transfer.event_files.mapping import (
    MappedRows,
    guess_mapping,
    read_mapping,
    read_zone,
    write_mapping,
)
from fanion.transfer.event_files.model import FileProblem, ImportedEvent, Row, RowRefused

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN: dict[str, Any] = {"event": "name", "timestamp": "at", "distinct_id": "user"}
FIELDS = {"name": "paid", "at": "2024-05-01T10:00:00+02:00", "user": "ada"}


def rows_of(**mapping: Any) -> MappedRows:
    return MappedRows(read_mapping(json.encode({**PLAIN, **mapping}), "map.json"), NOW)


def event_of(fields: dict[str, Any], line: int = 2, **mapping: Any) -> ImportedEvent:
    row = Row(fields, line, json.encode(fields), "", line, 0)
    [event] = rows_of(**mapping).events(row)
    return event


def refusal_of(fields: dict[str, Any], **mapping: Any) -> str:
    with pytest.raises(RowRefused) as raised:
        event_of(fields, **mapping)
    return str(raised.value)


def test_columns_that_nothing_names_become_properties_of_their_own_type() -> None:
    fields = {
        **FIELDS, "price": "12.50", "seats": "3", "zip": "01234", "phone": "1234567890123456",
        "trial": "TRUE", "note": "", "plan": "pro", "secret": "x",
    }  # fmt: skip

    event = event_of(fields, ignore=["secret"], constants={"source": "crm"})

    assert (event.event, event.distinct_id) == ("paid", "ada")
    assert event.timestamp == datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert event.properties == {
        "price": 12.5, "seats": 3, "zip": "01234", "phone": "1234567890123456",
        "trial": True, "plan": "pro", "source": "crm",
    }  # fmt: skip


def test_properties_that_are_named_are_the_only_ones_and_have_their_types() -> None:
    fields = {**FIELDS, "a": "7", "b": "no", "c": '{"x": [1]}', "d": "1 May 2024", "e": {"f": 1}}
    properties = {
        "text": {"column": "a", "type": "text"},
        "json": {"column": "c", "type": "json"},
        "day": {"column": "d", "type": "datetime"},
        "deep": "e.f",
    }

    event = event_of(fields, properties=properties, person_properties={"seats": "a"})

    assert event.properties == {
        "text": "7", "json": {"x": [1]}, "day": "2024-05-01T00:00:00+00:00", "deep": 1,
        "$set": {"seats": 7},
    }  # fmt: skip
    wrong = {"flag": {"column": "b", "type": "boolean"}}
    assert refusal_of(fields, properties=wrong) == "'no' in the column 'b' is no boolean"


@pytest.mark.parametrize(
    ("given", "timestamp", "expected"),
    [
        ("1714557600", "at", "2024-05-01T10:00:00+00:00"),
        (1714557600000, "at", "2024-05-01T10:00:00+00:00"),
        ("2024-05-01 10:00", "at", "2024-05-01T10:00:00+00:00"),
        ("Wed, 01 May 2024 10:00:00 GMT", "at", "2024-05-01T10:00:00+00:00"),
        ("2024-05-01 10:00", {"zone": "Europe/Berlin"}, "2024-05-01T08:00:00+00:00"),
        ("2024-05-01T10:00Z", {"zone": "Europe/Berlin"}, "2024-05-01T10:00:00+00:00"),
        ("01.05.2024 10:00", {"format": "%d.%m.%Y %H:%M"}, "2024-05-01T10:00:00+00:00"),
        ("1714557600000001", {"unit": "us"}, "2024-05-01T10:00:00.000001+00:00"),
        (1714557600.5, {"unit": "s"}, "2024-05-01T10:00:00.500000+00:00"),
    ],
)
def test_times_are_read_as_the_mapping_says(given: Any, timestamp: Any, expected: str) -> None:
    source = timestamp if isinstance(timestamp, str) else {"column": "at", **timestamp}

    event = event_of({**FIELDS, "at": given}, timestamp=source)

    assert event.timestamp.isoformat() == expected


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"at": "01/02/2024"}, "'01/02/2024' is not a time"),
        ({"at": "2031-01-01"}, "the time '2031-01-01' is in the future"),
        ({"at": "1714557600000000"}, "'1714557600000000' is not a time"),
        ({"at": "1753-01-01"}, "the time '1753-01-01' is before 1900"),
        ({"at": ""}, "no time in the column 'at'"),
        ({"name": ""}, "no event"),
        ({"user": None}, "no distinct_id"),
        ({"user": ["a"]}, "the distinct_id ['a'] is neither a text nor a whole number"),
    ],
)
def test_rows_without_what_an_event_needs_are_refused(change: Any, reason: str) -> None:
    assert refusal_of({**FIELDS, **change}) == reason


def test_ids_are_those_of_the_rows_and_the_same_each_time() -> None:
    given = "018f3c7e-5f5e-7b3e-9d2e-0a1b2c3d4e5f"
    with_id = {**FIELDS, "key": given}

    assert str(event_of(with_id, uuid="key").uuid) == given
    assert (
        event_of({**FIELDS, "key": "7"}, 2, uuid="key").uuid
        == event_of({**FIELDS, "key": "7"}, 3, uuid="key").uuid
    )
    assert event_of(FIELDS, 2).uuid == event_of(FIELDS, 2).uuid
    assert event_of(FIELDS, 2).uuid != event_of(FIELDS, 3).uuid
    assert event_of(FIELDS, 2).uuid.version == 8


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        ({**PLAIN, "evnt": "a"}, "Object contains unknown field `evnt`"),
        ({"event": "name"}, "Object missing required field `timestamp`"),
        ({**PLAIN, "event": {}}, "event needs either a column or a value"),
        ({**PLAIN, "timestamp": {"column": "a", "unit": "h"}}, "Invalid enum value 'h'"),
        ({**PLAIN, "timestamp": {"column": "a", "zone": "Berlin"}}, "'Berlin' is not a time zone"),
        ({**PLAIN, "timestamp": {"column": "a", "unit": "s", "zone": "UTC"}}, "neither format nor"),
        (
            {**PLAIN, "properties": {"a": {"column": "b", "type": "int"}}},
            "Invalid enum value 'int'",
        ),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_field(mapping: Any, reason: str) -> None:
    with pytest.raises(FileProblem) as raised:
        read_mapping(json.encode(mapping), "map.json")

    assert reason in str(raised.value)


def test_a_column_that_is_missing_is_named_with_those_there() -> None:
    rows_of(properties={"plan": "account.plan"}).require_columns(
        "a.csv", ["user", "at", "name", "account"]
    )

    with pytest.raises(FileProblem) as raised:
        rows_of().require_columns("a.csv", ["name", "user", "time"])

    expected = "a.csv has no column 'at', which the mapping names; it has: name, user, time."
    assert str(raised.value) == expected


def test_a_mapping_is_guessed_from_names_and_can_be_read_again() -> None:
    guess = guess_mapping(["Event Name", "User ID", "Created At", "ID", "Price"])

    assert guess.mapping is not None and not guess.is_certain
    assert read_mapping(write_mapping(guess.mapping).encode(), "map.json") == guess.mapping
    assert json.decode(write_mapping(guess.mapping)) == {
        "event": "Event Name", "timestamp": "Created At", "distinct_id": "User ID", "uuid": "ID",
    }  # fmt: skip
    assert guess_mapping(["event", "timestamp", "distinct_id", "plan"]).is_certain
    assert guess_mapping(["a", "time"]).missing == ["event", "distinct_id"]


def test_a_zone_is_one_that_exists() -> None:
    assert read_zone("Europe/Berlin").key == "Europe/Berlin"
    for name in ("Nowhere/City", "../etc", ""):
        with pytest.raises(FileProblem, match="is not a time zone"):
            read_zone(name)
