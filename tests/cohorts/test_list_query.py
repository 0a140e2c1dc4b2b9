"""Filters of the list of cohorts."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    all_conditions,
    change_cohort,
    create_cohort,
    in_cohort,
    performed,
    person_is,
)

pytestmark = pytest.mark.every_engine


async def listed(tenant: Tenant, **query: Any) -> list[str]:
    return [cohort["name"] for cohort in (await tenant.get("/cohorts/", **query))["results"]]


async def listed_cohorts(tenant: Tenant) -> None:
    """Create cohorts, of which the newest is "Static Ünits"."""
    inner = await create_cohort(tenant, name="did", filters=all_conditions(performed("opened")))
    outer = await create_cohort(
        tenant, name="around did", filters=all_conditions(in_cohort(inner["id"]))
    )
    await create_cohort(
        tenant, name="around both", filters=all_conditions(in_cohort(str(outer["id"])))
    )
    await create_cohort(tenant, name="old did", groups=[{"event_id": "opened"}])
    await create_cohort(tenant, name="plan 100%", filters=all_conditions(person_is("plan", "pro")))
    gone = await create_cohort(tenant, name="gone", is_static=True)
    await change_cohort(tenant, gone, deleted=True)
    await create_cohort(tenant, is_static=True, name="Static Ünits")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"type": "static"}, ["Static Ünits"]),
        ({"type": "dynamic", "search": "AROUND"}, ["around both", "around did"]),
        ({"search": "üNITS"}, ["Static Ünits"]),
        ({"search": "0%"}, ["plan 100%"]),
        ({"search": "_"}, []),
        ({"hide_behavioral_cohorts": "true"}, ["Static Ünits", "plan 100%"]),
        ({"hide_behavioral_cohorts": "true", "type": "static"}, ["Static Ünits"]),
        ({"search": " did ", "limit": 2}, ["old did", "around did"]),
        ({"search": "did", "limit": 2, "offset": 2}, ["did"]),
        (
            {"search": "", "type": "", "hide_behavioral_cohorts": "false", "limit": 1},
            ["Static Ünits"],
        ),
    ],
)
async def test_the_list_is_filtered(tenant: Tenant, query: Json, names: list[str]) -> None:
    await listed_cohorts(tenant)

    assert await listed(tenant, **query) == names


async def test_total_and_links_are_those_of_the_filtered_list(tenant: Tenant) -> None:
    await listed_cohorts(tenant)

    page = await tenant.get("/cohorts/", search="did", limit=1)

    assert page["count"] == 3
    assert "search=did" in page["next"]
    following = (await tenant.api.get(page["next"])).json()
    assert [cohort["name"] for cohort in following["results"]] == ["around did"]


async def test_cohorts_are_filtered_by_their_creator(tenant: Tenant) -> None:
    mine = await create_cohort(tenant, name="mine")
    creator = mine["created_by"]["id"]

    assert await listed(tenant, created_by_id=creator) == ["mine"]
    assert await listed(tenant, created_by_id=creator + 1_000_000) == []


async def test_basic_leaves_out_the_criteria(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, name="c", filters=all_conditions(person_is("plan", "pro")))

    [basic] = (await tenant.get("/cohorts/", basic="true"))["results"]
    [whole] = (await tenant.get("/cohorts/", basic="false"))["results"]

    assert whole == cohort
    assert basic == {n: cohort[n] for n in cohort if n not in ("filters", "groups")}


@pytest.mark.parametrize(
    ("query", "attr"),
    [
        ({"created_by_id": "me"}, "created_by_id"),
        ({"basic": "perhaps"}, "basic"),
        ({"hide_behavioral_cohorts": "x"}, "hide_behavioral_cohorts"),
    ],
)
async def test_an_invalid_filter_of_the_list_is_refused(
    tenant: Tenant, query: Json, attr: str
) -> None:
    answer = await tenant.api.get("/cohorts/", params=query)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text


async def test_an_unknown_type_is_refused_with_the_known_ones(tenant: Tenant) -> None:
    answer = await tenant.api.get("/cohorts/", params={"type": "behavioral"})

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error",
        "invalid_choice",
        '"behavioral" is not a valid choice. Allowed are: dynamic, static.',
        "type",
    )
