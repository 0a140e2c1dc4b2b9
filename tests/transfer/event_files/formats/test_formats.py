"""Rows as other products export them, and the events that they become."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec import json

from fanion.transfer.event_files.blocks_reader import EventRows
from fanion.transfer.event_files.formats.amplitude import AmplitudeRows
from fanion.transfer.event_files.formats.mixpanel import MixpanelRows
from fanion.transfer.event_files.formats.posthog import PosthogRows
from fanion.transfer.event_files.formats.umami import TableKind, UmamiRows, data_of, table_of
from fanion.transfer.event_files.model import ImportedEvent, Row, RowRefused

NOW = datetime(2026, 1, 1, tzinfo=UTC)
UUID = "018f3c7e-5f5e-7b3e-9d2e-0a1b2c3d4e5f"
AT = datetime(2024, 5, 1, 10, tzinfo=UTC)

POSTHOG: dict[str, Any] = {
    "uuid": UUID, "event": "paid", "distinct_id": "ada", "team_id": 3,
    "timestamp": "2024-05-01T10:00:00.000000+00:00", "created_at": "2024-05-01T10:00:01+00:00",
    "properties": {"plan": "pro", "$groups": {"company": "acme"}, "$group_0": "acme"},
    "person_properties": {"email": "ada@example.com"}, "set": {"plan": "pro"},
}  # fmt: skip
MIXPANEL: dict[str, Any] = {
    "event": "Signed Up",
    "properties": {
        "time": 1714557600, "distinct_id": "ada", "$insert_id": "abc", "$user_id": "ada",
        "$device_id": "d1", "$city": "Berlin", "mp_country_code": "DE", "$browser": "Firefox",
        "Plan": "pro",
    },
}  # fmt: skip
AMPLITUDE: dict[str, Any] = {
    "uuid": UUID, "$insert_id": "x", "event_type": "Signed Up", "user_id": "ada", "device_id": "d1",
    "amplitude_id": 77, "session_id": 1714557000000, "event_time": "2024-05-01 10:00:00.000000",
    "client_event_time": "2024-05-01 12:00:00.000000", "os_name": "iOS", "city": "Berlin",
    "ip_address": None, "event_properties": {"Plan": "pro", "[Amplitude] Page Path": "/a"},
    "user_properties": {"seats": 3, "gone": None}, "groups": {"company": ["acme"]},
}  # fmt: skip
UMAMI = {
    "event_id": UUID, "website_id": "w1", "session_id": "s1", "visit_id": "v1",
    "created_at": "2024-05-01 10:00:00.000+00", "hostname": "example.com", "url_path": "/p",
    "url_query": "a=1", "referrer_domain": "google.com", "referrer_path": "", "page_title": "P",
    "event_type": "1", "event_name": "", "utm_source": "news",
}  # fmt: skip


class Tables:
    """Tables in memory."""

    def __init__(self, **tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._tables = tables

    def values(self, kind: TableKind, key: str) -> Mapping[str, Any]:
        return self._tables.get(kind, {}).get(key, {})


def events_of(rows: EventRows, fields: Mapping[str, Any], line: int = 1) -> list[ImportedEvent]:
    return rows.events(Row(dict(fields), line, json.encode(fields), "", line, 0))


def test_an_event_of_posthog_keeps_its_id_time_and_properties() -> None:
    [event] = events_of(PosthogRows(NOW), POSTHOG)

    assert (str(event.uuid), event.event, event.distinct_id) == (UUID, "paid", "ada")
    assert event.timestamp == AT
    assert event.properties == {
        "plan": "pro", "$groups": {"company": "acme"}, "$set": {"plan": "pro"},
    }  # fmt: skip


def test_properties_of_posthog_may_be_json_as_in_parquet() -> None:
    text = json.encode(POSTHOG["properties"]).decode()

    [event] = events_of(PosthogRows(NOW), {**POSTHOG, "properties": text, "set": None})

    assert event.properties == {"plan": "pro", "$groups": {"company": "acme"}}


def test_an_event_of_mixpanel_gets_the_names_that_are_used_here() -> None:
    identify, event = events_of(MixpanelRows(NOW), MIXPANEL)

    assert (event.event, event.distinct_id, event.timestamp) == ("Signed Up", "ada", AT)
    assert event.properties == {
        "$insert_id": "abc", "$user_id": "ada", "$device_id": "d1", "$geoip_city_name": "Berlin",
        "$geoip_country_code": "DE", "$browser": "Firefox", "Plan": "pro",
    }  # fmt: skip
    assert (identify.event, identify.distinct_id) == ("$identify", "ada")
    assert identify.properties == {"$anon_distinct_id": "$device:d1"}


def test_events_that_mixpanel_exports_twice_have_the_same_id() -> None:
    rows = MixpanelRows(NOW)

    first = events_of(rows, MIXPANEL, 1)[-1]
    again = events_of(rows, {**MIXPANEL, "properties": {**MIXPANEL["properties"], "x": 1}}, 2)
    other = events_of(
        rows, {**MIXPANEL, "properties": {**MIXPANEL["properties"], "$insert_id": "abd"}}, 3
    )

    assert [event.uuid for event in again] == [first.uuid]
    assert other[0].uuid != first.uuid


def test_times_of_mixpanel_may_be_those_of_a_zone() -> None:
    at = events_of(MixpanelRows(NOW, ZoneInfo("Europe/Berlin")), MIXPANEL)[-1].timestamp

    assert at == datetime(2024, 5, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("event", "properties", "expected"),
    [
        ("$mp_web_page_view", {}, ("$pageview", "ada", {})),
        (
            "$identify",
            {"$identified_id": "bob", "$anon_id": "d9"},
            ("$identify", "bob", {"$anon_distinct_id": "d9"}),
        ),
        ("$create_alias", {"alias": "d9"}, ("$create_alias", "ada", {"alias": "d9"})),
        (
            "$merge",
            {"$distinct_ids": ["bob", "d9"]},
            ("$merge_dangerously", "bob", {"alias": "d9"}),
        ),
    ],
)
def test_merges_of_mixpanel_are_merges_here(event: str, properties: Any, expected: Any) -> None:
    given = {"time": 1714557600, "distinct_id": "ada", **properties}

    [made] = events_of(MixpanelRows(NOW), {"event": event, "properties": given})

    assert (made.event, made.distinct_id) == expected[:2]
    assert expected[2].items() <= made.properties.items()


def test_an_event_of_amplitude_sets_its_person_and_joins_its_device_once() -> None:
    rows = AmplitudeRows(NOW)

    identify, event = events_of(rows, AMPLITUDE)
    [second] = events_of(rows, {**AMPLITUDE, "uuid": None})

    assert (str(event.uuid), event.event, event.distinct_id) == (UUID, "Signed Up", "ada")
    assert event.timestamp == AT
    session = event.properties.pop("$session_id")
    assert event.properties == {
        "Plan": "pro", "$pathname": "/a", "$os": "iOS", "$device_id": "d1",
        "$geoip_city_name": "Berlin", "$groups": {"company": "acme"}, "$set": {"seats": 3},
    }  # fmt: skip
    assert second.properties["$session_id"] == session
    assert (identify.event, identify.properties) == ("$identify", {"$anon_distinct_id": "d1"})
    assert second.uuid != event.uuid


def test_an_event_of_amplitude_without_a_user_is_that_of_its_device() -> None:
    [event] = events_of(AmplitudeRows(NOW), {**AMPLITUDE, "user_id": None, "session_id": -1})

    assert event.distinct_id == "d1"
    assert "$session_id" not in event.properties


def test_a_page_view_of_umami_has_its_session_and_no_profile() -> None:
    session = {"browser": "chrome", "device": "laptop", "screen": "1920x1080", "country": "DE"}

    [event] = events_of(UmamiRows(NOW, Tables(session={"s1": session})), UMAMI)

    assert (str(event.uuid), event.event, event.distinct_id) == (UUID, "$pageview", "s1")
    assert event.timestamp == AT
    assert event.properties == {
        "$host": "example.com", "$pathname": "/p", "title": "P", "$referring_domain": "google.com",
        "$session_id": "v1", "utm_source": "news", "$browser": "chrome", "$device_type": "Desktop",
        "$screen_width": 1920, "$screen_height": 1080, "$geoip_country_code": "DE",
        "$current_url": "https://example.com/p?a=1", "$referrer": "https://google.com/",
        "$process_person_profile": False,
    }  # fmt: skip


def test_an_event_of_umami_has_its_data_and_the_visitor_that_was_named() -> None:
    tables = Tables(event_data={UUID: {"price": 5}}, session_data={"s1": {"plan": "pro"}})
    fields = {**UMAMI, "event_type": "2", "event_name": "buy", "distinct_id": "ada"}

    [event] = events_of(UmamiRows(NOW, tables), fields)

    assert (event.event, event.distinct_id) == ("buy", "ada")
    assert (event.properties["price"], event.properties["$set"]) == (5, {"plan": "pro"})
    assert "$process_person_profile" not in event.properties
    assert events_of(UmamiRows(NOW, tables, "w2"), fields) == []


def test_the_tables_of_umami_are_known_by_their_columns() -> None:
    columns = {
        "event": "event_id,website_id,session_id,created_at,url_path",
        "session": "session_id,website_id,hostname,browser,os",
        "event_data": "event_data_id,website_event_id,data_key,string_value,data_type,created_at",
        "session_data": "session_data_id,session_id,data_key,string_value,data_type,created_at",
        None: "user_id,username,password",
    }

    for kind, names in columns.items():
        assert table_of(names.split(",")) == kind


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ({"data_type": "1", "string_value": "12"}, "12"),
        ({"data_type": "2", "number_value": "12.0000"}, 12),
        ({"data_type": "2", "number_value": "", "string_value": "1.5"}, 1.5),
        ({"data_type": "3", "string_value": "true"}, True),
        ({"data_type": "4", "date_value": "2024-05-01"}, "2024-05-01"),
    ],
)
def test_the_data_of_umami_have_types(row: dict[str, str], value: Any) -> None:
    given = {"website_event_id": UUID, "data_key": "a", **row}

    assert data_of("event_data", given) == (UUID, {"a": value})


@pytest.mark.parametrize(
    ("rows", "fields", "reason"),
    [
        (PosthogRows(NOW), {**POSTHOG, "properties": "{"}, "properties is not JSON: "),
        (PosthogRows(NOW), {**POSTHOG, "properties": [1]}, "properties is not an object"),
        (PosthogRows(NOW), {**POSTHOG, "timestamp": None}, "no timestamp"),
        (MixpanelRows(NOW), {"event": "a", "properties": {"time": 1}}, "no properties.distinct_id"),
        (
            MixpanelRows(NOW),
            {"event": "a", "properties": {"distinct_id": "b"}},
            "no properties.time",
        ),
        (AmplitudeRows(NOW), {"event_type": "a"}, "no event_time"),
        (UmamiRows(NOW, Tables()), {"created_at": "2024-05-01"}, "no session_id"),
    ],
)
def test_rows_that_lack_something_say_what(rows: EventRows, fields: Any, reason: str) -> None:
    with pytest.raises(RowRefused) as raised:
        events_of(rows, fields)

    assert str(raised.value).startswith(reason)
