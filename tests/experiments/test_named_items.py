"""Actions and segments in what experiments measure: stored, counted, and kept while in use."""

from typing import Any

import pytest

from tests.experiments.guarded_release.test_api import NOT_BEGUN, STEPS, place_of
from tests.experiments.results.test_api import START, call, crowd, event, results
from tests.support.application import Json, Tenant
from tests.support.experiments import create, invalid

pytestmark = pytest.mark.every_engine


def mean(**source: Any) -> Json:
    return {"kind": "ExperimentMetric", "metric_type": "mean", "source": source}


def of_action(action_id: int, **source: Any) -> Json:
    return mean(kind="ActionsNode", id=action_id, **source)


def within(segment_id: int) -> Json:
    segment = {"type": "segment", "value": segment_id}
    return mean(kind="EventsNode", event="purchase", properties=[segment])


def either(action_id: int) -> Json:
    nodes = [{"kind": "ActionsNode", "id": action_id}, {"kind": "EventsNode", "event": "purchase"}]
    return mean(kind="GroupNode", operator="OR", nodes=nodes)


async def new_action(tenant: Tenant) -> int:
    steps = [
        {"event": "purchase", "properties": [{"key": "amount", "operator": "gt", "value": 10}]},
        {"event": "subscription"},
    ]
    return int((await tenant.create("/actions/", name="Big sales", steps=steps))["id"])


async def new_segment(tenant: Tenant) -> int:
    conditions = [{"key": "amount", "operator": "gt", "value": 10, "type": "event"}]
    return int((await tenant.create("/segments/", name="Big", properties=conditions))["id"])


async def test_an_action_and_a_segment_are_measured(tenant: Tenant) -> None:
    action, segment = await new_action(tenant), await new_segment(tenant)
    experiment = await create(
        tenant,
        start_date=START,
        metrics=[of_action(action, name="Big sales"), within(segment), either(action)],
    )
    await tenant.capture(
        *crowd("control", 20, 12),
        *crowd("test", 20, 15),
        event("subscription", "test-0", "22T06:00:00"),
    )

    of_actions, in_segment, of_either = (await results(tenant, experiment))["metrics"]

    # Of the buyers, those from the eleventh on pay more than 10.
    assert of_actions["name"] == "Big sales"
    assert sums_of(of_actions) == {"control": 2, "test": 6}
    assert sums_of(in_segment) == {"control": 2, "test": 5}
    assert of_either["name"] == f"action {action} or purchase"
    assert sums_of(of_either) == {"control": 12, "test": 16}


def sums_of(metric: Json) -> dict[str, float]:
    measured = [metric["baseline"], *metric["variants"]]
    return {variant["key"]: variant["sum"] for variant in measured}


async def test_an_action_exposes(tenant: Tenant) -> None:
    seen = await tenant.create("/actions/", name="Seen", steps=[{"event": "seen", "url": "/new"}])
    config = {"kind": "ActionsNode", "id": seen["id"]}
    experiment = await create(
        tenant, start_date=START, exposure_criteria={"exposure_config": config}
    )
    await tenant.capture(
        *(
            event(
                "seen",
                f"{arm}-{number}",
                "20T06:00:00",
                **{"$feature/button": arm, "$current_url": f"https://x.io/{page}"},
            )
            for arm, number, page in [
                ("control", 1, "new"),
                ("test", 1, "new"),
                ("test", 2, "new"),
                ("test", 3, "old"),
            ]
        ),
        call("control-4", "control"),
    )

    found = await results(tenant, experiment)
    place = f"/experiments/{experiment['id']}/create_exposure_cohort_for_experiment/"
    cohort = (await tenant.api.post(place)).json()["cohort"]
    await tenant.server.calculated()

    assert found["exposures"]["variants"] == {"control": 1, "test": 2}
    assert found["exposures"]["event"] == f"action {seen['id']}"
    members = await tenant.get(f"/cohorts/{cohort['id']}/persons/")
    ids = sorted(person["distinct_ids"][0] for person in members["results"])
    assert ids == ["control-1", "test-1", "test-2"]


UNKNOWN: dict[str, tuple[str, Json, str]] = {
    "an action": ("metrics", {"metrics": [of_action(77)]}, "metrics__0__source__id"),
    "a segment": (
        "metrics_secondary",
        {"metrics_secondary": [within(77)]},
        "metrics_secondary__0__source__properties__0__value",
    ),
    "a guardrail": (
        "guardrail_metrics",
        {"guardrail_metrics": [of_action(77)]},
        "guardrail_metrics__0__source__id",
    ),
    "an exposure": (
        "exposure_criteria",
        {"exposure_criteria": {"exposure_config": {"kind": "ActionsNode", "id": 77}}},
        "exposure_criteria__exposure_config__id",
    ),
}


@pytest.mark.parametrize(("name", "fields", "attr"), UNKNOWN.values(), ids=UNKNOWN)
async def test_what_is_unknown_is_not_stored(
    tenant: Tenant, name: str, fields: Json, attr: str
) -> None:
    experiment = await create(tenant)

    new = await tenant.api.post(
        "/experiments/", json={"name": "New", "feature_flag_key": "new", **fields}
    )
    changed = await tenant.api.patch(f"/experiments/{experiment['id']}/", json=fields)

    for answer in (new, changed):
        assert answer.status_code == 400, answer.text
        assert answer.json()["attr"] == attr
        assert "77 does not exist" in answer.json()["detail"]
    after = await tenant.get(f"/experiments/{experiment['id']}/")
    assert after[name] == experiment[name]


async def test_a_saved_metric_and_a_release_name_what_exists(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="checkout", filters=NOT_BEGUN)

    saved = await tenant.api.post(
        "/experiment_saved_metrics/", json={"name": "Sales", "query": of_action(77)}
    )
    release = await tenant.api.post(
        place_of(flag), json={"steps": STEPS, "metrics": [of_action(77)]}
    )
    plan = await tenant.api.post("/experiments/plan/", json={"metric": of_action(77)})

    detail = "Action with id 77 does not exist"
    assert (saved.status_code, saved.json()) == invalid(
        detail, "query__source__id", "action_does_not_exist"
    )
    assert release.json()["attr"] == "metrics__0__source__id"
    assert plan.json()["attr"] == "metric__source__id"
    assert (release.status_code, plan.status_code) == (400, 400)


async def test_what_is_measured_is_not_deleted(tenant: Tenant) -> None:
    action, segment = await new_action(tenant), await new_segment(tenant)
    flag = await tenant.create_flag(key="checkout", filters=NOT_BEGUN)
    config = {"kind": "ActionsNode", "id": action}
    exposed = await create(
        tenant, key="a", name="Exposed", exposure_criteria={"exposure_config": config}
    )
    guarded = await create(
        tenant, key="b", name="Guarded", guardrail_metrics=[of_action(action), within(segment)]
    )
    saved = await tenant.create("/experiment_saved_metrics/", name="Sales", query=of_action(action))
    await tenant.create(place_of(flag), steps=STEPS, metrics=[of_action(action)])
    paths = [f"/actions/{action}/", f"/segments/{segment}/"]

    refused = [await tenant.api.patch(path, json={"deleted": True}) for path in paths]
    for experiment in (exposed, guarded):
        await tenant.api.patch(f"/experiments/{experiment['id']}/", json={"deleted": True})
    await tenant.api.delete(f"/experiment_saved_metrics/{saved['id']}/")
    await tenant.api.post(place_of(flag, "cancel/"))
    deleted = [await tenant.api.patch(path, json={"deleted": True}) for path in paths]

    assert [answer.json()["code"] for answer in refused] == ["in_use", "in_use"]
    uses = (
        'experiment "Exposed", experiment "Guarded", saved metric "Sales", '
        'guarded release of flag "checkout"'
    )
    assert uses in refused[0].json()["detail"]
    assert 'experiment "Guarded"' in refused[1].json()["detail"]
    assert [answer.status_code for answer in deleted] == [200, 200]


async def test_a_metric_whose_action_is_gone_says_so(tenant: Tenant) -> None:
    """A program before this one deleted actions that metrics could not name; a restore can too."""
    action = await new_action(tenant)
    experiment = await create(tenant, start_date=START, metrics=[of_action(action)])
    async with tenant.server.records.write() as connection:
        await connection.exec_driver_sql(f"UPDATE actions SET deleted = true WHERE id = {action}")

    [metric] = (await results(tenant, experiment))["metrics"]

    assert metric["error"] is not None
    assert f"Action with id {action} does not exist" in str(metric["error"])
