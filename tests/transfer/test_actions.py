"""Actions in a document, and the insights that refer to them."""

from typing import Any

import msgspec
import pytest

from fanion.transfer.document import DocumentError, read_document
from fanion.transfer.importing.validation import find_faults, normalised
from tests.support.application import Tenant
from tests.support.experiments import create
from tests.transfer.test_alerts import exported, imported, other
from tests.transfer.test_experiments import posted

__all__ = ["other"]


def question(action_id: Any) -> dict[str, Any]:
    return {"kind": "TrendsQuery", "series": [{"kind": "ActionsNode", "id": action_id}]}


@pytest.mark.every_engine
async def test_insights_find_their_actions_in_another_project(
    tenant: Tenant, other: Tenant
) -> None:
    await posted(other, "/actions/", name="Else", steps=[{"event": "else"}])
    paid = await posted(tenant, "/actions/", name="Paid", steps=[{"event": "paid"}], tags=["a"])
    gone = await posted(tenant, "/actions/", name="Gone", steps=[{"event": "gone"}])
    await posted(tenant, "/insights/", name="New", query=question(paid))
    older = {"events": [], "actions": [{"id": paid}], "insight": "TRENDS"}
    await posted(tenant, "/insights/", name="Old", filters=older)
    await tenant.api.patch(f"/actions/{gone}/", json={"deleted": True})

    report = await imported(other, await exported(tenant))
    again = await imported(other, await exported(tenant))

    assert [(each.name, each.result) for each in report.outcomes if each.kind == "action"] == [
        ("Paid", "created")
    ]
    assert {each.result for each in again.outcomes} == {"unchanged"}
    actions = {each["name"]: each for each in (await other.get("/actions/"))["results"]}
    assert actions.keys() == {"Else", "Paid"}
    assert actions["Paid"]["tags"] == ["a"]
    saved = {each["name"]: each for each in (await other.get("/insights/"))["results"]}
    assert saved["New"]["query"] == question(actions["Paid"]["id"])
    assert saved["Old"]["filters"]["actions"] == [{"id": actions["Paid"]["id"]}]


@pytest.mark.parametrize(
    ("action", "insight", "fault"),
    [
        ({"steps": []}, None, "action A: steps: This list may not be empty."),
        (
            {"steps": [{"selector": "a + b"}]},
            None,
            "action A: steps__0__selector: It cannot be read at + b.",
        ),
        (
            {"steps": [{"event": "a"}]},
            question({"action": "B"}),
            "insight x: query: action 'B' is not in the document",
        ),
        (
            {"steps": [{"event": "a"}]},
            question(5),
            'insight x: query: action 5 must be given by name, as {"action": "…"}',
        ),
    ],
)
def test_faults_of_actions_are_named(
    action: dict[str, Any], insight: dict[str, Any] | None, fault: str
) -> None:

    body = {
        "format": "fanion-project",
        "version": 1,
        "actions": [{"name": "A", **action}],
        "insights": [] if insight is None else [{"short_id": "x", "query": insight}],
    }
    document = normalised(read_document(msgspec.json.encode(body)))

    [found] = find_faults(document)

    assert found.text.startswith(fault)


def test_an_unknown_field_of_a_step_is_refused() -> None:
    body = (
        b'{"format": "fanion-project", "version": 1, '
        b'"actions": [{"name": "A", "steps": [{"event": "a", "colour": 1}]}]}'
    )
    with pytest.raises(DocumentError, match="colour"):
        read_document(body)


@pytest.mark.every_engine
async def test_experiments_find_their_actions_in_another_project(
    tenant: Tenant, other: Tenant
) -> None:
    await posted(other, "/actions/", name="Else", steps=[{"event": "else"}])
    paid = await posted(tenant, "/actions/", name="Paid", steps=[{"event": "paid"}])
    source = {"kind": "ActionsNode", "id": paid}
    metric = {"kind": "ExperimentMetric", "metric_type": "mean", "source": source}
    await posted(tenant, "/experiment_saved_metrics/", name="Sales", query=metric)
    await create(tenant, metrics=[metric], exposure_criteria={"exposure_config": source})

    await imported(other, await exported(tenant))
    again = await imported(other, await exported(tenant))

    assert {each.result for each in again.outcomes} == {"unchanged"}
    ids = {each["name"]: each["id"] for each in (await other.get("/actions/"))["results"]}
    [copy] = (await other.get("/experiments/"))["results"]
    [saved] = (await other.get("/experiment_saved_metrics/"))["results"]
    assert copy["metrics"][0]["source"]["id"] == ids["Paid"] != paid
    assert saved["query"]["source"]["id"] == ids["Paid"]
    assert copy["exposure_criteria"]["exposure_config"]["id"] == ids["Paid"]
