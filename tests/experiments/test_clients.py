"""Requests as PostHog's Terraform provider and its web interface make them.

Source: experiments.md section 1d.
"""

from typing import Any

import pytest

from tests.support.application import Json, Tenant
from tests.support.experiments import split, take

pytestmark = pytest.mark.every_engine

METRIC: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "funnel",
    "goal": "increase",
    "name": "Sign up",
    "series": [{"kind": "EventsNode", "event": "signed up"}],
    "conversion_window": 14,
    "conversion_window_unit": "day",
}
PLANNED: Json = {
    "name": "Sign up page",
    "description": "A shorter form",
    "feature_flag_key": "sign-up-page",
    "type": "product",
    "parameters": {
        "feature_flag_variants": split(control=50, test=50),
        "minimum_detectable_effect": 10,
    },
    "metrics": [METRIC],
    "metrics_secondary": [],
    "exposure_criteria": {"filterTestAccounts": True},
    "stats_config": {"method": "bayesian"},
}


def told(sent: Any, read: Any) -> Any:
    """Return what a client that ignores further fields has read, in the shape that it sent."""
    if isinstance(sent, dict):
        return {name: told(value, read[name]) for name, value in sent.items()}
    if isinstance(sent, list):
        return [told(*pair) for pair in zip(sent, read, strict=True)]
    return read


async def test_terraform_applies_a_plan_and_finds_nothing_to_change(tenant: Tenant) -> None:
    created = (await tenant.api.post("/experiments/", json=PLANNED)).json()
    await take(tenant, created, "launch")
    place = f"/experiments/{created['id']}/"

    read = await tenant.get(place)
    again = await tenant.api.patch(place, json=PLANNED)
    renamed = await tenant.api.patch(place, json={**PLANNED, "name": "Sign up"})

    assert told(PLANNED, created) == told(PLANNED, read) == PLANNED
    assert (again.status_code, again.json()) == (200, read)
    assert (renamed.status_code, renamed.json()["name"]) == (200, "Sign up")
    states = [
        (await take(tenant, created, step, **sent))["status"]
        for step, sent in (
            ("pause", {}),
            ("resume", {}),
            ("end", {"conclusion": "won"}),
            ("ship_variant", {"variant_key": "test"}),
        )
    ]
    assert states == ["paused", "running", "stopped", "stopped"]


async def test_the_interface_sends_whole_objects(tenant: Tenant) -> None:
    created = (await tenant.api.post("/experiments/", json=PLANNED)).json()
    place = f"/experiments/{created['id']}/"
    launched = {**created, "start_date": "2024-03-01T12:00:00Z"}

    running = (await tenant.api.patch(place, json=launched)).json()
    measured = {**running, "metrics": [*running["metrics"], {**METRIC, "name": "More"}]}
    extended = await tenant.api.patch(place, json=measured)
    ended = await tenant.api.patch(
        place,
        json={
            **extended.json(),
            "end_date": "2024-03-08T12:00:00Z",
            "conclusion": "inconclusive",
            "conclusion_comment": "Nothing to see",
        },
    )

    assert running["status"] == "running"
    assert extended.status_code == 200, extended.text
    first, second = extended.json()["metrics"]
    assert first == running["metrics"][0]
    assert (second["name"], second["uuid"] != first["uuid"]) == ("More", True)
    assert ended.status_code == 200, ended.text
    assert (ended.json()["status"], ended.json()["conclusion"]) == ("stopped", "inconclusive")


async def test_the_oldest_form_of_metrics_is_kept(tenant: Tenant) -> None:
    sent = {
        "name": "Old",
        "feature_flag_key": "old",
        "filters": {"insight": "FUNNELS", "events": [{"id": "$pageview"}], "properties": []},
        "secondary_metrics": [{"name": "Trend", "filters": {"insight": "TRENDS"}}],
    }

    created = (await tenant.api.post("/experiments/", json=sent)).json()

    assert told(sent, created) == sent


async def test_questions_of_2024_are_stored_as_metrics(tenant: Tenant) -> None:
    question = {
        "kind": "ExperimentTrendsQuery",
        "count_query": {
            "kind": "TrendsQuery",
            "series": [{"kind": "EventsNode", "event": "$pageview"}],
        },
    }
    sent = {"name": "Old", "feature_flag_key": "old", "metrics": [question]}

    answer = await tenant.api.post("/experiments/", json=sent)

    assert answer.status_code == 201, answer.text
    assert told(sent, answer.json()) == sent


async def test_a_table_of_a_warehouse_is_refused(tenant: Tenant) -> None:
    source = {"kind": "ExperimentDataWarehouseNode", "id": 1}
    metric = {"kind": "ExperimentMetric", "metric_type": "mean", "source": source}
    sent = {"name": "New", "feature_flag_key": "new", "metrics": [metric]}

    answer = await tenant.api.post("/experiments/", json=sent)

    detail = "Invalid metric at index 0: There is no data warehouse. Use an EventsNode."
    assert (answer.status_code, answer.json()["detail"]) == (400, detail)
    assert answer.json()["attr"] == "metrics__0__source__kind"
