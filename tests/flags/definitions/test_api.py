"""Feature flags over HTTP: their fields, and how they are created, changed and deleted."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.events_engine import next_project
from tests.support.rich_project import NEVER_PAID

pytestmark = pytest.mark.every_engine

ON_FOR_ALL: Json = {"groups": [{"properties": [], "rollout_percentage": None}]}


def defaults(tenant: Tenant, flag_id: int, key: str) -> Json:
    """Return the fields of a flag that was created with only a key.

    Source: flags.md section 11.
    """
    return {
        "id": flag_id,
        "name": "",
        "key": key,
        "filters": ON_FOR_ALL,
        "deleted": False,
        "active": True,
        "created_by": tenant.owner,
        "created_at": "2024-03-01T12:00:00Z",
        "is_simple_flag": True,
        "rollout_percentage": None,
        "ensure_experience_continuity": False,
        "experiment_set": [],
        "surveys": [],
        "features": [],
        "rollback_conditions": None,
        "performed_rollback": None,
        "can_edit": True,
        "tags": [],
        "usage_dashboard": None,
        "analytics_dashboards": [],
        "has_enriched_analytics": False,
    }


async def test_a_new_flag_has_every_field_with_its_default(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="omega")

    expected = defaults(tenant, flag["id"], "omega") | {"usage_dashboard": flag["usage_dashboard"]}
    assert flag == expected
    assert await tenant.get(f"/feature_flags/{flag['id']}/") == flag
    assert (await tenant.get("/feature_flags/"))["results"] == [flag]


async def test_every_writable_field_is_stored(tenant: Tenant) -> None:
    filters = {
        "groups": [{"properties": [], "rollout_percentage": 12.5, "sort_key": "kept"}],
        "multivariate": {"variants": [{"key": "a", "rollout_percentage": 100}]},
        "payloads": {"a": {"b": [1]}},
        "feature_enrollment": False,
    }
    sent = {
        "key": "all_fields",
        "name": "What it is for",
        "filters": filters,
        "active": False,
        "created_at": "2020-02-03T04:05:06Z",
        "ensure_experience_continuity": True,
        "rollback_conditions": [NEVER_PAID],
        "performed_rollback": True,
        "has_enriched_analytics": True,
    }

    flag = await tenant.create_flag(**sent, tags=[" B ", "a", "b"], id=999, can_edit=False)

    returned = {"is_simple_flag": True, "rollout_percentage": 12.5, "tags": ["a", "b"]}
    expected = defaults(tenant, flag["id"], "all_fields") | sent | returned
    assert {**flag, "tags": sorted(flag["tags"])} == expected | {
        "usage_dashboard": flag["usage_dashboard"]
    }
    assert flag["id"] != 999


NO_GROUPS = error(
    "validation_error",
    "invalid_input",
    "Filters are not valid (groups are missing)",
    "filters",
)
CHANGES: dict[str, tuple[Json, Json]] = {
    "name": ({"name": "n"}, {"name": "n"}),
    "key": ({"key": "other"}, {"key": "other"}),
    "filters": (
        {"filters": {"groups": [{"rollout_percentage": 5}]}},
        {"filters": {"groups": [{"rollout_percentage": 5}]}, "rollout_percentage": 5},
    ),
    "filters that match no person": (
        {"filters": {"groups": []}},
        {"filters": {"groups": []}, "is_simple_flag": False},
    ),
    "deleted": ({"deleted": True}, {"deleted": True}),
    "inactive": ({"active": False}, {"active": False}),
    "active": ({"active": True}, {"performed_rollback": False}),
    "active, and rolled back": (
        {"active": True, "performed_rollback": True},
        {"performed_rollback": True},
    ),
    "active, and rolled back or not": (
        {"active": True, "performed_rollback": None},
        {"performed_rollback": None},
    ),
    "created_at": (
        {"created_at": "2021-01-02T03:04:05+01:00"},
        {"created_at": "2021-01-02T02:04:05Z"},
    ),
    "continuity": ({"ensure_experience_continuity": True}, {"ensure_experience_continuity": True}),
    "no continuity": (
        {"ensure_experience_continuity": None},
        {"ensure_experience_continuity": None},
    ),
    "rollback_conditions": (
        {"rollback_conditions": NEVER_PAID},
        {"rollback_conditions": NEVER_PAID},
    ),
    "performed_rollback": ({"performed_rollback": True}, {"performed_rollback": True}),
    "tags": ({"tags": ["X"]}, {"tags": ["x"]}),
    "enriched": ({"has_enriched_analytics": True}, {"has_enriched_analytics": True}),
    "nothing": ({}, {}),
    "fields that cannot be written": (
        {"id": 7, "can_edit": False, "surveys": [1], "creation_context": "x"},
        {},
    ),
    "what the server maintains, whatever it says": (
        {"is_simple_flag": "no", "created_by": 5, "experiment_set": None, "usage_dashboard": "x"},
        {},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_touches_what_it_names(tenant: Tenant, name: str) -> None:
    sent, changed = CHANGES[name]
    flag = await tenant.create_flag(key="omega")

    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=sent)

    assert (answer.status_code, answer.json()) == (200, flag | changed)
    assert await tenant.get(f"/feature_flags/{flag['id']}/") == flag | changed


NO_FILTERS: list[tuple[Any, Json]] = [
    (None, error("validation_error", "null", "This field may not be null.", "filters")),
    ({}, NO_GROUPS),
    ({"payloads": {}}, NO_GROUPS),
    ({"properties": []}, NO_GROUPS),
    ({"multivariate": None}, NO_GROUPS),
]


@pytest.mark.parametrize(("filters", "body"), NO_FILTERS)
async def test_filters_without_groups_are_refused(tenant: Tenant, filters: Any, body: Json) -> None:
    """Filters without groups would change nothing."""
    flag = await tenant.create_flag(key="omega", filters={"groups": [{"rollout_percentage": 5}]})

    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"filters": filters})

    assert (answer.status_code, answer.json()) == (400, body)
    assert await tenant.get(f"/feature_flags/{flag['id']}/") == flag


async def test_a_form_changes_a_flag_too(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="omega")

    answer = await tenant.api.patch(
        f"/feature_flags/{flag['id']}/", data={"active": "False", "name": "x"}
    )

    assert answer.json() == flag | {"active": False, "name": "x"}


async def test_delete_is_refused_with_an_empty_body_and_changes_nothing(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="omega")

    answer = await tenant.api.delete(f"/feature_flags/{flag['id']}/")

    assert (answer.status_code, answer.content) == (405, b"")
    assert await tenant.get(f"/feature_flags/{flag['id']}/") == flag


async def test_a_deleted_flag_is_stored_and_can_be_restored(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="omega")
    path = f"/feature_flags/{flag['id']}/"

    deleted = (await tenant.api.patch(path, json={"deleted": True})).json()
    listed = await tenant.get("/feature_flags/")
    retrieved = await tenant.get(path)
    decided = await tenant.decide("u")
    await tenant.api.patch(path, json={"deleted": False})

    assert deleted == retrieved == flag | {"deleted": True}
    assert (listed["count"], listed["results"]) == (0, [])
    assert decided["featureFlags"] == {}
    assert (await tenant.get("/feature_flags/"))["results"] == [flag]


async def test_the_key_of_a_deleted_flag_is_free_again(tenant: Tenant) -> None:
    old = await tenant.create_flag(key="omega")
    await tenant.api.patch(f"/feature_flags/{old['id']}/", json={"deleted": True})

    new = await tenant.create_flag(key="omega")

    assert new["id"] != old["id"]
    assert (await tenant.api.get(f"/feature_flags/{old['id']}/")).status_code == 404


async def test_flags_are_listed_in_pages_the_newest_first(tenant: Tenant) -> None:
    for n in range(5):
        await tenant.create_flag(key=f"f{n}", active=n != 3)
        tenant.server.clock.move(minutes=1)

    whole = await tenant.get("/feature_flags/")
    first = await tenant.get("/feature_flags/", limit=2)
    second = (await tenant.api.get(first["next"])).json()
    last = (await tenant.api.get(second["next"])).json()

    pages = [[flag["key"] for flag in page["results"]] for page in (whole, first, second, last)]
    assert pages == [["f4", "f3", "f2", "f1", "f0"], ["f4", "f3"], ["f2", "f1"], ["f0"]]
    base = f"http://fanion.test/api/projects/{tenant.project_id}/feature_flags/"
    assert [(p["count"], p["next"], p["previous"]) for p in (whole, first, second, last)] == [
        (5, None, None),
        (5, f"{base}?limit=2&offset=2", None),
        (5, f"{base}?limit=2&offset=4", f"{base}?limit=2"),
        (5, None, f"{base}?limit=2&offset=2"),
    ]


@pytest.mark.parametrize("method", ["GET", "PATCH"])
@pytest.mark.parametrize("flag_id", ["999999999", "x", "0", "-1", "99999999999999999999999"])
async def test_an_unknown_flag_is_not_found(tenant: Tenant, method: str, flag_id: str) -> None:
    answer = await tenant.api.request(method, f"/feature_flags/{flag_id}/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")


async def test_every_path_is_served_without_its_last_slash(tenant: Tenant) -> None:
    created = await tenant.api.post("/feature_flags", json={"key": "omega"})

    flag = created.json()
    assert created.status_code == 201
    assert await tenant.get("/feature_flags") == await tenant.get("/feature_flags/")
    assert await tenant.get(f"/feature_flags/{flag['id']}") == flag


async def test_a_flag_saved_with_its_own_key_is_fine(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="omega")

    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"key": "omega"})

    assert (answer.status_code, answer.json()) == (200, flag)


async def test_another_project_may_use_the_same_key(tenant: Tenant) -> None:
    await tenant.create_flag(key="omega")

    async with open_tenant(tenant.server, next_project()) as elsewhere:
        created = await elsewhere.create_flag(key="omega")
        listed = (await elsewhere.get("/feature_flags/"))["results"]

    assert listed == [created]
    assert (await tenant.get("/feature_flags/"))["count"] == 1
