"""Experiments in a document, with their holdouts and saved metrics."""

from datetime import timedelta
from typing import Any

import pytest

from fanion.transfer.document import DocumentError, read_document, write_document
from fanion.transfer.importing.importer import import_document
from fanion.transfer.posthog.experiment_schemas import PosthogExperiment, stored_experiment
from fanion.transfer.report import Report
from tests.support.application import Tenant
from tests.support.experiments import PURCHASES, create, split, take
from tests.support.management import NOW
from tests.transfer.test_alerts import exported, imported, other
from tests.transfer.test_api import author_in

__all__ = ["other"]
KINDS = ("holdout", "saved metric", "experiment")


def results(report: Report) -> list[tuple[str, str, str, str]]:
    return [
        (outcome.kind, outcome.name, outcome.result, outcome.why)
        for outcome in report.outcomes
        if outcome.kind in KINDS
    ]


async def posted(tenant: Tenant, path: str, **values: Any) -> int:
    answer = await tenant.api.post(path, json=values)
    assert answer.status_code == 201, answer.text
    made: int = answer.json()["id"]
    return made


async def fill(tenant: Tenant) -> Any:
    """Create a running experiment with everything."""
    cohort = await posted(tenant, "/cohorts/", name="Payers", is_static=True)
    holdout = await posted(
        tenant, "/experiment_holdouts/", name="Some", filters=[{"rollout_percentage": 5}]
    )
    saved = await posted(tenant, "/experiment_saved_metrics/", name="Sales", query=PURCHASES)
    payers = {"type": "cohort", "key": "id", "value": cohort, "operator": "in"}
    metric = {**PURCHASES, "source": {**PURCHASES["source"], "properties": [payers]}}
    made = await create(
        tenant,
        holdout_id=holdout,
        metrics=[metric],
        saved_metrics_ids=[{"id": saved, "metadata": {"type": "secondary"}}],
        parameters={"feature_flag_variants": split(control=50, test=50)},
    )
    return await take(tenant, made, "launch")


async def test_an_experiment_goes_on_in_another_project(tenant: Tenant, other: Tenant) -> None:
    made = await fill(tenant)

    first = await imported(other, await exported(tenant))
    second = await imported(other, await exported(tenant))

    assert [entry[:3] for entry in results(first)] == [
        ("holdout", "Some", "created"),
        ("saved metric", "Sales", "created"),
        ("experiment", "Button", "created"),
    ]
    assert [entry[2] for entry in results(second)] == ["unchanged"] * 3
    [copy] = (await other.get("/experiments/"))["results"]
    assert copy["status"] == "running"
    same = ("name", "start_date", "phases", "parameters", "stats_config", "exposure_criteria")
    assert {name: copy[name] for name in same} == {name: made[name] for name in same}
    assert [(link["name"], link["metadata"]) for link in copy["saved_metrics"]] == [
        ("Sales", {"type": "secondary"})
    ]
    assert copy["holdout"]["filters"][0]["variant"] == f"holdout-{copy['holdout_id']}"
    [cohort] = (await other.get("/cohorts/"))["results"]
    assert copy["metrics"][0]["source"]["properties"][0]["value"] == cohort["id"]
    flag = await other.get(f"/feature_flags/{copy['feature_flag']['id']}/")
    assert (flag["active"], flag["experiment_set"]) == (True, [copy["id"]])


async def test_a_changed_experiment_is_updated(tenant: Tenant, other: Tenant) -> None:
    made = await fill(tenant)
    await imported(other, await exported(tenant))
    tenant.server.clock.time = NOW + timedelta(days=1)
    await take(tenant, made, "end", conclusion="won")

    report = await imported(other, await exported(tenant))

    [_, _, (_, _, result, why)] = results(report)
    assert (result, why) == ("updated", "end_date, conclusion")
    [copy] = (await other.get("/experiments/"))["results"]
    assert (copy["status"], copy["conclusion"]) == ("stopped", "won")


async def test_a_document_without_experiments_does_not_name_them(tenant: Tenant) -> None:
    document = write_document(await exported(tenant))

    assert b"experiment" not in document


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (
            '{"key": "a", "name": "a", "feature_flag_key": "gone"}',
            "experiment a: feature_flag_key: flag 'gone' is not in the document",
        ),
        (
            '{"key": "a", "name": "a", "feature_flag_key": "b", "holdout": "gone"}',
            "experiment a: holdout: holdout 'gone' is not in the document",
        ),
        (
            '{"key": "a", "name": "a", "feature_flag_key": "b", '
            '"start_date": "2024-03-01T00:00:00Z", "end_date": "2024-02-01T00:00:00Z"}',
            "experiment a: end_date: End date must be after start date",
        ),
    ],
)
async def test_what_a_document_lacks_is_named(tenant: Tenant, entry: str, fault: str) -> None:
    text = (
        '{"format": "fanion-project", "version": 1, "flags": [{"key": "b", "filters": '
        '{"groups": [{}]}}], "experiments": [%s]}'
    )
    document = read_document((text % entry).encode())

    with pytest.raises(DocumentError) as refused:
        await import_document(tenant.server.records, await author_in(tenant), document)

    assert str(refused.value) == fault


def test_an_experiment_of_posthog_has_one_phase_since_its_start() -> None:
    body = PosthogExperiment(
        id=3,
        name="Old",
        feature_flag_key="old",
        parameters={
            "feature_flag_variants": [
                {"key": "control", "split_percent": 40},
                {"key": "test", "rollout_percentage": 60},
            ]
        },
        conclusion="unheard",
    )

    draft = stored_experiment(body)

    assert (draft.phases, draft.conclusion) == ([], None)
    assert draft.parameters == {
        "feature_flag_variants": [
            {"key": "control", "split_percent": 40, "rollout_percentage": 40},
            {"key": "test", "rollout_percentage": 60},
        ]
    }
