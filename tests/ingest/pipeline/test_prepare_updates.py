"""Person updates that events carry, explicitly or by their properties of the browser."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from fanion.ingest.event import PreparedEvent
from fanion.ingest.pipeline.prepare import Context, prepare
from fanion.persons.merge import PersonUpdate

CONTEXT = Context(project_id=1, entry_id=77, received_at=datetime(2024, 3, 1, tzinfo=UTC))


def stored(
    properties: dict[str, Any], name: str = "paid", top: dict[str, Any] | None = None
) -> PreparedEvent:
    item = {"event": name, "distinct_id": "u1", "properties": properties, **(top or {})}
    prepared = prepare(item, CONTEXT)
    assert isinstance(prepared, PreparedEvent)
    return prepared


def test_an_event_that_says_nothing_updates_nothing() -> None:
    assert stored({"amount": 3}).update is None


@pytest.mark.parametrize(
    ("properties", "top", "update"),
    [
        ({"$set": {"a": 1}}, {}, PersonUpdate({"a": 1}, {})),
        ({}, {"$set": {"a": 1}}, PersonUpdate({"a": 1}, {})),
        ({"$set": {"a": 1, "b": 1}}, {"$set": {"a": 2}}, PersonUpdate({"a": 2, "b": 1}, {})),
        ({"$set": {"a": None}}, {}, PersonUpdate({"a": None}, {})),
        (
            {"$set_once": {"a": 1, "b": 1}},
            {"$set_once": {"a": 2}},
            PersonUpdate({}, {"a": 2, "b": 1}),
        ),
        ({"$set_once": {"a": None, "b": 0}}, {}, PersonUpdate({}, {"b": 0})),
        ({"$unset": ["a", 7, "b"]}, {}, PersonUpdate({}, {}, ("a", "b"))),
        ({"$unset": {"a": 1}}, {}, PersonUpdate({}, {}, ("a",))),
        ({"$set": "text", "$set_once": [1], "$unset": "a"}, {}, None),
        ({"$set": "text"}, {"$set": {"a": 1}}, PersonUpdate({"a": 1}, {})),
        ({"$set": {"a": 1}}, {"$set": 7, "$unset": ["a"]}, PersonUpdate({"a": 1}, {})),
        ({"$set": {}, "$set_once": {}}, {}, None),
    ],
)
def test_an_update_is_read(
    properties: dict[str, Any], top: dict[str, Any], update: PersonUpdate | None
) -> None:
    assert stored(properties, top=top).update == update


def test_top_level_updates_are_stored_among_the_properties() -> None:
    prepared = stored({"$set": {"a": 1, "b": 1}}, top={"$set": {"a": 2}, "$set_once": {"c": 3}})

    assert prepared.properties == {"$set": {"a": 2, "b": 1}, "$set_once": {"c": 3}}


@pytest.mark.parametrize(
    ("name", "initial"),
    [
        ("utm_source", "$initial_utm_source"),
        ("gclid", "$initial_gclid"),
        ("$current_url", "$initial_current_url"),
        ("$os_version", "$initial_os_version"),
        ("$app_build", "$initial_app_build"),
    ],
)
def test_what_an_event_reports_its_client_is_set_and_set_once(name: str, initial: str) -> None:
    prepared = stored({name: "x"}, "$pageview")

    assert prepared.update == PersonUpdate({name: "x"}, {initial: "x"})
    assert prepared.properties == {name: "x"}


def test_explicit_values_win_over_automatic_ones() -> None:
    properties = {
        "$browser": "Firefox",
        "$set": {"$browser": "mine"},
        "$set_once": {"$initial_browser": "first"},
    }

    assert stored(properties).update == PersonUpdate(
        {"$browser": "mine"}, {"$initial_browser": "first"}
    )


def test_nulls_set_nothing_automatically() -> None:
    properties = {"utm_source": None, "$set_once": {"$initial_utm_source": None}}

    assert stored(properties).update is None


def test_a_snapshot_sets_nothing_automatically() -> None:
    assert stored({"$browser": "Firefox"}, "$snapshot").update is None


@pytest.mark.parametrize(
    ("properties", "top"),
    [
        ({"$set": {"plan": "enterprise"}}, {}),
        ({"$set_once": {"plan": "enterprise"}}, {}),
        ({"$unset": ["plan"]}, {}),
        ({}, {"$set": {"plan": "enterprise"}}),
        ({}, {"$set_once": {"plan": "enterprise"}}),
    ],
)
def test_a_group_identify_event_changes_only_its_group(
    properties: dict[str, Any], top: dict[str, Any]
) -> None:
    group = {"$group_type": "company", "$group_key": "acme", "$group_set": {"n": 1}}

    prepared = stored({**group, **properties}, "$groupidentify", top)

    assert (prepared.update, prepared.makes_person) == (None, True)
    assert prepared.properties == group
    assert prepared.group_identify is not None
    assert prepared.group_identify.properties == {"n": 1}


def test_a_group_identify_event_sets_nothing_automatically() -> None:
    context = located_context()
    item = {
        "event": "$groupidentify",
        "distinct_id": "u1",
        "properties": {"$group_type": "company", "$group_key": "acme", "$browser": "Firefox"},
    }

    prepared = prepare(item, context)

    assert isinstance(prepared, PreparedEvent)
    assert prepared.update is None
    assert prepared.properties["$geoip_city_name"] == "Oslo"


def located_context() -> Context:
    return replace(CONTEXT, client_ip="81.2.69.142", geoip=lambda _: {"$geoip_city_name": "Oslo"})


def test_an_event_without_person_profile_touches_no_person() -> None:
    properties = {
        "$process_person_profile": False,
        "$browser": "Firefox",
        "$set": {"a": 1},
        "$set_once": {"a": 1},
        "$unset": ["a"],
        "$groups": {"company": "acme"},
    }

    prepared = stored(properties, top={"$set": {"b": 1}})

    assert not prepared.makes_person
    assert prepared.update is None
    assert prepared.groups == {}
    assert prepared.properties == {
        "$process_person_profile": False,
        "$browser": "Firefox",
        "$groups": {"company": "acme"},
    }


@pytest.mark.parametrize(
    ("given", "remaining"), [(True, False), ("false", True), (0, True), (None, True)]
)
def test_only_false_withholds_the_person_profile(given: Any, remaining: bool) -> None:
    prepared = stored({"$process_person_profile": given})

    assert prepared.makes_person
    assert ("$process_person_profile" in prepared.properties) is remaining
