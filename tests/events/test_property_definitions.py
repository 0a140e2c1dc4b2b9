"""Property definitions, as capture creates them and the API returns them."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error, open_tenant

pytestmark = pytest.mark.every_engine


async def properties(tenant: Tenant, **query: Any) -> dict[str, Json]:
    page = await tenant.get("/property_definitions/", **query)
    assert page["count"] == len(page["results"])
    return {definition["name"]: definition for definition in page["results"]}


@pytest.fixture
async def shop(tenant: Tenant) -> Tenant:
    await tenant.capture(
        {
            "event": "paid",
            "distinct_id": "u",
            "properties": {"price": 9.5, "plan": "pro", "at_time": 1700000000, "is_new": True},
        },
        {"event": "seen", "distinct_id": "u", "properties": {"plan": "free", "$set": {"a": 1}}},
        {"event": "seen", "distinct_id": "u", "properties": {"day": "2024-03-01"}},
    )
    return tenant


async def test_each_property_has_a_type_and_its_events(shop: Tenant) -> None:
    definitions = await properties(shop)

    returned = {
        name: (definition["property_type"], definition["is_numerical"], definition["event_names"])
        for name, definition in definitions.items()
    }
    ids = [definition["id"] for definition in definitions.values()]
    assert {name: returned[name] for name in returned if not name.startswith("$")} == {
        "at_time": ("DateTime", False, ["paid"]),
        "day": ("DateTime", False, ["seen"]),
        "is_new": (None, False, ["paid"]),
        "plan": ("String", False, ["paid", "seen"]),
        "price": ("Numeric", True, ["paid"]),
    }
    assert list(definitions) == sorted(definitions)
    assert "$set" not in definitions
    assert await shop.get(f"/property_definitions/{ids[0]}/") == next(iter(definitions.values()))


async def test_a_property_without_a_column_of_its_own_says_so(shop: Tenant) -> None:
    assert {of["column_bytes"] for of in (await properties(shop)).values()} == {None}


LISTS: dict[str, tuple[Json, list[str]]] = {
    "search": ({"search": "P PRI"}, ["price"]),
    "names": ({"properties": "plan,day,unknown"}, ["day", "plan"]),
    "numeric": ({"is_numerical": "true"}, ["price"]),
    "of an event": ({"event_names": '["seen"]', "search": "a"}, ["day", "plan"]),
    "excluded": ({"properties": "plan,day", "excluded_properties": '["plan"]'}, ["day"]),
    "of an unknown event": ({"event_names": '["nobody\'s"]'}, []),
}


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_is_chosen(shop: Tenant, name: str) -> None:
    query, expected = LISTS[name]

    assert list(await properties(shop, **query)) == expected


async def test_a_type_stays_as_it_was_first_reported(shop: Tenant) -> None:
    await shop.capture({"event": "paid", "distinct_id": "u", "properties": {"price": "none"}})

    assert (await properties(shop))["price"]["property_type"] == "Numeric"


async def test_a_property_without_type_gets_one_when_memory_is_read_again(shop: Tenant) -> None:
    shop.server.clock.move(minutes=6)
    await shop.capture({"event": "paid", "distinct_id": "u", "properties": {"is_new": "yes"}})

    assert (await properties(shop))["is_new"]["property_type"] == "String"


async def test_later_events_add_themselves(shop: Tenant) -> None:
    await shop.capture({"event": "left", "distinct_id": "u", "properties": {"price": 1, "new": 2}})

    definitions = await properties(shop)

    assert definitions["price"]["event_names"] == ["left", "paid"]
    assert definitions["new"]["event_names"] == ["left"]


async def test_pages_are_linked(shop: Tenant) -> None:
    first = await shop.get("/property_definitions/", limit=2)
    second = (await shop.api.get(first["next"])).json()

    returned = [definition["name"] for definition in (*first["results"], *second["results"])]
    assert returned == list(await properties(shop))[:4]


@pytest.mark.parametrize("name", ["0190d0a6-0000-7000-8000-000000000000", "plan", "1"])
async def test_an_unknown_one_is_not_found(tenant: Tenant, name: str) -> None:
    answer = await tenant.api.get(f"/property_definitions/{name}/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")


async def test_a_list_of_events_that_is_none_is_refused(tenant: Tenant) -> None:
    answer = await tenant.api.get("/property_definitions/", params={"event_names": "paid"})

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error", "invalid_input", "Must be a JSON list of names.", "event_names"
    )


async def test_properties_of_persons_and_groups_are_defined_when_they_change(
    shop: Tenant,
) -> None:
    await shop.capture(
        {
            "event": "$identify",
            "distinct_id": "ann",
            "properties": {
                "$set": {"plan": "pro", "is_new": True},
                "$set_once": {"joined": "2024-03-01"},
            },
        },
        {
            "event": "$groupidentify",
            "distinct_id": "ann",
            "properties": {
                "$group_type": "company",
                "$group_key": "acme",
                "$group_set": {"seats": 5, "plan": 3},
            },
        },
    )
    shop.server.clock.move(minutes=6)
    await shop.capture(
        {"event": "a", "distinct_id": "ann", "properties": {"$set": {"is_new": "y"}}}
    )

    persons = await properties(shop, type="person")
    groups = await properties(shop, type="group", group_type_index=0)
    other_groups = await properties(shop, type="group", group_type_index=1)

    types = {name: of["property_type"] for name, of in persons.items() if name[0] != "$"}
    assert types == {"a": "Numeric", "is_new": "String", "joined": "DateTime", "plan": "String"}
    assert {name: of["property_type"] for name, of in groups.items()} == {
        "plan": "Numeric",
        "seats": "Numeric",
    }
    assert (persons["plan"]["type"], persons["plan"]["group_type_index"]) == ("person", None)
    assert (groups["plan"]["type"], groups["plan"]["group_type_index"]) == ("group", 0)
    assert {of["type"] for of in (await properties(shop)).values()} == {"event"}
    assert other_groups == {}


@pytest.mark.parametrize(
    "kind",
    [{"type": "event"}, {"type": "person"}, {"type": "group", "group_type_index": 0}],
    ids=lambda kind: kind["type"],
)
async def test_a_property_has_details(shop: Tenant, kind: Json) -> None:
    about_group = {"$group_type": "team", "$group_key": "a", "$group_set": {"plan": "free"}}
    await shop.capture(
        {"event": "a", "distinct_id": "u", "properties": {"$set": {"plan": "free", "b": 2}}},
        {"event": "$groupidentify", "distinct_id": "u", "properties": about_group},
    )
    before = (await properties(shop, **kind))["plan"]
    path = f"/property_definitions/{before['id']}/"
    sent = {
        "description": "What is paid for",
        "owner": shop.user_id,
        "tags": ["Money", "money"],
        "verified": True,
    }

    changed = (await shop.api.patch(path, json=sent)).json()
    sent_back = await shop.api.patch(path, json=changed)
    reported = (await shop.get(f"{path}activity/"))["results"]
    found = [
        list(await properties(shop, **kind, **query))
        for query in (
            {"verified": "true"},
            {"tags": '["money"]'},
            {"owner": shop.user_id, "search": "pla"},
            {"hidden": "true"},
        )
    ]
    hidden = (await shop.api.patch(path, json={"hidden": True})).json()
    shown = await properties(shop, **kind, exclude_hidden="true")

    now = shop.server.clock.now().isoformat().replace("+00:00", "Z")
    assert changed == before | {
        **sent,
        "owner": shop.owner,
        "tags": ["money"],
        "verified_at": now,
        "verified_by": shop.owner,
        "updated_at": now,
        "updated_by": shop.owner,
    }
    assert sent_back.json() == changed
    assert [
        (entry["scope"], entry["detail"]["name"], entry["detail"]["changes"]) for entry in reported
    ] == [
        (
            "PropertyDefinition",
            "plan",
            [
                {"type": "PropertyDefinition", "action": action, "field": field}
                | {"before": former, "after": value}
                for action, field, former, value in (
                    ("changed", "description", "", "What is paid for"),
                    ("created", "owner", None, shop.owner["email"]),
                    ("changed", "tags", [], ["money"]),
                    ("changed", "verified", False, True),
                )
            ],
        )
    ]
    assert found == [["plan"], ["plan"], ["plan"], []]
    assert (hidden["verified"], hidden["verified_by"]) == (False, None)
    assert "plan" not in shown


REFUSED: dict[str, tuple[Json, str]] = {
    "another type": ({"property_type": "Numeric"}, "property_type"),
    "an unknown type": ({"property_type": "Text"}, "property_type"),
    "both marks": ({"hidden": True, "verified": True}, "verified"),
    "a stranger as owner": ({"owner": 987_654_321}, "owner"),
    "an unknown field": ({"descriptoin": "x"}, "descriptoin"),
}


async def test_a_change_that_makes_no_sense_is_refused(shop: Tenant) -> None:
    plan = (await properties(shop))["plan"]
    path = f"/property_definitions/{plan['id']}/"

    for name, (sent, attr) in REFUSED.items():
        answer = await shop.api.patch(path, json={"tags": ["a"], **sent})
        assert (answer.status_code, answer.json()["attr"]) == (400, attr), name

    assert await shop.get(path) == plan


BAD_LISTS: list[tuple[Json, str]] = [
    ({"type": "session"}, "type"),
    ({"type": "group"}, "group_type_index"),
    ({"type": "group", "group_type_index": 5}, "group_type_index"),
    ({"type": "person", "group_type_index": 0}, "group_type_index"),
    ({"hidden": "true", "exclude_hidden": "true"}, "exclude_hidden"),
]


async def test_a_list_that_makes_no_sense_is_refused(tenant: Tenant) -> None:
    for query, attr in BAD_LISTS:
        answer = await tenant.api.get("/property_definitions/", params=query)
        assert (answer.status_code, answer.json()["attr"]) == (400, attr), query


async def test_properties_of_other_projects_are_not_found(shop: Tenant) -> None:
    plan = (await properties(shop))["plan"]
    path = f"/property_definitions/{plan['id']}/"

    async with open_tenant(shop.server, shop.project_id + 7_000_003) as neighbour:
        answers = [
            await neighbour.api.get(path),
            await neighbour.api.patch(path, json={"tags": ["a"]}),
            await neighbour.api.get(f"{path}activity/"),
        ]

    assert [answer.status_code for answer in answers] == [404, 404, 404]
