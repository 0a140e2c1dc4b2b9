"""Actions over HTTP, and the insights that use them."""

from typing import Any

import pytest

from fanion.actions.model import ACTIONS_MAX, CONDITIONS_MAX, STEPS_MAX
from fanion.actions.store import ACTIONS
from tests.support.application import Json, Tenant
from tests.support.cohorts import all_conditions, create_cohort, performed

STEP: Json = {
    "event": None,
    "properties": None,
    "url": None,
    "url_matching": None,
    "text": None,
    "text_matching": None,
    "href": None,
    "href_matching": None,
    "selector": None,
    "tag_name": None,
}


async def create(tenant: Tenant, name: str = "Paid", *steps: Json) -> Json:
    body = {"name": name, "steps": list(steps) or [{"event": "paid"}]}
    answer = await tenant.api.post("/actions/", json=body)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def change(tenant: Tenant, action: Json, **fields: Any) -> Any:
    return await tenant.api.patch(f"/actions/{action['id']}/", json=fields)


@pytest.mark.every_engine
async def test_an_action_from_creation_to_restoration(tenant: Tenant) -> None:
    made = await create(tenant, "Paid", {"event": "paid", "url": "/shop"})

    changed = await change(tenant, made, **{**made, "name": "Bought", "tags": [" A ", "a"]})
    deleted = await change(tenant, made, deleted=True)
    refused = await change(tenant, made, name="Other")
    listed = (await tenant.get("/actions/"))["results"]
    trash = (await tenant.get("/actions/", deleted="true", search="BOUG"))["results"]
    restored = await change(tenant, made, deleted=False)

    assert made == {
        "id": made["id"],
        "name": "Paid",
        "description": "",
        "tags": [],
        "steps": [{**STEP, "event": "paid", "url": "/shop"}],
        "deleted": False,
        "is_action": True,
        "is_calculating": False,
        "last_calculated_at": "2024-03-01T12:00:00Z",
        "post_to_slack": False,
        "slack_message_format": "",
        "created_by": tenant.owner,
        "created_at": "2024-03-01T12:00:00Z",
        "updated_at": "2024-03-01T12:00:00Z",
    }
    assert changed.json() == {**made, "name": "Bought", "tags": ["a"]}
    assert (deleted.json()["deleted"], refused.status_code) == (True, 404)
    assert (listed, trash) == ([], [deleted.json()])
    assert restored.json() == changed.json()
    assert await tenant.get(f"/actions/{made['id']}/") == restored.json()
    entries = (await tenant.get(f"/actions/{made['id']}/activity/"))["results"]
    assert [entry["activity"] for entry in entries] == ["updated"] * 3 + ["created"]
    assert len((await tenant.get("/actions/activity/"))["results"]) == 4


@pytest.mark.every_engine
async def test_names_of_actions_are_unique_until_one_is_deleted(tenant: Tenant) -> None:
    first = await create(tenant, "Paid")
    await change(tenant, first, deleted=True)
    second = await create(tenant, "Paid")

    again = await tenant.api.post("/actions/", json={"name": "Paid", "steps": [{"event": "a"}]})
    restored = await change(tenant, first, deleted=False)
    third = await create(tenant, "Other")
    renamed = await change(tenant, third, name="Paid")

    for refused in (again, restored, renamed):
        assert (refused.status_code, refused.json()["code"]) == (400, "unique")
        assert str(second["id"]) in refused.json()["detail"]


async def test_a_change_of_an_older_version_is_refused(tenant: Tenant) -> None:
    made = await create(tenant)

    refused = await change(tenant, made, name="B", expected_updated_at="2024-02-01T00:00:00Z")
    changed = await change(tenant, made, name="B", expected_updated_at=made["updated_at"])

    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert changed.status_code == 200


@pytest.mark.parametrize(
    ("steps", "attr"),
    [
        ([], "steps"),
        ([{}], "steps__0"),
        ([{"event": "a"}, {"event": ""}], "steps__1"),
        ([{"event": "a", "colour": 1}], "steps__0__colour"),
        ([{"event": 5, "url_matching": "like"}], "steps__0__url_matching"),
        ([{"url": "(", "url_matching": "regex"}], "steps__0__url"),
        ([{"text": "(", "text_matching": "regex"}], "steps__0__text"),
        ([{"selector": "a + b"}], "steps__0__selector"),
        ([{"tag_name": "a.b"}], "steps__0__tag_name"),
        ([{"properties": [{"key": "a", "value": "b"}, 5]}], "steps__0__properties__1"),
        ([{"properties": [{"type": "cohort", "key": "id", "value": 1}]}],
         "steps__0__properties__0__type"),
        ([{"properties": [{"type": "element", "key": "text", "value": "a"}]}],
         "steps__0__properties__0"),
        ([{"properties": [{"key": "a", "operator": "like", "value": "b"}]}],
         "steps__0__properties__0__operator"),
        ([{"event": "a"}] * (STEPS_MAX + 1), "steps"),
        ([{"event": "a", "properties": [{"key": "a", "value": "b"}] * CONDITIONS_MAX}], "steps"),
    ],
)  # fmt: skip
async def test_steps_that_cannot_be_compared_are_refused(
    tenant: Tenant, steps: list[Json], attr: str
) -> None:
    answer = await tenant.api.post("/actions/", json={"name": "A", "steps": steps})

    assert answer.status_code == 400, answer.text
    assert answer.json()["attr"] == attr


async def test_a_project_has_a_limited_number_of_actions(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ACTIONS, "count_max", 2)
    assert ACTIONS_MAX > 2
    await create(tenant, "A")
    await create(tenant, "B")

    refused = await tenant.api.post("/actions/", json={"name": "C", "steps": [{"event": "a"}]})

    assert refused.status_code == 400
    assert "at most 2 actions" in refused.json()["detail"]


QUESTIONS = [
    {"filters": {"events": [{"id": "paid"}], "actions": [{"id": 0}]}},
    {"filters": {"events": [{"id": 0, "type": "actions"}], "insight": "FUNNELS"}},
    {"query": {"kind": "TrendsQuery", "series": [{"kind": "ActionsNode", "id": 0}]}},
]


@pytest.mark.parametrize("question", QUESTIONS)
async def test_an_action_of_an_insight_is_not_deleted(tenant: Tenant, question: Json) -> None:
    action = await create(tenant)
    saved = await tenant.api.post("/insights/", json=named(question, action["id"], name="Sales"))
    assert saved.status_code == 201, saved.text

    refused = await change(tenant, action, deleted=True)
    await tenant.api.patch(f"/insights/{saved.json()['id']}/", json={"deleted": True})
    deleted = await change(tenant, action, deleted=True)

    assert (refused.status_code, refused.json()["code"]) == (400, "in_use")
    assert 'insight "Sales"' in refused.json()["detail"]
    assert deleted.status_code == 200


async def test_an_action_of_a_rollback_condition_is_not_deleted(tenant: Tenant) -> None:
    action = await create(tenant)
    condition = {
        "threshold": 5,
        "threshold_metric": {"actions": [{"id": action["id"]}]},
        "threshold_type": "insight",
        "operator": "gt",
    }
    flag = await tenant.create_flag(key="checkout", rollback_conditions=[condition])

    refused = await change(tenant, action, deleted=True)
    cleared: Json = {"rollback_conditions": []}
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=cleared)
    deleted = await change(tenant, action, deleted=True)

    assert (refused.status_code, refused.json()["code"]) == (400, "in_use")
    assert 'flag "checkout"' in refused.json()["detail"]
    assert deleted.status_code == 200


@pytest.mark.parametrize("question", QUESTIONS)
async def test_an_insight_names_an_existing_action(tenant: Tenant, question: Json) -> None:
    refused = await tenant.api.post("/insights/", json=named(question, 77))

    assert (refused.status_code, refused.json()["code"]) == (400, "action_does_not_exist")
    assert refused.json()["attr"].endswith("__0__id")


async def test_an_answer_changes_with_its_action(tenant: Tenant) -> None:
    await tenant.capture(did("paid", "ann"), did("paid", "bob"), did("left", "bob"))
    action = await create(tenant, "Done", {"event": "paid"})
    query = {"kind": "TrendsQuery", "series": [{"kind": "ActionsNode", "id": action["id"]}]}

    [before] = await asked(tenant, query)
    await change(tenant, action, steps=[{"event": "paid"}, {"event": "left"}])
    [after] = await asked(tenant, query)

    assert (before["count"], after["count"]) == (2, 3)
    assert after["label"] == "Done"
    assert after["action"]["type"] == "actions"
    assert after["action"]["id"] == action["id"]


async def test_the_persons_of_an_action_are_listed(tenant: Tenant) -> None:
    await tenant.capture(did("paid", "ann"), did("left", "bob"), did("seen", "cid"))
    action = await create(tenant, "Done", {"event": "paid"}, {"event": "left"})
    query = {"kind": "TrendsQuery", "series": [{"kind": "ActionsNode", "id": action["id"]}]}

    [entry] = await asked(tenant, query)
    page = await tenant.api.get(entry["persons_urls"][-1]["url"].split("/", 4)[-1])

    assert page.status_code == 200, page.text
    people = page.json()["results"][0]["people"]
    assert sorted(who["distinct_ids"][0] for who in people) == ["ann", "bob"]


async def test_the_events_of_an_action_are_listed(tenant: Tenant) -> None:
    await tenant.capture(did("paid", "ann"), did("left", "bob"), did("seen", "cid"))
    action = await create(tenant, "Done", {"event": "paid"}, {"event": "left"})

    listed = await tenant.events(action_id=action["id"])
    of_bob = await tenant.events(action_id=action["id"], distinct_id="bob")
    refused = await tenant.api.get("/events/", params={"action_id": 77})

    assert sorted(event["event"] for event in listed) == ["left", "paid"]
    assert [event["event"] for event in of_bob] == ["left"]
    assert (refused.status_code, refused.json()["code"]) == (400, "action_does_not_exist")


async def test_a_cohort_has_the_persons_of_an_action(tenant: Tenant) -> None:
    await tenant.capture(did("paid", "ann"), did("left", "bob"), did("seen", "cid"))
    action = await create(tenant, "Done", {"event": "paid"}, {"event": "left"})
    filters = all_conditions(performed(action["id"], event_type="actions"))

    cohort = await create_cohort(tenant, name="Leavers", filters=filters)
    older = await create_cohort(tenant, name="Older", groups=[{"action_id": action["id"]}])
    await tenant.server.calculated()
    told = await tenant.get(f"/cohorts/{cohort['id']}/explain/")
    unknown = all_conditions(performed(77, event_type="actions"))
    refused = await tenant.api.post("/cohorts/", json={"name": "None", "filters": unknown})
    kept = await change(tenant, action, deleted=True)

    for made in (cohort, older):
        assert (await tenant.get(f"/cohorts/{made['id']}/"))["count"] == 2
    assert "did the action “Done”" in told["sentence"]
    assert (refused.status_code, refused.json()["code"]) == (400, "action_does_not_exist")
    assert kept.status_code == 400
    assert 'cohort "Leavers", cohort "Older"' in kept.json()["detail"]


def did(event: str, who: str) -> Json:
    return {"event": event, "distinct_id": who, "timestamp": "2024-03-01T10:00:00Z",
            "properties": {"$set": {"name": who}}}  # fmt: skip


async def asked(tenant: Tenant, query: Json) -> list[Json]:
    answer = await tenant.api.post("/query/", json={"query": query})
    assert answer.status_code == 200, answer.text
    results: list[Json] = answer.json()["results"]
    return results


def named(question: Any, action_id: int, **more: Any) -> Any:
    """Return the question with the id of an action in place of 0."""
    if isinstance(question, dict):
        parts = {name: named(part, action_id) for name, part in question.items()}
        return {**parts, **more}
    if isinstance(question, list):
        return [named(part, action_id) for part in question]
    return action_id if question == 0 and not isinstance(question, bool) else question
