"""Annotations in a document."""

from typing import Any

import msgspec
import pytest

from fanion.transfer.document import DocumentError, read_document, write_document
from fanion.transfer.report import Report
from tests.support.application import Json, Tenant
from tests.transfer.test_alerts import TRENDS, exported, imported, other

__all__ = ["other"]

MOMENT = "2024-02-01T10:00:00Z"


def results(report: Report) -> list[tuple[str, str, str]]:
    return [
        (outcome.name, outcome.result, outcome.why)
        for outcome in report.outcomes
        if outcome.kind == "annotation"
    ]


async def places(tenant: Tenant) -> list[tuple[Any, ...]]:
    names = ("content", "date_marker", "creation_type", "scope", "insight_name", "dashboard_name")
    listed = (await tenant.get("/annotations/"))["results"]
    return [tuple(annotation[name] for name in names) for annotation in listed]


@pytest.mark.every_engine
async def test_annotations_follow_their_insight_and_dashboard_once(
    tenant: Tenant, other: Tenant
) -> None:
    insight = await tenant.create("/insights/", name="Paid", filters=TRENDS)
    dashboard = await tenant.create("/dashboards/", name="Shop")
    note: Json = {"content": "Released", "date_marker": MOMENT}
    own = await tenant.create(
        "/annotations/", **note, scope="dashboard_item", dashboard_item=insight["id"]
    )
    on_board = {"scope": "dashboard", "dashboard_id": dashboard["id"], "creation_type": "GIT"}
    await tenant.create("/annotations/", content="Sale", date_marker=MOMENT, **on_board)
    gone = await tenant.create("/annotations/", **note)
    await tenant.api.patch(f"/annotations/{gone['id']}/", json={"deleted": True})

    first_import = await imported(other, await exported(tenant))
    copies = await places(other)
    second_import = await imported(other, await exported(tenant))
    await tenant.api.patch(f"/annotations/{own['id']}/", json={"scope": "project"})
    third_import = await imported(other, await exported(tenant))

    assert results(first_import) == [("Released", "created", ""), ("Sale", "created", "")]
    assert copies == [
        ("Sale", MOMENT, "GIT", "dashboard", None, "Shop"),
        ("Released", MOMENT, "USR", "dashboard_item", "Paid", None),
    ]
    assert {result for _, result, _ in results(second_import)} == {"unchanged"}
    assert results(third_import)[0] == ("Released", "updated", "scope")
    assert await places(other) == await places(tenant)


async def test_annotations_of_deleted_insights_stay_behind(tenant: Tenant) -> None:
    insight = await tenant.create("/insights/", name="Paid", filters=TRENDS)
    of_insight: Json = {"dashboard_item": insight["id"]}
    await tenant.create("/annotations/", content="Gone", scope="dashboard_item", **of_insight)
    await tenant.create("/annotations/", content="Kept", **of_insight)
    await tenant.api.patch(f"/insights/{insight['id']}/", json={"deleted": True})

    document = await exported(tenant)

    assert [(entry.key, entry.insight) for entry in document.annotations] == [("Kept", None)]
    assert b'"annotations"' in write_document(document)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"insight": "zzz"}, "annotation Sale: insight: insight 'zzz' is not in the document"),
        ({"scope": "dashboard"}, "annotation Sale: dashboard: an annotation with the scope"),
        ({"scope": "recording"}, "annotation Sale: scope"),
    ],
)
async def test_a_faulty_annotation_is_refused(tenant: Tenant, changed: Json, why: str) -> None:
    annotation = {"key": "Sale", "content": "Sale", "date_marker": MOMENT, **changed}
    body = {"format": "fanion-project", "version": 1, "annotations": [annotation]}

    with pytest.raises(DocumentError, match=why):
        await imported(tenant, read_document(msgspec.json.encode(body)))
