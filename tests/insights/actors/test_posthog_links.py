"""The addresses of persons, with all that PostHog's interface and server write into them."""

from typing import Any

import pytest

from tests.support.actors_cohorts import event_of, event_series, members_behind, post_cohort
from tests.support.application import Tenant, error

# The fields that the interface adds to every question.
COMMON = {
    "events": event_series("seen", math="total", name="seen", order=0),
    "interval": "day",
    "properties": "[]",
    "filter_test_accounts": "false",
    "smoothing_intervals": "1",
    "entity_id": "seen",
    "entity_type": "events",
    "entity_math": "total",
    "entity_order": "0",
    "label": "seen - Chrome",
    "cache_invalidation_key": "Xy12AbCd",
    "is_simplified": "true",
    "include_recordings": "true",
    "session_id": "0190",
}
LINKS: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "a point of a trend": (
        "trends",
        {
            "insight": "TRENDS",
            "display": "ActionsLineGraph",
            "date_from": "2024-02-28",
            "date_to": "2024-02-28T23:59:59",
        },
        ["ann", "bob"],
    ),
    "a number of stickiness": (
        "stickiness",
        {
            "insight": "STICKINESS",
            "shown_as": "Stickiness",
            "date_from": "2024-02-26",
            "date_to": "2024-03-01",
            "stickiness_days": "2",
        },
        ["ann"],
    ),
    "a day of a life cycle": (
        "lifecycle",
        {
            "insight": "LIFECYCLE",
            "shown_as": "Lifecycle",
            "date_from": "2024-02-26",
            "date_to": "2024-03-01",
            "target_date": "2024-02-28",
            "lifecycle_type": "new",
        },
        ["ann", "bob"],
    ),
}


async def visits(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-28T10:00"),
        event_of("ann", "02-29T10:00"),
        event_of("bob", "02-28T10:00"),
    )


@pytest.mark.parametrize("name", LINKS)
async def test_a_link_lists_the_persons_and_makes_a_cohort_of_them(
    tenant: Tenant, name: str
) -> None:
    path, place, expected = LINKS[name]
    link = {**COMMON, **place}
    await visits(tenant)

    listed: Any = await tenant.get(f"/persons/{path}/", **link, include_total="true")

    people = [person for page in listed["results"] for person in page["people"]]
    assert sorted(person["distinct_ids"][0] for person in people) == expected
    assert await members_behind(tenant, **link) == expected


async def test_a_cohort_of_a_part_of_the_persons_is_refused(tenant: Tenant) -> None:
    answer = await post_cohort(
        tenant, {"is_static": True}, insight="TRENDS", **COMMON, search="ann"
    )

    detail = "A cohort contains all actors behind a number. Leave it out."
    assert (answer.status_code, answer.json()) == (
        400,
        error("validation_error", "invalid_input", detail, "search"),
    )


async def test_a_misspelt_name_of_a_link_is_refused(tenant: Tenant) -> None:
    answer = await post_cohort(
        tenant, {"is_static": True}, insight="TRENDS", **COMMON, lable="seen"
    )

    assert (answer.status_code, answer.json()["attr"]) == (400, "lable")
    assert answer.json()["detail"] == 'Unknown query parameter "lable". Did you mean "label"?'
