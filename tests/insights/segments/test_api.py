"""Segments over HTTP, and the questions that use them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fanion.insights.segments.model import CONDITIONS_MAX, NAMED_MAX, SEGMENTS_MAX
from fanion.insights.segments.store import SEGMENTS
from tests.support.application import Json, Tenant
from tests.support.projects import another_project

IS_PRO: Json = {"type": "event", "key": "plan", "value": "pro", "operator": "exact"}
PRO: Json = {"type": "AND", "values": [IS_PRO]}


async def create(tenant: Tenant, name: str = "Pro", properties: Any = PRO) -> Json:
    answer = await tenant.api.post("/segments/", json={"name": name, "properties": properties})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def change(tenant: Tenant, segment: Json, **fields: Any) -> Any:
    return await tenant.api.patch(f"/segments/{segment['id']}/", json=fields)


def within(segment_id: object, operator: str | None = "in") -> Json:
    return {"type": "segment", "key": "id", "value": segment_id, "operator": operator}


@pytest.mark.every_engine
async def test_a_segment_from_creation_to_restoration(tenant: Tenant) -> None:
    made = await create(tenant, "Pro", [IS_PRO])

    changed = await change(tenant, made, **{**made, "name": "Paying", "description": "All paid"})
    deleted = await change(tenant, made, deleted=True)
    refused = await change(tenant, made, name="Other")
    listed = (await tenant.get("/segments/"))["results"]
    trash = (await tenant.get("/segments/", deleted="true", search="PAYI"))["results"]
    restored = await change(tenant, made, deleted=False)

    assert made == {
        "id": made["id"],
        "name": "Pro",
        "description": "",
        "properties": PRO,
        "deleted": False,
        "created_by": tenant.owner,
        "created_at": "2024-03-01T12:00:00Z",
        "updated_at": "2024-03-01T12:00:00Z",
    }
    assert changed.json() == {**made, "name": "Paying", "description": "All paid"}
    assert (deleted.json()["deleted"], refused.status_code) == (True, 404)
    assert (listed, trash) == ([], [deleted.json()])
    assert restored.json() == changed.json()
    assert await tenant.get(f"/segments/{made['id']}/") == restored.json()
    entries = (await tenant.get(f"/segments/{made['id']}/activity/"))["results"]
    assert [entry["activity"] for entry in entries] == ["updated"] * 3 + ["created"]
    assert len((await tenant.get("/segments/activity/"))["results"]) == 4


@pytest.mark.every_engine
async def test_names_of_segments_are_unique_until_one_is_deleted(tenant: Tenant) -> None:
    first = await create(tenant)
    await change(tenant, first, deleted=True)
    second = await create(tenant)

    again = await tenant.api.post("/segments/", json={"name": "Pro", "properties": PRO})
    restored = await change(tenant, first, deleted=False)
    renamed = await change(tenant, await create(tenant, "Other"), name="Pro")

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
    ("properties", "attr"),
    [
        (None, "properties"),
        ([], "properties"),
        ({}, "properties"),
        ("plan", "properties"),
        ({"type": "XOR", "values": [IS_PRO]}, "properties"),
        ([{**IS_PRO, "operator": "like"}], "properties__0__operator"),
        ([IS_PRO, {**IS_PRO, "colour": 1}], "properties__1__colour"),
        ([{"type": "cohort", "key": "id", "value": 77}], "properties__0__value"),
        ({"type": "OR", "values": [{"type": "hogql", "key": "1 +"}]}, "properties__values__0__key"),
        ([IS_PRO] * (CONDITIONS_MAX + 1), "properties"),
    ],
)
async def test_conditions_that_cannot_be_compared_are_refused(
    tenant: Tenant, properties: Any, attr: str
) -> None:
    answer = await tenant.api.post("/segments/", json={"name": "A", "properties": properties})

    assert answer.status_code == 400, answer.text
    assert answer.json()["attr"] == attr


async def test_a_segment_contains_no_segment(tenant: Tenant) -> None:
    known = await create(tenant)

    for inner in (known["id"], 77):
        body = {"name": "A", "properties": [IS_PRO, within(inner)]}
        refused = await tenant.api.post("/segments/", json=body)

        assert (refused.status_code, refused.json()["attr"]) == (400, "properties__1__value")


async def test_a_project_has_a_limited_number_of_segments(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SEGMENTS, "count_max", 2)
    assert SEGMENTS_MAX > 2
    await create(tenant, "A")
    await create(tenant, "B")

    refused = await tenant.api.post("/segments/", json={"name": "C", "properties": PRO})

    assert refused.status_code == 400
    assert "at most 2 segments" in refused.json()["detail"]


@pytest.fixture
async def shop(tenant: Tenant) -> AsyncIterator[Tenant]:
    """Yield a second project of the tenant's organization."""
    async with another_project(tenant) as shop:
        yield shop


TRENDS: Json = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "paid"}]}
WHERE: Json = {"kind": "HogQLQuery", "query": "SELECT event FROM events WHERE {filters}"}
# Questions with conditions, and their places.
QUESTIONS: list[tuple[Any, str]] = [
    (lambda conditions: {**TRENDS, "properties": conditions}, "properties"),
    (
        lambda conditions: {
            "kind": "FunnelsQuery",
            "series": [{"event": "seen"}, {"event": "paid", "properties": conditions}],
        },
        "series__1__properties",
    ),
    (lambda conditions: {"kind": "WebOverviewQuery", "properties": conditions}, "properties"),
    (lambda conditions: {"kind": "EventsQuery", "properties": conditions}, "properties"),
    (lambda conditions: {**WHERE, "filters": {"properties": conditions}}, "filters__properties"),
]


@pytest.mark.parametrize(("question", "at"), QUESTIONS)
async def test_a_question_names_existing_segments_of_its_project(
    tenant: Tenant, shop: Tenant, question: Any, at: str
) -> None:
    known = await create(tenant)
    gone = await create(tenant, "Gone")
    await change(tenant, gone, deleted=True)
    foreign = await create(shop, "Elsewhere")

    for unknown in (gone["id"], foreign["id"], 77_777):
        query = question([within(known["id"], "not_in"), within(unknown)])
        refused = await tenant.api.post("/query/", json={"query": query})

        assert refused.status_code == 400, refused.text
        assert refused.json()["code"] == "segment_does_not_exist"
        assert refused.json()["attr"] == f"query__{at}__1__value"


@pytest.mark.parametrize(
    ("condition", "attr"),
    [
        (within("five"), "query__properties"),
        (within(5, "exact"), "query__properties__0__operator"),
        ({**within(5), "key": "name"}, "query__properties"),
        ({**within(5), "colour": 1}, "query__properties__0__colour"),
    ],
)
async def test_a_segment_that_cannot_be_read_is_refused(
    tenant: Tenant, condition: Json, attr: str
) -> None:
    query = {**TRENDS, "properties": [condition]}

    refused = await tenant.api.post("/query/", json={"query": query})

    assert (refused.status_code, refused.json()["attr"]) == (400, attr), refused.text


async def test_segments_of_a_question_have_limits(tenant: Tenant) -> None:
    large = await create(tenant, "Large", [IS_PRO] * CONDITIONS_MAX)
    many = [await create(tenant, f"S{n}") for n in range(NAMED_MAX + 1)]

    for named, attr in (
        ([large] * 5, "query__properties__0__value"),
        (many, f"query__properties__{NAMED_MAX}__value"),
    ):
        properties = [within(segment["id"]) for segment in named]
        refused = await tenant.api.post(
            "/query/", json={"query": {**TRENDS, "properties": properties}}
        )

        assert (refused.status_code, refused.json()["attr"]) == (400, attr), refused.text
    few = {**TRENDS, "properties": [within(large["id"])] * 4}
    assert await asked(tenant, few)


async def test_a_segment_that_is_used_is_not_deleted(tenant: Tenant) -> None:
    segment = await create(tenant)
    query = {**TRENDS, "properties": [within(segment["id"])]}
    older = {"events": [{"id": "paid", "properties": [within(str(segment["id"]))]}]}
    filters = {"properties": [within(segment["id"], "not_in")]}
    uses = [
        await posted(tenant, "/insights/", name="Sales", query=query),
        await posted(tenant, "/insights/", name="Older", filters=older),
        await posted(tenant, "/dashboards/", name="Board", filters=filters),
    ]
    metric = {"events": [{"id": "paid", "properties": [within(segment["id"])]}]}
    rollback = {"threshold": 5, "threshold_metric": metric, "threshold_type": "insight"}
    conditions = [{**rollback, "operator": "gt"}]
    uses.append(await posted(tenant, "/feature_flags/", key="f", rollback_conditions=conditions))

    refused = await change(tenant, segment, deleted=True)
    for use in uses:
        await tenant.api.patch(use, json={"deleted": True})
    deleted = await change(tenant, segment, deleted=True)

    assert (refused.status_code, refused.json()["code"]) == (400, "in_use")
    assert (
        'insight "Sales", insight "Older", dashboard "Board", flag "f"' in refused.json()["detail"]
    )
    assert deleted.status_code == 200
    body = {"name": "Late", "filters": filters}
    unknown = await tenant.api.post("/dashboards/", json=body)
    assert unknown.json()["code"] == "segment_does_not_exist"
    assert unknown.json()["attr"] == "filters__properties__0__value"


async def test_answers_follow_the_segment(tenant: Tenant) -> None:
    plans = {"ann": "pro", "bob": "free", "cid": None, "dan": "pro"}
    await tenant.capture(*(paid(who, plan) for who, plan in plans.items()))
    segment = await create(tenant)
    inside = {**TRENDS, "properties": [within(segment["id"])]}
    outside = {**TRENDS, "properties": [within(segment["id"], "not_in")]}
    listed = {"kind": "EventsQuery", "select": ["distinct_id"], "after": "2024-01-01",
              "properties": [within(segment["id"])]}  # fmt: skip

    before = [await total(tenant, query) for query in (inside, outside)]
    again = await tenant.api.post("/query/", json={"query": inside})
    of_pro = await asked(tenant, listed)
    await change(tenant, segment, properties=[{**IS_PRO, "value": ["pro", "free"]}])
    after = [await total(tenant, query) for query in (inside, outside)]

    assert (before, after) == ([2, 2], [3, 1])
    assert again.json()["is_cached"] is True
    assert sorted(of_pro) == [["ann"], ["dan"]]


async def test_a_dashboard_shows_the_segment_of_its_filters(tenant: Tenant) -> None:
    await tenant.capture(paid("ann", "pro"), paid("bob", "free"))
    segment = await create(tenant)
    filters = {"properties": [within(segment["id"])]}
    board = await posted(tenant, "/dashboards/", name="Board", filters=filters)
    number = int(board.rstrip("/").rpartition("/")[2])
    await posted(tenant, "/insights/", name="Sales", query=TRENDS, dashboards=[number])

    shown = await tenant.get(board, refresh="true")

    [tile] = shown["tiles"]
    assert [entry["count"] for entry in tile["insight"]["result"]] == [1]


def paid(who: str, plan: str | None) -> Json:
    properties = {} if plan is None else {"plan": plan}
    return {"event": "paid", "distinct_id": who, "timestamp": "2024-03-01T10:00:00Z",
            "properties": properties}  # fmt: skip


async def posted(tenant: Tenant, path: str, **body: Any) -> str:
    """Create an object, and return its path."""
    answer = await tenant.api.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return f"{path}{answer.json()['id']}/"


async def asked(tenant: Tenant, query: Json) -> list[Any]:
    answer = await tenant.api.post("/query/", json={"query": query})
    assert answer.status_code == 200, answer.text
    results: list[Any] = answer.json()["results"]
    return results


async def total(tenant: Tenant, query: Json) -> int:
    return sum(entry["count"] for entry in await asked(tenant, query))
