"""Funnels with an entry for each cohort, and cohorts of the persons behind a number."""

import json
from typing import Any

import pytest

from tests.support.application import Json, Tenant
from tests.support.cohorts import cohort_members, create_cohort, event, person, person_is

STEPS = [{"id": "seen"}, {"id": "opened"}]


@pytest.fixture
async def shop(tenant: Tenant) -> Tenant:
    """Capture events: ann and cid opened, cid after something else; bob did not."""
    await tenant.capture(
        person("ann", "seen", 3, plan="pro"),
        event("ann", "opened", 2),
        person("bob", "seen", 3, plan="free"),
        person("cid", "seen", 3, plan="pro"),
        event("cid", "asked", 2.5),
        event("cid", "opened", 2),
    )
    return tenant


async def test_each_cohort_has_a_funnel(shop: Tenant) -> None:
    pro = await create_cohort(shop, name="Pro", groups=[{"properties": [person_is("plan", "pro")]}])
    await shop.server.calculated()

    answer = await shop.api.post(
        "/insights/funnel/",
        json={
            "insight": "FUNNELS",
            "events": STEPS,
            "breakdown_type": "cohort",
            "breakdown": [pro["id"], "all"],
        },
    )

    assert answer.status_code == 200, answer.text
    result = [
        (steps[0]["breakdown"], steps[0]["breakdown_value"], [step["count"] for step in steps])
        for steps in answer.json()["result"]
    ]
    assert result == [("all users", "all", [3, 2]), ("Pro", pro["id"], [2, 2])]

    steps = answer.json()["result"][1]
    people = (await shop.api.get(_below(shop, steps[1]["converted_people_url"]))).json()
    names = {person["distinct_ids"][0] for person in people["results"][0]["people"]}
    assert names == {"ann", "cid"}


@pytest.mark.parametrize("insight", ["FUNNELS", "RETENTION"])
async def test_entries_have_the_names_of_cohorts_even_of_deleted_ones(
    shop: Tenant, insight: str
) -> None:
    plans = [{"properties": [person_is("plan", "pro")]}]
    pro, gone = [await create_cohort(shop, name=name, groups=plans) for name in ("Pro", "Gone")]
    await shop.server.calculated()
    kinds: dict[str, Json] = {
        "FUNNELS": {"insight": insight, "events": STEPS, "funnel_viz_type": "trends"},
        "RETENTION": {
            "insight": insight,
            "target_entity": STEPS[0],
            "returning_entity": STEPS[1],
            "total_intervals": 4,
        },
    }
    named = {"breakdown_type": "cohort", "breakdown": [pro["id"], gone["id"], "all"]}
    saved = await shop.api.post(
        "/insights/", json={"name": "x", "filters": {**kinds[insight], **named}}
    )
    assert saved.status_code == 201, saved.text
    await shop.server.calculated()
    refresh = f"/insights/{saved.json()['id']}/?refresh=true"
    before = (await shop.api.get(refresh)).json()["result"]
    deleted = await shop.api.patch(f"/cohorts/{gone['id']}/", json={"deleted": True})
    assert deleted.status_code == 200, deleted.text

    after = (await shop.api.get(refresh)).json()["result"]

    labels = {entry["breakdown_value"]: entry["breakdown"] for entry in before}
    assert labels == {pro["id"]: "Pro", gone["id"]: "Gone", "all": "all users"}
    assert {entry["breakdown_value"]: entry["breakdown"] for entry in after}.items() <= (
        labels.items()
    )


def _below(tenant: Tenant, url: str) -> str:
    return url.removeprefix(f"/api/projects/{tenant.project_id}")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({"funnel_order_type": "strict", "funnel_step": 2}, ["ann"]),
        ({"funnel_order_type": "strict", "funnel_step": -2}, ["bob", "cid"]),
        (
            {
                "exclusions": [{"id": "asked", "funnel_from_step": 0, "funnel_to_step": 1}],
                "funnel_step": 1,
            },
            ["ann", "bob"],
        ),
        (
            {
                "funnel_window_interval": 1,
                "funnel_window_interval_unit": "hour",
                "funnel_step": 2,
            },
            [],
        ),
    ],
)
async def test_those_behind_a_number_become_a_cohort(
    shop: Tenant, question: dict[str, Any], expected: list[str]
) -> None:
    sent = {"insight": "FUNNELS", "events": STEPS, **question}
    texts = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in sent.items()
    }

    answer = await shop.api.post("/cohorts/", params=texts, json={"is_static": True})

    assert answer.status_code == 201, answer.text
    await shop.server.calculated()
    cohort: Json = answer.json()
    assert await cohort_members(shop, cohort) == expected
