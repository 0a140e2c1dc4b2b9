"""Metrics of every type whose events are those of an action."""

from typing import Any

from tests.experiments.results.test_api import START, crowd, results
from tests.support.application import Json, Tenant
from tests.support.experiments import create
from tests.transfer.test_alerts import other

__all__ = ["other"]

KIND: Json = {"kind": "ExperimentMetric"}


def metrics_of(node: Json) -> list[Json]:
    """Return a metric of each type, each place of which has the node."""
    window = {"retention_window_start": 0, "retention_window_end": 7}
    return [
        {**KIND, "metric_type": "mean", "uuid": "mean", "source": node},
        {**KIND, "metric_type": "funnel", "uuid": "funnel", "series": [node]},
        {**KIND, "metric_type": "ratio", "uuid": "ratio", "numerator": node, "denominator": node},
        {
            **KIND, "metric_type": "retention", "uuid": "retention", "start_event": node,
            "completion_event": node, **window,
        },
    ]  # fmt: skip


async def action_of(tenant: Tenant, *steps: Json) -> Json:
    return await tenant.create("/actions/", name="Paid", steps=list(steps))


async def measuring(tenant: Tenant, metrics: list[Json]) -> Json:
    """Create a running experiment with the flag of the first one."""
    fields: Json = {"name": "Other", "feature_flag_key": "button", "start_date": START}
    return await tenant.create("/experiments/", **fields, metrics=metrics)


def numbers(body: Json) -> list[Any]:
    return [[metric["uuid"], metric["error"], metric["variants"]] for metric in body["metrics"]]


BOUGHT: Json = {"event": "purchase"}
LARGE: Json = {"key": "amount", "type": "event", "value": 10, "operator": "gt"}


async def test_an_action_counts_like_its_events_and_follows_its_definition(
    tenant: Tenant,
) -> None:
    action = await action_of(tenant, {**BOUGHT, "properties": [LARGE]})
    node = {"kind": "ActionsNode", "id": action["id"], "name": "Paid"}
    events = {"kind": "EventsNode", "event": "purchase", "name": "Paid"}
    named = await create(tenant, start_date=START, metrics=metrics_of(node))
    of_large = await measuring(tenant, metrics_of({**events, "properties": [LARGE]}))
    of_all = await measuring(tenant, metrics_of(events))
    await tenant.capture(*crowd("control", 60, 16), *crowd("test", 60, 30))

    narrow = numbers(await results(tenant, named))
    changed = await tenant.api.patch(f"/actions/{action['id']}/", json={"steps": [BOUGHT]})
    wide = numbers(await results(tenant, named))

    assert changed.status_code == 200, changed.text
    assert narrow == numbers(await results(tenant, of_large))
    assert wide == numbers(await results(tenant, of_all))
    assert narrow != wide


async def test_an_action_of_another_project_is_refused(tenant: Tenant, other: Tenant) -> None:
    action = await action_of(tenant, BOUGHT)
    metric = metrics_of({"kind": "ActionsNode", "id": action["id"]})[0]
    sent: Json = {"name": "Sales", "query": metric}

    own = await tenant.api.post("/experiment_saved_metrics/", json=sent)
    refused = await other.api.post("/experiment_saved_metrics/", json=sent)

    assert own.status_code == 201
    assert (refused.status_code, refused.json()["attr"]) == (400, "query__source__id")
