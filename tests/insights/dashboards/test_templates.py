"""Templates of dashboards: what they make, and that it can be calculated."""

from collections import Counter

import pytest

from fanion.insights.dashboards.templates import TEMPLATES, template_of
from tests.support.application import Json, Tenant, error

COLUMNS = 12
KINDS = {
    "product": {"TrendsQuery": 4, "LifecycleQuery": 1, "RetentionQuery": 1, "StickinessQuery": 1},
    "web": {"TrendsQuery": 9, "PathsQuery": 1},
    "flag": {"TrendsQuery": 4, "RetentionQuery": 1},
}


async def create(tenant: Tenant, **sent: object) -> Json:
    answer = await tenant.api.post("/dashboards/", json=sent)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_template_makes_saved_insights_that_answer(tenant: Tenant, name: str) -> None:
    await tenant.create_flag(key="beta")
    of_flag = {"flag_key": "beta"} if name == "flag" else {}
    dashboard = await create(tenant, use_template=name, **of_flag)

    shown = await tenant.get(f"/dashboards/{dashboard['id']}/", refresh="true")

    template = template_of(name, "beta")
    assert (shown["name"], shown["description"]) == (template.name, template.description)
    insights = [tile["insight"] for tile in shown["tiles"] if tile["insight"] is not None]
    assert Counter(one["query"]["source"]["kind"] for one in insights) == KINDS[name]
    for insight in insights:
        assert insight["saved"], insight["name"]
        assert not insight["is_sample"], insight["name"]
        assert insight["result"] is not None, f"{insight['name']} cannot be calculated"
    places = [tile["layouts"]["sm"] for tile in shown["tiles"]]
    cells = [
        (column, row)
        for place in places
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)), "tiles lie on each other"
    assert {column for column, _ in cells} == set(range(COLUMNS))


async def test_the_template_of_a_flag_counts_only_that_flag(tenant: Tenant) -> None:
    await tenant.create_flag(key="beta")
    await tenant.capture(
        *(
            {
                "event": "$feature_flag_called",
                "distinct_id": who,
                "properties": {"$feature_flag": flag, "$feature_flag_response": answer},
            }
            for who, flag, answer in (
                ("ann", "beta", True),
                ("ann", "beta", True),
                ("bob", "beta", False),
                ("cem", "other", True),
            )
        )
    )
    made = await create(tenant, use_template="flag", flag_key="beta", name="Mine")

    shown = await tenant.get(f"/dashboards/{made['id']}/", refresh="true")

    results = {
        tile["insight"]["name"]: tile["insight"]["result"]
        for tile in shown["tiles"]
        if tile["insight"] is not None
    }
    persons = {one["label"]: one["aggregated_value"] for one in results["Persons by value"]}
    calls = {one["label"]: one["count"] for one in results["Calls by value and day"]}
    assert shown["name"] == "Mine"
    assert persons == {"true": 1.0, "false": 1.0}
    assert calls == {"true": 2.0, "false": 1.0}


@pytest.mark.every_engine
async def test_a_template_that_is_refused_leaves_nothing(tenant: Tenant) -> None:
    sent = {"use_template": "flag", "flag_key": "gone", "name": "n"}

    refused = await tenant.api.post("/dashboards/", json=sent)

    assert refused.json() == error(
        "validation_error", "invalid_input", 'There is no flag with the key "gone".', "flag_key"
    )
    assert (await tenant.get("/dashboards/"))["count"] == 0
    assert (await tenant.get("/insights/"))["count"] == 0
    assert (await tenant.get("/activity_log/"))["results"] == []


@pytest.mark.every_engine
async def test_the_activity_says_who_made_the_insights_of_a_template(tenant: Tenant) -> None:
    made = await create(tenant, use_template="product")

    insights = (await tenant.get("/insights/activity/", limit=20))["results"]
    [entry] = (await tenant.get(f"/dashboards/{made['id']}/activity/"))["results"]

    shown = [tile for tile in made["tiles"] if tile["insight"] is not None]
    assert [one["activity"] for one in insights] == ["created"] * len(shown)
    assert (entry["activity"], entry["user"]["email"]) == ("created", tenant.owner["email"])


async def test_the_longest_key_of_a_flag_has_a_template(tenant: Tenant) -> None:
    await tenant.create_flag(key="k" * 400)

    made = await create(tenant, use_template="flag", flag_key="k" * 400)

    assert made["name"] == f"Flag {'k' * 395}"
