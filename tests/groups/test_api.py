"""Groups and their types, as the API returns them."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error

pytestmark = pytest.mark.every_engine


def identify(group_type: str, key: str, **properties: Any) -> Json:
    return {
        "event": "$groupidentify",
        "distinct_id": f"${group_type}_{key}",
        "timestamp": "2024-02-01T00:00:00Z",
        "properties": {"$group_type": group_type, "$group_key": key, "$group_set": properties},
    }


@pytest.fixture
async def companies(tenant: Tenant) -> Tenant:
    await tenant.capture(
        identify("company", "acme", name="Acme Größe", seats=5),
        identify("team", "red", name="Red"),
    )
    await tenant.capture({**identify("company", "Zeta_1"), "timestamp": "2024-02-02T00:00:00Z"})
    return tenant


async def test_types_are_listed_by_index(companies: Tenant) -> None:
    assert await companies.get("/groups_types/") == [
        {"group_type": name, "group_type_index": index, "name_singular": None, "name_plural": None}
        for index, name in enumerate(["company", "team"])
    ]


async def test_a_project_without_groups_has_no_types(tenant: Tenant) -> None:
    assert await tenant.get("/groups_types/") == []


async def test_a_group_is_found_by_its_key(companies: Tenant) -> None:
    group = await companies.get("/groups/find/", group_type_index=0, group_key="acme")

    assert group == {
        "group_type_index": 0,
        "group_key": "acme",
        "group_properties": {"name": "Acme Größe", "seats": 5},
        "created_at": "2024-02-01T00:00:00Z",
    }


LISTS: dict[str, tuple[Json, list[str]]] = {
    "newest first": ({"group_type_index": 0}, ["Zeta_1", "acme"]),
    "another type": ({"group_type_index": 1}, ["red"]),
    "an unknown type": ({"group_type_index": 4}, []),
    "by key": ({"group_type_index": 0, "search": "ACM"}, ["acme"]),
    "by property": ({"group_type_index": 0, "search": "acme gr"}, ["acme"]),
    "percent is plain text": ({"group_type_index": 0, "search": "%"}, []),
    "underscore is plain text": ({"group_type_index": 0, "search": "a_1"}, ["Zeta_1"]),
    "a quote": ({"group_type_index": 0, "search": '"x'}, []),
    "oldest first": ({"group_type_index": 0, "order": "created_at"}, ["acme", "Zeta_1"]),
    "backwards by key": ({"group_type_index": 0, "order": "-group_key", "search": "cm"}, ["acme"]),
    "a page": ({"group_type_index": 0, "limit": 1, "offset": 1}, ["acme"]),
}


@pytest.mark.parametrize("name", LISTS)
async def test_groups_are_listed(companies: Tenant, name: str) -> None:
    query, expected = LISTS[name]

    page = await companies.get("/groups/", **query)

    assert [group["group_key"] for group in page["results"]] == expected


async def test_pages_are_linked(companies: Tenant) -> None:
    first = await companies.get("/groups/", group_type_index=0, limit=1)
    second = (await companies.api.get(first["next"])).json()

    assert (first["count"], second["next"]) == (2, None)
    assert [group["group_key"] for group in second["results"]] == ["acme"]


REFUSED: dict[str, tuple[str, Json, Json]] = {
    "no type": (
        "/groups/",
        {},
        error("validation_error", "required", "This field is required.", "group_type_index"),
    ),
    "no number": (
        "/groups/",
        {"group_type_index": "company"},
        error(
            "validation_error", "invalid_input", "A valid integer is required.", "group_type_index"
        ),
    ),
    "no order": (
        "/groups/",
        {"group_type_index": 0, "order": "name"},
        error(
            "validation_error",
            "invalid_choice",
            '"name" is not a valid choice. Allowed are: -created_at, -group_key, created_at, '
            "group_key.",
            "order",
        ),
    ),
    "no key": (
        "/groups/find/",
        {"group_type_index": 0},
        error("validation_error", "required", "This field is required.", "group_key"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_query_that_makes_no_sense_is_refused(tenant: Tenant, name: str) -> None:
    path, query, expected = REFUSED[name]

    answer = await tenant.api.get(path, params=query)

    assert (answer.status_code, answer.json()) == (400, expected)


async def test_an_unknown_group_is_not_found(companies: Tenant) -> None:
    query = {"group_type_index": "1", "group_key": "acme"}

    answer = await companies.api.get("/groups/find/", params=query)

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")
