"""Persons and groups: the effects of events on them, and their lists."""

import json
from itertools import chain
from typing import Any
from uuid import UUID

import pytest

from fanion.persons.count_store import PersonsCount, count_persons
from fanion.persons.list_store import PersonQuery
from tests.support.application import Json, Tenant, error
from tests.support.cohorts import cohort_members, upload_cohort

UNKNOWN = "0190d0a6-0000-7000-8000-000000000000"


def event(distinct_id: str, name: Any = "seen", **properties: Any) -> Json:
    return {"event": name, "distinct_id": distinct_id, "properties": properties}


UPDATES: dict[str, tuple[list[Json], Json]] = {
    "set": (
        [{"$set": {"a": 1, "b": None}}, {"$set": {"a": 2, "c": [1, {"d": 2}]}}],
        {"a": 2, "b": None, "c": [1, {"d": 2}]},
    ),
    "set_once": ([{"$set_once": {"a": 1}}, {"$set_once": {"a": 2, "b": 3}}], {"a": 1, "b": 3}),
    "set beats set_once in one event": (
        [{"$set": {"a": 1}, "$set_once": {"a": 2, "b": 3}}],
        {"a": 1, "b": 3},
    ),
    "unset by list": ([{"$set": {"a": 1, "b": 2}}, {"$unset": ["a", "x"]}], {"b": 2}),
    "unset by object": ([{"$set": {"a": 1, "b": 2}}, {"$unset": {"a": ""}}], {"b": 2}),
    "unset beats set": ([{"$set": {"a": 1}}, {"$set": {"a": 2}, "$unset": ["a"]}], {}),
    "no objects": ([{"$set": {"a": 1}}, {"$set": "x", "$set_once": [1], "$unset": 5}], {"a": 1}),
    "campaign": (
        [{"utm_source": "ad"}, {"utm_source": "mail"}],
        {"utm_source": "mail", "$initial_utm_source": "ad"},
    ),
}


@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "one by one"])
async def test_events_update_their_person(tenant: Tenant, together: bool) -> None:
    """Each case has its own person."""
    steps = max(len(updates) for updates, _ in UPDATES.values())
    batches = [
        [
            event(name, **updates[step])
            for name, (updates, _) in UPDATES.items()
            if step < len(updates)
        ]
        for step in range(steps)
    ]

    for batch in [list(chain(*batches))] if together else batches:
        await tenant.capture(*batch)

    stored = {name: (await tenant.person(name))["properties"] for name in UPDATES}
    assert stored == {name: expected for name, (_, expected) in UPDATES.items()}


async def test_updates_outside_the_properties_count_too(tenant: Tenant) -> None:
    await tenant.capture({**event("ann", "$set"), "$set": {"a": 1}, "$set_once": {"b": 2}})

    assert (await tenant.person("ann"))["properties"] == {"a": 1, "b": 2}


async def test_a_person_is_returned_whole(tenant: Tenant) -> None:
    now = tenant.server.clock.now().isoformat().replace("+00:00", "Z")

    await tenant.capture(event("ann", **{"$set": {"name": "Ann", "plan": "pro"}}))
    person = await tenant.person("ann")

    assert person == {
        "type": "person",
        "id": person["uuid"],
        "uuid": person["uuid"],
        "name": "Ann",
        "distinct_ids": ["ann"],
        "properties": {"name": "Ann", "plan": "pro"},
        "created_at": now,
        "is_identified": False,
        "matched_recordings": [],
        "value_at_data_point": None,
    }
    assert await tenant.get(f"/persons/{person['id']}/") == person


@pytest.mark.every_engine
async def test_identify_joins_the_visitor_to_the_user(tenant: Tenant) -> None:
    await tenant.capture(
        event("visitor", **{"$set": {"seen": 1, "both": "visitor"}}),
        event("ann", **{"$set": {"plan": "pro", "both": "ann"}}),
    )

    await tenant.capture(
        event("ann", "$identify", **{"$anon_distinct_id": "visitor", "$set": {"named": True}})
    )
    person = await tenant.person("ann")

    assert person == await tenant.person("visitor")
    assert sorted(person["distinct_ids"]) == ["ann", "visitor"]
    assert person["is_identified"] is True
    assert person["properties"] == {"seen": 1, "both": "ann", "plan": "pro", "named": True}


async def test_an_alias_gives_a_person_another_id(tenant: Tenant) -> None:
    await tenant.capture(event("ann"), event("ann", "$create_alias", alias="a2"), event("a2"))

    person = await tenant.person("a2")

    assert sorted(person["distinct_ids"]) == ["a2", "ann"]
    assert len(await tenant.events(person_id=person["id"])) == 3


async def test_identified_persons_stay_apart(tenant: Tenant) -> None:
    await tenant.capture(
        event("ann", "$identify", **{"$anon_distinct_id": "v1"}),
        event("bob", "$identify", **{"$anon_distinct_id": "v2"}),
    )

    await tenant.capture(event("ann", "$identify", **{"$anon_distinct_id": "bob"}))

    assert sorted((await tenant.person("ann"))["distinct_ids"]) == ["ann", "v1"]
    assert sorted((await tenant.person("bob"))["distinct_ids"]) == ["bob", "v2"]


async def test_no_person_is_merged_with_a_generic_id(tenant: Tenant) -> None:
    generic = ["anonymous", "Guest", "null", "[object Object]", "'0'", " "]

    await tenant.capture(
        *(event(f"by {generic_id}", "$create_alias", alias=generic_id) for generic_id in generic)
    )

    for generic_id in generic:
        assert (await tenant.person(f"by {generic_id}"))["distinct_ids"] == [f"by {generic_id}"]
        assert (await tenant.get("/persons/", distinct_id=generic_id))["results"] == []


@pytest.mark.every_engine
async def test_a_merged_person_is_found_under_its_old_id(tenant: Tenant) -> None:
    await tenant.capture(event("visitor"), event("ann"))
    old = await tenant.person("visitor")

    await tenant.capture(event("ann", "$identify", **{"$anon_distinct_id": "visitor"}))

    assert await tenant.get(f"/persons/{old['id']}/") == await tenant.person("ann")


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("rossi", ["carla"]),
        ("  Carla ROSSI ", ["carla"]),
        ("la ro", ["carla"]),
        ("RØSTI", ["ole"]),
        ("øst", ["ole"]),
        ('say "hi', ["odd"]),
        ("back\\slash", ["odd"]),
        ("[a-z]+(", ["odd"]),
        ("50%_", ["odd"]),
        ("nick", ["ole"]),
        ("other@corp", ["carla"]),
        ("team", []),
        ("verona", []),
        ('rossi","', []),
        ("null", []),
        ("%", ["odd"]),
        (" ", []),
        ("carla", ["carla"]),
    ],
)
async def test_persons_are_found_by_a_part_of_the_name(
    tenant: Tenant, search: str, expected: list[str]
) -> None:
    properties: dict[str, Json] = {
        "carla": {"name": "Carla Rossi", "Email": "other@corp.example", "city": "Verona"},
        "ole": {"a": [[1]], "name": "Ole Røsti", "username": "Nick", "team": "team"},
        "odd": {"name": 'say "hi" back\\slash [a-z]+( 50%_', "nul": "a\0b"},
        "none": {"name": 7, "username": None, "x": {"y": "z"}},
    }
    await tenant.capture(*(event(name, **{"$set": given}) for name, given in properties.items()))
    cohort = await upload_cohort(tenant, "\n".join(properties))
    await tenant.server.calculated()

    listed = (await tenant.get("/persons/", search=search))["results"]

    assert sorted(person["distinct_ids"][0] for person in listed) == expected
    assert await cohort_members(tenant, cohort, search=search) == expected


@pytest.mark.every_engine
async def test_a_person_is_found_by_its_id_and_by_one_that_it_had(tenant: Tenant) -> None:
    await tenant.capture(event("visitor"), event("ann"), event("bob"))
    old, ann = await tenant.person("visitor"), await tenant.person("ann")
    await tenant.capture(event("ann", "$identify", **{"$anon_distinct_id": "visitor"}))
    cohort = await upload_cohort(tenant, "ann\nbob\n")
    await tenant.server.calculated()

    for search in (ann["uuid"], ann["uuid"].upper(), f" {ann['uuid']} ", old["uuid"]):
        [person] = (await tenant.get("/persons/", search=search))["results"]
        assert person["uuid"] == ann["uuid"]
        assert await cohort_members(tenant, cohort, search=search) == ["ann"]
    assert (await tenant.get("/persons/", search=str(UUID(int=7))))["results"] == []


async def test_an_event_without_a_profile_makes_no_person(tenant: Tenant) -> None:
    await tenant.capture(event("ann", **{"$process_person_profile": False, "$set": {"a": 1}}))

    [stored] = await tenant.events()
    assert stored["properties"] == {"$process_person_profile": False, "$ip": "127.0.0.1"}
    assert (await tenant.get("/persons/"))["results"] == []


async def persons(tenant: Tenant) -> None:
    for n in range(5):
        email = f"P{n}_%@{'one' if n < 3 else 'two'}.example"
        await tenant.capture(event(f"p{n}", **{"$set": {"email": email}}))
        tenant.server.clock.move(minutes=1)


LISTS: dict[str, tuple[Json, list[str]]] = {
    "all, the newest first": ({}, ["p4", "p3", "p2", "p1", "p0"]),
    "distinct_id": ({"distinct_id": "p2"}, ["p2"]),
    "no such distinct_id": ({"distinct_id": "P2"}, []),
    "email": ({"email": "p3_%@two.example"}, ["p3"]),
    "search by part of the e-mail": ({"search": "ONE.exam"}, ["p2", "p1", "p0"]),
    "search by distinct id": ({"search": "p4"}, ["p4"]),
    "signs of patterns stand for themselves": ({"search": "_%@two"}, ["p4", "p3"]),
    "a sign alone": ({"search": "%%"}, []),
    "limit": ({"limit": 2}, ["p4", "p3"]),
    "offset": ({"limit": 2, "offset": 3}, ["p1", "p0"]),
    "past the end": ({"offset": 9}, []),
    "oldest first": ({"order": "created_at", "limit": 2}, ["p0", "p1"]),
    "by e-mail address": ({"order": "email", "limit": 3}, ["p0", "p1", "p2"]),
    "by e-mail address, backwards": ({"order": "-email"}, ["p4", "p3", "p2", "p1", "p0"]),
    "limits that are none": ({"limit": "x", "offset": "-1"}, ["p4", "p3", "p2", "p1", "p0"]),
}


@pytest.mark.every_engine
async def test_lists_of_persons(tenant: Tenant) -> None:
    await persons(tenant)

    listed = {
        name: [
            person["distinct_ids"][0]
            for person in (await tenant.get("/persons/", **query))["results"]
        ]
        for name, (query, _) in LISTS.items()
    }

    assert listed == {name: expected for name, (_, expected) in LISTS.items()}


@pytest.mark.every_engine
async def test_pages_of_persons_are_linked(tenant: Tenant) -> None:
    await persons(tenant)

    first = await tenant.get("/persons/", limit=2, search="example")
    second = (await tenant.api.get(first["next"])).json()
    third = (await tenant.api.get(second["next"])).json()

    pages = [
        [person["distinct_ids"][0] for person in page["results"]] for page in (first, second, third)
    ]
    assert pages == [["p4", "p3"], ["p2", "p1"], ["p0"]]
    assert (first["previous"], third["next"]) == (None, None)
    assert second["previous"].endswith("/persons/?limit=2&search=example")


def leaf(key: str, value: Any = None, operator: str = "exact", **more: Any) -> Json:
    return {"key": key, "value": value, "operator": operator, **more}


async def ages(tenant: Tenant) -> None:
    """Create persons, of whom some have the same first time and every third has no age."""
    for n in range(12):
        properties = {"plan": f"Pro {n % 2}"} | ({"age": n} if n % 3 else {})
        await tenant.capture(event(f"p{n:02}", **{"$set": properties}))
        tenant.server.clock.move(minutes=n % 2)


def names(page: Json) -> list[str]:
    return [person["distinct_ids"][0] for person in page["results"]]


PROPERTIES: dict[str, tuple[list[Json], list[int]]] = {
    "exact": ([leaf("age", 4)], [4]),
    "one of several": ([leaf("age", [4, "7", "x"])], [4, 7]),
    "no operator": ([{"key": "age", "value": 4}], [4]),
    "the type spelled out": ([leaf("age", 4, type="person")], [4]),
    "is_not": ([leaf("plan", "Pro 0", "is_not")], [1, 3, 5, 7, 9, 11]),
    "icontains": ([leaf("plan", "pRO 1", "icontains")], [1, 3, 5, 7, 9, 11]),
    "is_not_set": ([leaf("age", "", "is_not_set")], [0, 3, 6, 9]),
    "gt": ([leaf("age", 7, "gt")], [8, 10, 11]),
    "both": ([leaf("age", 7, "gt"), leaf("plan", "Pro 0")], [8, 10]),
    "neither": ([leaf("age", 7), leaf("age", 8)], []),
    "none": ([], [*range(12)]),
    "a text of NUL": ([leaf("plan", "Pro 0\0")], []),
    "a key of NUL": ([leaf("pl\0an", "Pro 0")], []),
    "a huge text": ([leaf("plan", "x" * 50_000)], []),
    "quotes": ([leaf("plan'`\\", "'); DROP TABLE persons --")], []),
}


@pytest.mark.every_engine
async def test_properties_choose_persons(tenant: Tenant) -> None:
    await ages(tenant)

    listed = {
        name: sorted(names(await tenant.get("/persons/", properties=json.dumps(conditions))))
        for name, (conditions, _) in PROPERTIES.items()
    }

    assert listed == {name: [f"p{n:02}" for n in ns] for name, (_, ns) in PROPERTIES.items()}


async def test_conditions_that_cannot_be_compared_are_refused(tenant: Tenant) -> None:
    unusable = {"value": [leaf("plan"), leaf("age", 10**400, "lt"), leaf("plan", "(", "regex")]}
    unusable["operator"] = [leaf("plan", "Pro 0", "resembles")]

    for part, conditions in unusable.items():
        for condition in conditions:
            answer = await tenant.api.get(
                "/persons/", params={"properties": json.dumps([condition])}
            )
            assert (answer.status_code, answer.json()["attr"]) == (400, f"properties__0__{part}")


async def test_a_persons_date_may_count_back(tenant: Tenant) -> None:
    await tenant.capture(event("ann", **{"$set": {"joined": "2024-02-20"}}))
    await tenant.capture(event("bob", **{"$set": {"joined": "2024-02-29"}}))
    recent = json.dumps([leaf("joined", "-7d", "is_date_after")])

    assert names(await tenant.get("/persons/", properties=recent)) == ["bob"]


@pytest.mark.every_engine
async def test_next_leads_through_all_chosen_persons_once(tenant: Tenant) -> None:
    await ages(tenant)
    query = {"properties": json.dumps([leaf("age", 1, "gt")])}
    whole = await tenant.get("/persons/", **query)

    page = await tenant.get("/persons/", limit=3, **query)
    paged, pages = names(page), 1
    while page["next"]:
        page = (await tenant.api.get(page["next"])).json()
        paged, pages = paged + names(page), pages + 1
    before = (await tenant.api.get(page["previous"])).json()

    assert paged == names(whole)
    assert (len(paged), pages) == (7, 3)
    assert names(before) == paged[3:6]


@pytest.mark.every_engine
async def test_properties_go_with_the_other_filters_of_persons(tenant: Tenant) -> None:
    await ages(tenant)
    old = json.dumps([leaf("age", 7, "gt")])

    assert names(await tenant.get("/persons/", properties=old, distinct_id="p08")) == ["p08"]
    assert names(await tenant.get("/persons/", properties=old, distinct_id="p07")) == []
    assert names(await tenant.get("/persons/", properties=old, search="p10")) == ["p10"]
    assert len(names(await tenant.get("/persons/", properties=old, offset=2))) == 1
    assert names(await tenant.get("/persons/", properties=old, offset=3)) == []


@pytest.mark.every_engine
@pytest.mark.parametrize("order", ["created_at", "email", "-email"])
async def test_next_leads_through_the_persons_in_any_order(tenant: Tenant, order: str) -> None:
    await persons(tenant)
    await tenant.capture(event("anon"), event("anon2"))
    some = json.dumps([leaf("email", "p1_%@one.example", "is_not")])
    expected = {
        "created_at": (["p0", "p2", "p3", "p4"], {"anon", "anon2"}),
        "email": (["p0", "p2", "p3", "p4"], {"anon", "anon2"}),
        "-email": (["p4", "p3", "p2", "p0"], {"anon", "anon2"}),
    }

    page = await tenant.get("/persons/", order=order, limit=2, properties=some)
    listed = names(page)
    while page["next"]:
        page = (await tenant.api.get(page["next"])).json()
        listed += names(page)

    assert (listed[:4], set(listed[4:])) == expected[order]


async def test_an_unknown_order_of_persons_is_refused(tenant: Tenant) -> None:
    answer = await tenant.api.get("/persons/", params={"order": "name"})

    assert (answer.status_code, answer.json()) == (
        400,
        error(
            "validation_error",
            "invalid_choice",
            '"name" is not a valid choice. Allowed are: -created_at, -email, created_at, email, '
            "properties.<name>.",
            "order",
        ),
    )


@pytest.mark.every_engine
async def test_persons_are_counted_as_they_are_listed(tenant: Tenant) -> None:
    await persons(tenant)
    old = json.dumps([leaf("email", "one.example", "icontains")])

    counts = [
        await tenant.get("/persons/count/", **query)
        for query in (
            {},
            {"search": "two"},
            {"properties": old},
            {"properties": old, "search": "p0"},
        )
    ]

    assert [each["count"] for each in counts] == [5, 2, 3, 1]
    assert all(each["is_exact"] for each in counts)


@pytest.mark.every_engine
async def test_a_count_of_many_persons_says_that_there_are_more(tenant: Tenant) -> None:
    await persons(tenant)

    counted = await count_persons(tenant.server.records, tenant.project_id, PersonQuery(), 3)

    assert counted == PersonsCount(3, is_exact=False)


@pytest.mark.parametrize("text", ["", "null", "[]"])
async def test_no_properties_choose_all_persons(tenant: Tenant, text: str) -> None:
    await persons(tenant)

    page = await tenant.get("/persons/", properties=text)

    assert names(page) == ["p4", "p3", "p2", "p1", "p0"]


ONLY = "Only conditions on properties of persons are supported."


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("{", "Properties are unparsable!"),
        ("[" * 5_000, "Properties are unparsable!"),
        ("{}", "Properties cannot be read: properties must be a list."),
        ("[null]", "Properties cannot be read: a property must be an object."),
        ('[{"key": 1}]', "Properties cannot be read: a property must have a text key."),
        ('[{"key": "a", "value": ?}]', "Properties cannot be read: nested too deeply."),
        ('[{"key": "a", "type": "group"}]', ONLY),
        ('[{"key": "id", "type": "cohort", "value": 1}]', ONLY),
    ],
)
async def test_properties_that_cannot_be_read_are_refused(
    tenant: Tenant, text: str, detail: str
) -> None:
    sent = text.replace("?", "[" * 500 + "]" * 500)

    answer = await tenant.api.get("/persons/", params={"properties": sent})

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", detail, "properties")


@pytest.mark.every_engine
async def test_an_unknown_person_is_not_found(tenant: Tenant) -> None:
    answer = await tenant.api.get(f"/persons/{UNKNOWN}/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")


async def test_a_distinct_id_in_place_of_a_person_id_is_explained(tenant: Tenant) -> None:
    answer = await tenant.api.get("/persons/ann/")

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error",
        "invalid_input",
        "The ID provided does not look like a personID. "
        "If you are using a distinctId, please use /persons?distinct_id=… instead.",
    )


@pytest.mark.every_engine
async def test_groups_get_an_index_in_the_order_of_their_types(tenant: Tenant) -> None:
    types = ["organization", "project", "t2", "t3", "t4", "sixth"]

    for name in types:
        await tenant.capture(event("ann", **{"$groups": {name: f"{name}:1"}}))
    stored = [listed["properties"] for listed in reversed(await tenant.events())]
    await tenant.capture(event("ann", **{"$groups": {"project": 7, "sixth": "x"}}))
    [again, *_] = await tenant.events()

    indexes = [
        {k: v for k, v in properties.items() if k.startswith("$group_")} for properties in stored
    ]
    assert indexes == [{f"$group_{n}": f"{name}:1"} for n, name in enumerate(types[:5])] + [{}]
    assert again["properties"]["$group_1"] == "7"
    assert "$group_5" not in again["properties"]


async def test_group_properties_are_merged_and_flags_see_them(tenant: Tenant) -> None:
    def describe(**properties: Any) -> Json:
        group = {"$group_type": "organization", "$group_key": "org:1", "$group_set": properties}
        return event("$organization_org:1", "$groupidentify", **group)

    leaf = {"key": "plan", "value": "pro", "type": "group", "group_type_index": 0}
    await tenant.capture(describe(plan="free", seats=3))
    await tenant.capture(describe(plan="pro"))
    for key, value in (("plan", "pro"), ("seats", "3")):
        properties = [{**leaf, "key": key, "value": value}]
        filters = {"aggregation_group_type_index": 0, "groups": [{"properties": properties}]}
        await tenant.create_flag(key=key, filters=filters)

    decided = await tenant.decide("ann", groups={"organization": "org:1"})
    elsewhere = await tenant.decide("ann", groups={"organization": "org:2"})

    assert decided["featureFlags"] == {"plan": True, "seats": True}
    assert elsewhere["featureFlags"] == {"plan": False, "seats": False}
