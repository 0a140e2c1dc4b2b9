"""The way from a sent item to the stored event, rule by rule."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from fanion.groups.model import GroupIdentify
from fanion.ingest.event import Drop, PreparedEvent
from fanion.ingest.pipeline.prepare import Context, prepare
from fanion.persons.merge import Merge, MergeKind, PersonCommand
from fanion.projects.model import IngestionSettings

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
CONTEXT = Context(project_id=1, entry_id=77, received_at=NOW)


def stored(item: Mapping[str, Any], context: Context = CONTEXT, index: int = 0) -> PreparedEvent:
    prepared = prepare(item, context, index)
    assert isinstance(prepared, PreparedEvent)
    return prepared


EMPTY: tuple[Any, ...] = (None, "", 0, False, [], {})


def event(name: Any = "paid", distinct_id: Any = "u1", **properties: Any) -> dict[str, Any]:
    return {"event": name, "distinct_id": distinct_id, "properties": properties}


def with_rules(**rules: Any) -> Context:
    return Context(1, 77, NOW, client_ip="192.0.2.1", rules=IngestionSettings(**rules))


@pytest.mark.parametrize(
    ("item", "drop"),
    [
        ({"distinct_id": "u1"}, Drop.NO_NAME),
        (event(name=None), Drop.NO_NAME),
        (event(name=""), Drop.NO_NAME),
        ({"event": "paid"}, Drop.NO_DISTINCT_ID),
        *[(event(distinct_id=empty), Drop.NO_DISTINCT_ID) for empty in EMPTY],
        ({"event": "paid", "properties": {"distinct_id": ""}}, Drop.NO_DISTINCT_ID),
        ({"event": "paid", "properties": None}, Drop.NO_DISTINCT_ID),
        (event("$performance_event"), Drop.DIVERTED_EVENT),
        (event("$$heatmap"), Drop.DIVERTED_EVENT),
        (event("$$client_ingestion_warning"), Drop.DIVERTED_EVENT),
        *[
            (event(name, **{"$process_person_profile": False}), Drop.PERSON_PROFILE_NEEDED)
            for name in ("$identify", "$create_alias", "$merge_dangerously", "$groupidentify")
        ],
    ],
)
def test_an_unwanted_item_is_dropped_with_its_reason(item: dict[str, Any], drop: Drop) -> None:
    assert prepare(item, CONTEXT) is drop


def test_reasons_are_stable_words() -> None:
    assert sorted(Drop) == [
        "diverted_event",
        "duplicate",
        "erased",
        "no_distinct_id",
        "no_name",
        "person_profile_needed",
        "user_agent",
    ]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("paid", "paid"),
        (17, "17"),
        (True, "true"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ("x" * 300, "x" * 200),
        ("a\0b", "a\ufffdb"),
        (" ", " "),
    ],
)
def test_a_name_becomes_text_of_at_most_200_characters(given: Any, name: str) -> None:
    assert stored(event(given)).name == name


@pytest.mark.parametrize(
    ("given", "distinct_id"),
    [
        ("U1", "U1"),
        (" u1 ", " u1 "),
        (2, "2"),
        (23.4, "23.4"),
        (True, "true"),
        ("é" * 300, "é" * 200),
        ("a\0b", "a\ufffdb"),
        ("anonymous", "anonymous"),
    ],
)
def test_a_distinct_id_becomes_text_of_at_most_200_characters(given: Any, distinct_id: str) -> None:
    assert stored(event(distinct_id=given)).distinct_id == distinct_id


@pytest.mark.parametrize(
    ("item", "distinct_id"),
    [
        ({"$distinct_id": "1", "properties": {"distinct_id": "2"}, "distinct_id": "3"}, "1"),
        ({"properties": {"distinct_id": "2"}, "distinct_id": "3"}, "2"),
        ({"properties": {}, "distinct_id": "3"}, "3"),
        ({"$distinct_id": "", "properties": {"distinct_id": None}, "distinct_id": "3"}, "3"),
    ],
)
def test_the_distinct_id_is_the_first_one_found(item: dict[str, Any], distinct_id: str) -> None:
    assert stored({"event": "paid", **item}).distinct_id == distinct_id


@pytest.mark.parametrize(
    "given",
    [
        "01890f3c-aaaa-7bbb-8ccc-000000000001",
        "01890F3C-AAAA-7BBB-8CCC-000000000001",
        "01890f3caaaa7bbb8ccc000000000001",
        "{01890f3c-aaaa-7bbb-8ccc-000000000001}",
    ],
)
def test_a_given_uuid_is_the_id_of_the_event(given: str) -> None:
    prepared = stored({**event(), "uuid": given})

    assert prepared.uuid == UUID("01890f3c-aaaa-7bbb-8ccc-000000000001")


@pytest.mark.parametrize("given", [None, "", "17", 17])
def test_an_event_without_a_uuid_gets_the_same_one_each_time(given: Any) -> None:
    item = {**event(), "uuid": given}

    assert stored(item, index=3).uuid == stored(item, index=3).uuid
    assert stored(item, index=3).uuid.version == 7


def test_made_uuids_are_in_the_order_of_arrival() -> None:
    later = NOW + timedelta(milliseconds=1)
    places = [
        (Context(1, 77, NOW), 0),
        (Context(1, 77, NOW), 1),
        (Context(1, 77, NOW), 2_000_000),
        (Context(1, 78, NOW), 0),
        (Context(1, 2**45, NOW), 0),
        (Context(1, 77, later), 0),
    ]

    uuids = [stored(event(), context, index).uuid for context, index in places]

    assert uuids == sorted(set(uuids))


def test_properties_are_stored_as_given_and_the_item_is_left_alone() -> None:
    item = event(amount=1.50, nested={"a": [None, "x\0"]}, **{"$lib": "web"})
    before = repr(item)

    properties = stored(item, Context(1, 77, NOW, NOW, "192.0.2.1")).properties

    assert properties == {
        "amount": 1.5,
        "nested": {"a": [None, "x\0"]},
        "$lib": "web",
        "$sent_at": "2024-03-01T12:00:00+00:00",
        "$ip": "192.0.2.1",
    }
    assert repr(item) == before


@pytest.mark.parametrize("properties", [None, {}])
def test_missing_properties_are_none_at_all(properties: Any) -> None:
    item = {"event": "paid", "distinct_id": "u1", "properties": properties}

    assert stored(item).properties == {}
    assert stored({"event": "paid", "distinct_id": "u1"}).properties == {}


@pytest.mark.parametrize(
    ("given", "client_ip", "remaining"),
    [
        ({}, "192.0.2.1", {"$ip": "192.0.2.1"}),
        ({"$ip": ""}, "192.0.2.1", {"$ip": "192.0.2.1"}),
        ({"$ip": None}, "192.0.2.1", {"$ip": "192.0.2.1"}),
        ({"$ip": "198.51.100.7"}, "192.0.2.1", {"$ip": "198.51.100.7"}),
        ({}, "", {}),
    ],
)
def test_the_address_of_the_request_is_stored_unless_the_client_says_one(
    given: dict[str, Any], client_ip: str, remaining: dict[str, Any]
) -> None:
    context = Context(1, 77, NOW, client_ip=client_ip)

    assert stored(event(**given), context).properties == remaining


@pytest.mark.parametrize("given", [{}, {"$ip": "198.51.100.7"}])
def test_a_project_can_discard_addresses(given: dict[str, Any]) -> None:
    assert stored(event(**given), with_rules(anonymize_ips=True)).properties == {}


def locate(address: str) -> Mapping[str, object]:
    return {"$geoip_city_name": f"city of {address}"}


@pytest.mark.parametrize("anonymize_ips", [False, True])
def test_a_place_is_stored_on_event_and_person(anonymize_ips: bool) -> None:
    rules = IngestionSettings(anonymize_ips=anonymize_ips)
    context = Context(1, 77, NOW, client_ip="192.0.2.1", rules=rules, geoip=locate)

    prepared = stored(event(), context)

    assert prepared.properties["$geoip_city_name"] == "city of 192.0.2.1"
    assert ("$ip" in prepared.properties) is not anonymize_ips
    assert prepared.update is not None
    assert prepared.update.set == {"$geoip_city_name": "city of 192.0.2.1"}
    assert prepared.update.set_once == {"$initial_geoip_city_name": "city of 192.0.2.1"}


def test_a_client_can_forbid_to_look_up_its_place() -> None:
    context = Context(1, 77, NOW, client_ip="192.0.2.1", geoip=locate)

    prepared = stored(event(**{"$geoip_disable": True}), context)

    assert prepared.properties == {"$geoip_disable": True, "$ip": "192.0.2.1"}
    assert prepared.update is None


def test_a_project_can_remove_properties_everywhere() -> None:
    names = ("secret", "$ip", "$browser", "$geoip_city_name")
    rules = IngestionSettings(removed_properties=names)
    context = Context(1, 77, NOW, client_ip="192.0.2.1", rules=rules, geoip=locate)
    item = event(secret=1, kept=2, **{"$browser": "F", "$set": {"secret": 1, "a": 2}})

    prepared = stored({**item, "$set_once": {"secret": 3}}, context)

    assert prepared.properties == {"kept": 2, "$set": {"a": 2}, "$set_once": {}}
    assert prepared.update is not None
    assert prepared.update.set == {"a": 2}
    assert prepared.update.set_once == {}


@pytest.mark.parametrize(
    ("properties", "request_agent", "is_dropped"),
    [
        ({}, "Mozilla GoogleBot/2.1", True),
        ({}, "Mozilla", False),
        ({"$raw_user_agent": "a googlebot"}, "python", True),
        ({"$user_agent": "Mozilla"}, "googlebot", False),
        ({"$user_agent": 17}, "googlebot", True),
    ],
)
def test_a_project_can_drop_user_agents(
    properties: dict[str, Any], request_agent: str, is_dropped: bool
) -> None:
    rules = IngestionSettings(dropped_user_agents=("", "Googlebot"))
    context = Context(1, 77, NOW, user_agent=request_agent, rules=rules)

    assert (prepare(event(**properties), context) is Drop.USER_AGENT) is is_dropped


@pytest.mark.parametrize(
    ("name", "properties", "merge"),
    [
        ("$identify", {"$anon_distinct_id": "a1"}, Merge(MergeKind.IDENTIFY, "a1")),
        ("$create_alias", {"alias": 42}, Merge(MergeKind.ALIAS, "42")),
        ("$merge_dangerously", {"alias": "a" * 300}, Merge(MergeKind.DANGEROUSLY, "a" * 200)),
        ("$identify", {"alias": "a1"}, None),
        ("$identify", {"$anon_distinct_id": ""}, None),
        ("$create_alias", {"alias": None}, None),
        ("paid", {"alias": "a1", "$anon_distinct_id": "a1"}, None),
    ],
)
def test_three_events_ask_for_a_merge(
    name: str, properties: dict[str, Any], merge: Merge | None
) -> None:
    assert stored(event(name, **properties)).merge == merge


@pytest.mark.parametrize(
    ("given", "groups"),
    [
        ({"company": "acme", "team": 7}, {"company": "acme", "team": "7"}),
        ({"company": 0, "a": None, "b": "", "c": []}, {"company": "0"}),
        ({"company": "x" * 401, "t": "x\0"}, {"t": "x\ufffd"}),
        ("acme", {}),
        (["acme"], {}),
        (None, {}),
    ],
)
def test_groups_are_read(given: Any, groups: dict[str, str]) -> None:
    prepared = stored(event(**{"$groups": given}))

    assert prepared.groups == groups
    assert prepared.properties["$groups"] == given


@pytest.mark.parametrize(
    ("properties", "properties_of_group"),
    [
        ({"$group_set": {"name": "Acme"}}, {"name": "Acme"}),
        ({}, {}),
        ({"$group_set": "text"}, {}),
    ],
)
def test_a_group_is_identified(
    properties: dict[str, Any], properties_of_group: dict[str, Any]
) -> None:
    item = event("$groupidentify", **{"$group_type": "company", "$group_key": 7}, **properties)

    identify = stored(item).group_identify

    assert identify == GroupIdentify("company", "7", properties_of_group, NOW)


@pytest.mark.parametrize(
    "properties",
    [{}, {"$group_type": "company"}, {"$group_key": "7"}, {"$group_type": "", "$group_key": 0}],
)
def test_a_group_without_type_or_key_is_only_an_event(properties: dict[str, Any]) -> None:
    assert stored(event("$groupidentify", **properties)).group_identify is None


def test_elements_become_a_chain() -> None:
    elements = [
        {
            "tag_name": "a",
            "$el_text": 'Say "hi"',
            "attr__href": "/x",
            "attr__id": "go",
            "attr__class": "small btn",
            "nth_child": 1,
            "nth_of_type": 2,
        },
        {"tag_name": "div", "attr__class": ["b", "a"]},
        "no element",
    ]

    properties = stored(event("$autocapture", **{"$elements": elements})).properties

    assert "$elements" not in properties
    assert properties["$elements_chain"] == (
        'a.btn.small:attr__class="small btn"attr__href="/x"attr__id="go"attr_id="go"href="/x"'
        'nth-child="1"nth-of-type="2"text="Say \\"hi\\"";'
        'div.a.b:attr__class="[\'b\', \'a\']"nth-child="0"nth-of-type="0"'
    )


def test_what_is_prepared_says_what_the_event_means_for_persons() -> None:
    prepared: PersonCommand = stored(event("$identify", **{"$anon_distinct_id": "a1"}))

    assert (prepared.distinct_id, prepared.timestamp, prepared.makes_person) == ("u1", NOW, True)
    assert (prepared.update, prepared.merge) == (None, Merge(MergeKind.IDENTIFY, "a1"))
