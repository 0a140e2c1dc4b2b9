"""Segments in a document, and the insights and dashboards that refer to them."""

from typing import Any

import msgspec
import pytest

from fanion.transfer.document import read_document
from fanion.transfer.importing.validation import find_faults, normalised
from tests.support.application import Tenant
from tests.transfer.test_alerts import exported, imported, other
from tests.transfer.test_experiments import posted

__all__ = ["other"]

IS_PRO = {"key": "plan", "value": "pro"}


def within(segment_id: Any) -> dict[str, Any]:
    return {"type": "segment", "key": "id", "value": segment_id, "operator": "in"}


@pytest.mark.every_engine
async def test_questions_find_their_segments_in_another_project(
    tenant: Tenant, other: Tenant
) -> None:
    await posted(other, "/segments/", name="Else", properties=[IS_PRO])
    cohort = await posted(tenant, "/cohorts/", name="Payers")
    member = {"type": "cohort", "key": "id", "value": cohort}
    pro = await posted(tenant, "/segments/", name="Pro", properties=[IS_PRO, member])
    gone = await posted(tenant, "/segments/", name="Gone", properties=[IS_PRO])
    query = {"kind": "TrendsQuery", "series": [{"event": "paid"}], "properties": [within(pro)]}
    await posted(tenant, "/insights/", name="Sales", query=query)
    await posted(tenant, "/dashboards/", name="Board", filters={"properties": [within(pro)]})
    await tenant.api.patch(f"/segments/{gone}/", json={"deleted": True})

    report = await imported(other, await exported(tenant))
    again = await imported(other, await exported(tenant))

    assert [(each.name, each.result) for each in report.outcomes if each.kind == "segment"] == [
        ("Pro", "created")
    ]
    assert {each.result for each in again.outcomes} == {"unchanged"}
    segments = {each["name"]: each for each in (await other.get("/segments/"))["results"]}
    assert segments.keys() == {"Else", "Pro"}
    [payers] = (await other.get("/cohorts/"))["results"]
    assert segments["Pro"]["properties"]["values"] == [IS_PRO, {**member, "value": payers["id"]}]
    named = [within(segments["Pro"]["id"])]
    [saved] = (await other.get("/insights/"))["results"]
    assert saved["query"]["properties"] == named
    [board] = (await other.get("/dashboards/"))["results"]
    assert (await other.get(f"/dashboards/{board['id']}/"))["filters"]["properties"] == named


@pytest.mark.parametrize(
    ("properties", "named", "fault"),
    [
        ([], None, "segment A: properties: A segment needs a condition."),
        (
            [within({"segment": "A"})],
            None,
            "segment A: properties__values__0__value: A segment cannot contain a segment. "
            "Use its conditions.",
        ),
        ([IS_PRO], {"segment": "B"}, "insight x: query: segment 'B' is not in the document"),
        (
            [IS_PRO],
            5,
            'insight x: query: segment 5 must be given by name, as {"segment": "…"}',
        ),
    ],
)
def test_faults_of_segments_are_named(properties: list[Any], named: Any, fault: str) -> None:
    query = {"kind": "TrendsQuery", "series": [{"event": "a"}], "properties": [within(named)]}
    body = {
        "format": "fanion-project",
        "version": 1,
        "segments": [{"name": "A", "properties": {"type": "AND", "values": properties}}],
        "insights": [] if named is None else [{"short_id": "x", "query": query}],
    }

    document = normalised(read_document(msgspec.json.encode(body)))

    assert [fault.text for fault in find_faults(document)] == [fault]
