"""Event definitions, as the management API edits them."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import delete

from fanion.db.schema.tables import memberships
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.management import add_key, add_member

pytestmark = pytest.mark.every_engine


async def names(tenant: Tenant, **query: Any) -> list[str]:
    page = await tenant.get("/event_definitions/", **query)
    assert page["count"] == len(page["results"])
    return [definition["name"] for definition in page["results"]]


async def capture(tenant: Tenant, *events: str) -> None:
    await tenant.capture(*({"event": event, "distinct_id": "u"} for event in events))


async def definition(tenant: Tenant, name: str) -> Json:
    [found] = [
        listed
        for listed in (await tenant.get("/event_definitions/"))["results"]
        if listed["name"] == name
    ]
    wanted: Json = found
    return wanted


async def change(tenant: Tenant, event_definition: Json, **values: Any) -> Json:
    answer = await tenant.api.patch(f"/event_definitions/{event_definition['id']}/", json=values)
    assert answer.status_code == 200, answer.text
    changed: Json = answer.json()
    return changed


@pytest.fixture
async def five(tenant: Tenant) -> Tenant:
    """Capture events on two days, with one definition that was never seen."""
    await capture(tenant, "Page 100%", "$pageview", "never")
    tenant.server.clock.move(days=1)
    await capture(tenant, "page viewed", "Größe geändert", "$screen")
    await change(tenant, await definition(tenant, "never"), last_seen_at=None)
    return tenant


NEWEST_DAY = ["$screen", "Größe geändert", "page viewed"]
DAY_BEFORE = ["$pageview", "Page 100%"]

LISTS: dict[str, tuple[Json, list[str]]] = {
    "default order": ({}, [*NEWEST_DAY, *DAY_BEFORE, "never"]),
    "one word": ({"search": "PAGE"}, ["page viewed", "$pageview", "Page 100%"]),
    "every word": ({"search": "  view page "}, ["page viewed", "$pageview"]),
    "other letters": ({"search": "GRÖSSE"}, []),
    "other letters in small": ({"search": "GEÄNDERT"}, ["Größe geändert"]),
    "percent is plain text": ({"search": "%"}, ["Page 100%"]),
    "underscore is plain text": ({"search": "_"}, []),
    "search for nothing": ({"search": " "}, [*NEWEST_DAY, *DAY_BEFORE, "never"]),
    "custom": ({"event_type": "event_custom", "search": "page"}, ["page viewed", "Page 100%"]),
    "of the product": ({"event_type": "event_posthog"}, ["$screen", "$pageview"]),
    "all types": ({"event_type": "event", "search": "screen"}, ["$screen"]),
    "excluded": (
        {"excluded_properties": '["$screen", "never", "unknown"]', "event_type": "event_posthog"},
        ["$pageview"],
    ),
    "never seen first when ascending": (
        {"ordering": "last_seen_at"},
        ["never", *DAY_BEFORE, *NEWEST_DAY],
    ),
    "never seen last when descending": (
        {"ordering": "-last_seen_at"},
        [*NEWEST_DAY, *DAY_BEFORE, "never"],
    ),
    "by day, then by name backwards": (
        {"ordering": ["last_seen_at::date", "-name"]},
        ["never", *reversed(DAY_BEFORE), *reversed(NEWEST_DAY)],
    ),
    "an unknown order is passed over": (
        {"ordering": ["volume", "-last_seen_at::date"]},
        [*NEWEST_DAY, *DAY_BEFORE, "never"],
    ),
    "only unknown orders": ({"ordering": "volume"}, [*NEWEST_DAY, *DAY_BEFORE, "never"]),
}


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_is_chosen_and_ordered(five: Tenant, name: str) -> None:
    query, expected = LISTS[name]

    assert await names(five, **query) == expected


BAD_QUERIES = {
    "excluded_properties": (
        "{}",
        error(
            "validation_error",
            "invalid_input",
            "Must be a JSON list of names.",
            "excluded_properties",
        ),
    ),
    "event_type": (
        "action",
        error(
            "validation_error",
            "invalid_choice",
            '"action" is not a valid choice. Allowed are: event, event_custom, event_posthog.',
            "event_type",
        ),
    ),
}


@pytest.mark.parametrize("parameter", BAD_QUERIES)
async def test_a_query_that_makes_no_sense_is_refused(tenant: Tenant, parameter: str) -> None:
    value, expected = BAD_QUERIES[parameter]

    answer = await tenant.api.get("/event_definitions/", params={parameter: value})

    assert (answer.status_code, answer.json()) == (400, expected)


async def test_a_change_is_returned_at_once(tenant: Tenant) -> None:
    await capture(tenant, "paid")
    before = await definition(tenant, "paid")
    tenant.server.clock.move(hours=1)

    changed = await change(
        tenant,
        before,
        name=" bought ",
        created_at="2020-01-01T00:00:00+01:00",
        last_seen_at="2021-01-01",
        tags=[" Money ", "money", "Q1"],
        post_to_chat=True,
        description=" An order was paid. ",
        owner=tenant.user_id,
        verified=True,
        id="x",
        is_action=True,
    )

    now = tenant.server.clock.now().isoformat().replace("+00:00", "Z")
    assert changed == before | {
        "name": "bought",
        "created_at": "2019-12-31T23:00:00Z",
        "last_seen_at": "2021-01-01T00:00:00Z",
        "last_updated_at": now,
        "tags": ["money", "q1"],
        "post_to_chat": True,
        "description": "An order was paid.",
        "owner": tenant.owner,
        "verified": True,
        "verified_at": now,
        "verified_by": tenant.owner,
        "updated_at": now,
        "updated_by": tenant.owner,
    }
    assert await tenant.get(f"/event_definitions/{before['id']}/") == changed


async def test_tags_stay_unless_a_list_is_given(tenant: Tenant) -> None:
    await capture(tenant, "paid")
    paid = await definition(tenant, "paid")
    await change(tenant, paid, tags=["a"])

    given: list[Json] = [{}, {"tags": None}, {"post_to_chat": True}, {"tags": []}]
    returned = [(await change(tenant, paid, **values))["tags"] for values in given]

    assert returned == [["a"], ["a"], ["a"], []]


def wrong(code: str, detail: str, attr: str) -> Json:
    return error("validation_error", code, detail, attr)


WRONG_DATE = (
    "Datetime has wrong format. Use one of these formats instead: "
    "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."
)
REFUSED: dict[str, tuple[Json, Json]] = {
    "blank name": ({"name": " "}, wrong("blank", "This field may not be blank.", "name")),
    "no name": ({"name": None}, wrong("null", "This field may not be null.", "name")),
    "long name": (
        {"name": "x" * 401},
        wrong("max_length", "Ensure this field has no more than 400 characters.", "name"),
    ),
    "another's name": (
        {"name": "taken"},
        wrong("unique", "There is already an event definition with this name.", "name"),
    ),
    "tags of another kind": (
        {"tags": "a"},
        wrong("not_a_list", 'Expected a list of items but got type "str".', "tags"),
    ),
    "a tag of another kind": (
        {"tags": [{}]},
        wrong("invalid_input", "Not a valid string.", "tags__0"),
    ),
    "created_at": ({"created_at": "soon"}, wrong("invalid_input", WRONG_DATE, "created_at")),
    "last_seen_at": ({"last_seen_at": 5}, wrong("invalid_input", WRONG_DATE, "last_seen_at")),
    "long description": (
        {"description": "x" * 1_001},
        wrong("max_length", "Ensure this field has no more than 1000 characters.", "description"),
    ),
    "an owner that is none": (
        {"owner": "ann"},
        wrong("invalid_input", "Must be the id of a member of the organization, or null.", "owner"),
    ),
    "a stranger as owner": (
        {"owner": 987_654_321},
        wrong(
            "does_not_exist",
            'Invalid pk "987654321" - object does not exist. Use the id of a member of the '
            "organization, or null.",
            "owner",
        ),
    ),
    "both marks": (
        {"hidden": True, "verified": True},
        wrong("invalid_input", "hidden and verified cannot both be set.", "verified"),
    ),
    "post_to_chat": (
        {"post_to_chat": "maybe"},
        wrong("invalid_input", "Must be a valid boolean.", "post_to_chat"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_a_change_that_makes_no_sense_is_refused(
    tenant: Tenant, name: str, method: str
) -> None:
    values, expected = REFUSED[name]
    await capture(tenant, "paid", "taken")
    paid = await definition(tenant, "paid")

    answer = await tenant.api.request(
        method, f"/event_definitions/{paid['id']}/", json={"name": "paid"} | values
    )

    assert (answer.status_code, answer.json()) == (400, expected)
    assert await definition(tenant, "paid") == paid


async def test_put_asks_for_the_name(tenant: Tenant) -> None:
    await capture(tenant, "paid")
    paid = await definition(tenant, "paid")
    path = f"/event_definitions/{paid['id']}/"

    nameless = await tenant.api.put(path, json={"tags": ["a"]})
    named = await tenant.api.put(path, json={"name": "paid", "tags": ["a"]})

    assert nameless.json() == wrong("required", "This field is required.", "name")
    assert (named.status_code, named.json()["tags"]) == (200, ["a"])


async def test_a_renamed_definition_leaves_its_old_name_to_a_new_one(tenant: Tenant) -> None:
    await capture(tenant, "paid")
    renamed = await change(tenant, await definition(tenant, "paid"), name="bought")

    await capture(tenant, "paid")

    assert await names(tenant, ordering="name") == ["bought", "paid"]
    assert (await definition(tenant, "paid"))["id"] != renamed["id"]


async def test_a_deleted_definition_is_gone_until_the_next_event(tenant: Tenant) -> None:
    await capture(tenant, "paid")
    paid = await definition(tenant, "paid")
    path = f"/event_definitions/{paid['id']}/"

    first, second = await tenant.api.delete(path), await tenant.api.delete(path)
    gone = await tenant.api.get(path)
    left = await names(tenant)
    await capture(tenant, "paid")

    not_found = error("invalid_request", "not_found", "Not found.")
    assert (first.status_code, first.content) == (204, b"")
    assert (second.status_code, second.json()) == (404, not_found)
    assert (gone.status_code, left) == (404, [])
    assert (await definition(tenant, "paid"))["id"] != paid["id"]
    assert len(await tenant.events()) == 2


async def test_a_definition_is_not_made_by_hand(tenant: Tenant) -> None:
    answer = await tenant.api.post("/event_definitions/", json={"name": "x"})

    assert answer.status_code == 405
    assert answer.json() == error(
        "invalid_request", "method_not_allowed", 'Method "POST" not allowed.'
    )


CALLS = [
    *(("GET", part) for part in ("", "marks/", "volume/", "activity/")),
    *(("PATCH", part) for part in ("", "marks/")),
    ("PUT", ""),
    ("DELETE", ""),
]


@pytest.mark.parametrize(("method", "part"), CALLS)
async def test_definitions_of_other_projects_are_not_found(
    tenant: Tenant, method: str, part: str
) -> None:
    await capture(tenant, "paid")
    paid = await definition(tenant, "paid")

    async with open_tenant(tenant.server, tenant.project_id + 7_000_001) as neighbour:
        for definition_id in (paid["id"], str(uuid4())):
            path = f"/event_definitions/{definition_id}/{part}"
            sent = {"hidden": True} if part == "marks/" else {"name": "x"}
            body = None if method in {"GET", "DELETE"} else sent
            answer = await neighbour.api.request(method, path, json=body)
            assert answer.status_code == 404
            assert answer.json() == error("invalid_request", "not_found", "Not found.")

    assert await definition(tenant, "paid") == paid


async def test_changes_and_deletions_are_reported(tenant: Tenant) -> None:
    await capture(tenant, "paid")
    paid = await definition(tenant, "paid")
    path = f"/event_definitions/{paid['id']}"

    await change(tenant, paid, name="bought", tags=["a"])
    await change(tenant, paid, name="bought", tags=["A "])
    await tenant.api.patch(f"{path}/marks/", json={"verified": True})
    reported = (await tenant.get(f"{path}/activity/"))["results"]
    await tenant.api.delete(f"{path}/")
    deleted = (await tenant.get("/activity_log/", scope="EventDefinition"))["results"][0]

    fields = [
        [
            (field_change["field"], field_change["before"], field_change["after"])
            for field_change in entry["detail"]["changes"]
        ]
        for entry in reported
    ]
    assert fields == [
        [("verified", False, True)],
        [("name", "paid", "bought"), ("tags", [], ["a"])],
    ]
    assert {entry["detail"]["name"] for entry in reported} == {"bought"}
    assert (deleted["activity"], deleted["detail"]["name"]) == ("deleted", "bought")


async def test_each_mark_takes_the_place_of_the_other(tenant: Tenant) -> None:
    await capture(tenant, "noise", "paid")
    noise, paid = await definition(tenant, "noise"), await definition(tenant, "paid")
    marks = f"/event_definitions/{noise['id']}/marks/"

    before = await tenant.get(marks)
    hidden = (await tenant.api.patch(marks, json={"hidden": True})).json()
    both = await tenant.api.patch(marks, json={"hidden": True, "verified": True})
    after = await tenant.get(marks)
    verified = await change(tenant, noise, verified=True)
    again = await change(tenant, noise, hidden=True)

    assert before == {"hidden": False, "verified": False}
    assert hidden == after == {"hidden": True, "verified": False}
    assert (both.status_code, both.json()) == (
        400,
        wrong("invalid_input", "hidden and verified cannot both be set.", "verified"),
    )
    assert (verified["hidden"], verified["verified_by"]) == (False, tenant.owner)
    assert (again["verified"], again["verified_at"], again["verified_by"]) == (False, None, None)
    assert await definition(tenant, "paid") == paid


async def test_lists_find_definitions_by_their_details(tenant: Tenant) -> None:
    await capture(tenant, "noise", "paid", "seen")
    noise, paid = await definition(tenant, "noise"), await definition(tenant, "paid")
    await change(tenant, noise, hidden=True, tags=['say "a"', "b,"])
    await change(tenant, paid, verified=True, owner=tenant.user_id, tags=["a", "money"])
    expected: dict[str, list[str]] = {
        "hidden=false": ["paid", "seen"],
        "hidden=true": ["noise"],
        "exclude_hidden=true": ["paid", "seen"],
        "exclude_hidden=false": ["noise", "paid", "seen"],
        "verified=true": ["paid"],
        "verified=false": ["noise", "seen"],
        f"owner={tenant.user_id}": ["paid"],
        f"owner={tenant.user_id + 1}": [],
        'tags=["A"]': ["paid"],
        'tags=["b,"]': ["noise"],
        'tags=["b", "%"]': [],
        'tags=["money", "b,"]': ["noise", "paid"],
        "tags=[]": ["noise", "paid", "seen"],
        'tags=["a"]&verified=false': [],
    }

    found = {
        query: await names(tenant, **dict(part.split("=", 1) for part in query.split("&")))
        for query in expected
    }
    refused = [
        (await tenant.api.get("/event_definitions/", params=query)).json()["attr"]
        for query in (
            {"hidden": "true", "exclude_hidden": "true"},
            {"tags": "a"},
            {"owner": "ann"},
        )
    ]

    assert found == expected
    assert refused == ["exclude_hidden", "tags", "owner"]


async def test_an_owner_who_has_left_stays_until_another_is_set(tenant: Tenant) -> None:
    records, organization_id = tenant.server.records, tenant.organization_id
    ann = await add_member(records, f"ann-{uuid4().hex}", organization_id=organization_id)
    await capture(tenant, "paid")
    paid = await change(tenant, await definition(tenant, "paid"), owner=ann.user_id)
    async with records.write() as connection:
        await connection.execute(delete(memberships).where(memberships.c.user_id == ann.user_id))

    tagged = await change(tenant, paid, tags=["a"])
    refused = await tenant.api.patch(
        f"/event_definitions/{paid['id']}/", json={"owner": ann.user_id}
    )
    without = await change(tenant, paid, owner=None)

    assert paid["owner"]["id"] == ann.user_id
    assert tagged["owner"] == paid["owner"]
    assert refused.json()["code"] == "does_not_exist"
    assert without["owner"] is None


async def test_volume_counts_the_days_of_the_project(tenant: Tenant) -> None:
    """Auckland is 13 hours ahead: its day begins at 11:00 UTC."""
    zone = {"timezone": "Pacific/Auckland"}
    changed = await tenant.api.patch(
        f"http://fanion.test/api/projects/{tenant.project_id}/", json=zone
    )
    now = tenant.server.clock.now()
    today = datetime.fromisoformat(f"{now:%Y-%m-%d}T11:00+00:00")
    if now < today:
        today -= timedelta(days=1)
    times = {
        "the first moment of today": today,
        "the last one of yesterday": today - timedelta(microseconds=1),
        "the first one of the 30 days": today - timedelta(days=29),
        "too early": today - timedelta(days=29, microseconds=1),
    }

    await tenant.capture(
        *(
            {"event": "paid", "distinct_id": "u", "uuid": str(uuid4()), "timestamp": f"{time}"}
            for time in times.values()
        ),
        {"event": "other", "distinct_id": "u"},
    )
    paid = await definition(tenant, "paid")
    volume = await tenant.get(f"/event_definitions/{paid['id']}/volume/")

    counts = [day["count"] for day in volume["days"]]
    assert changed.status_code == 200
    assert (volume["timezone"], volume["total"]) == ("Pacific/Auckland", 3)
    assert counts == [1, *[0] * 27, 1, 1]
    assert volume["days"][-1]["day"] == f"{today + timedelta(hours=13):%Y-%m-%d}"


async def test_volumes_have_the_days_of_all_events_the_most_frequent_first(tenant: Tenant) -> None:
    now = tenant.server.clock.now()
    times = {"paid": [0, 0, 3], "left": [29], "gone": [30], "$pageview": [1, 1, 1, 2]}

    await tenant.capture(
        *(
            {"event": name, "distinct_id": "u", "timestamp": f"{now - timedelta(days=days)}"}
            for name, ages in times.items()
            for days in ages
        )
    )
    volumes = await tenant.get("/event_definitions/volumes/")

    by_event = {event_volume["event"]: event_volume for event_volume in volumes["results"]}
    assert list(by_event) == ["$pageview", "paid", "left"]
    assert [event_volume["total"] for event_volume in volumes["results"]] == [4, 3, 1]
    assert by_event["paid"]["counts"] == [*[0] * 26, 1, 0, 0, 2]
    assert by_event["left"]["counts"] == [1, *[0] * 29]
    assert volumes["timezone"] == "UTC"
    assert volumes["days"][0] == f"{now - timedelta(days=29):%Y-%m-%d}"
    assert (len(volumes["days"]), volumes["days"][-1]) == (30, f"{now:%Y-%m-%d}")


async def test_volumes_are_those_of_one_project(tenant: Tenant) -> None:
    await capture(tenant, "paid")

    async with open_tenant(tenant.server, tenant.project_id + 8_000_002) as neighbour:
        volumes = await neighbour.get("/event_definitions/volumes/")

    assert volumes["results"] == []


async def test_volumes_say_so_when_events_cannot_be_read(tenant: Tenant) -> None:
    tenant.server.events.is_down = True
    answer = await tenant.api.get("/event_definitions/volumes/")
    tenant.server.events.is_down = False

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


async def test_volume_says_so_when_events_cannot_be_read(tenant: Tenant) -> None:
    await capture(tenant, "paid")
    paid = await definition(tenant, "paid")

    tenant.server.events.is_down = True
    answer = await tenant.api.get(f"/event_definitions/{paid['id']}/volume/")
    tenant.server.events.is_down = False

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


SCOPES = {
    ("GET", ""): "event_definition:read",
    ("PATCH", ""): "event_definition:write",
    ("DELETE", ""): "event_definition:write",
    ("PATCH", "marks/"): "event_definition:write",
    ("GET", "volume/"): "event_definition:read",
    ("GET", "activity/"): "activity_log:read",
}


@pytest.mark.parametrize(("method", "part"), SCOPES)
async def test_keys_need_the_scope(tenant: Tenant, method: str, part: str) -> None:
    await capture(tenant, "paid")
    paid = await definition(tenant, "paid")
    path = f"/api/projects/{tenant.project_id}/event_definitions/{paid['id']}/{part}"
    suffix = uuid4().hex
    records = tenant.server.records
    other = await add_key(records, tenant.user_id, f"phx_other{suffix}", ["cohort:write"])
    right = await add_key(records, tenant.user_id, f"phx_right{suffix}", [SCOPES[method, part]])

    async with tenant.server.client(other) as refused, tenant.server.client(right) as allowed:
        no = await refused.request(method, path)
        yes = await allowed.request(method, path)

    assert (no.status_code, no.json()["code"]) == (403, "permission_denied")
    assert yes.status_code in {200, 204}
