"""Alerts of insights in a document."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from fanion.transfer.document import Document, DocumentError, read_document, write_document
from fanion.transfer.export_store import export_project
from fanion.transfer.importing.importer import import_document
from fanion.transfer.report import Report
from tests.support.application import Json, Tenant, open_tenant
from tests.support.events_engine import next_project
from tests.transfer.test_api import author_in, project_of

TRENDS: Json = {"insight": "TRENDS", "events": [{"id": "paid"}]}


@pytest.fixture
async def other(tenant: Tenant) -> AsyncIterator[Tenant]:
    """Open a project of another organization."""
    async with open_tenant(tenant.server, next_project()) as other:
        yield other


async def exported(tenant: Tenant) -> Document:
    document = await export_project(tenant.server.records, await project_of(tenant))
    return read_document(write_document(document))


async def imported(tenant: Tenant, document: Document) -> Report:
    return await import_document(tenant.server.records, await author_in(tenant), document)


def results(report: Report) -> list[tuple[str, str, str]]:
    return [
        (outcome.name, outcome.result, outcome.why)
        for outcome in report.outcomes
        if outcome.kind == "alert"
    ]


async def test_alerts_follow_their_insight_once(tenant: Tenant, other: Tenant) -> None:
    insight = await tenant.create("/insights/", name="Paid", filters=TRENDS)
    few = {"name": "Few", "insight": insight["id"], "condition": "below"}
    await tenant.create("/alerts/", **few, threshold=10)
    second = await tenant.create(
        "/alerts/", **few, threshold=5, series_index=1, breakdown_value="pro", enabled=False
    )

    first_import = await imported(other, await exported(tenant))
    second_import = await imported(other, await exported(tenant))

    assert results(first_import) == [("Few", "created", ""), ("Few (2)", "created", "")]
    assert results(second_import) == [("Few", "unchanged", ""), ("Few (2)", "unchanged", "")]
    [copy] = (await other.get("/insights/"))["results"]
    alerts = (await other.get("/alerts/"))["results"]
    names = (
        *("name", "insight", "condition", "threshold", "series_index", "breakdown_value"),
        *("enabled", "state"),
    )
    assert [[alert[name] for name in names] for alert in alerts] == [
        ["Few", copy["id"], "below", 10.0, 0, None, True, "not_checked"],
        ["Few", copy["id"], "below", 5.0, 1, "pro", False, "not_checked"],
    ]

    changed = {"threshold": 7, "enabled": True}
    assert (await tenant.api.patch(f"/alerts/{second['id']}/", json=changed)).status_code == 200
    third_import = await imported(other, await exported(tenant))

    assert results(third_import)[1] == ("Few (2)", "updated", "threshold, enabled")
    alerts = (await other.get("/alerts/"))["results"]
    assert [(alert["threshold"], alert["enabled"]) for alert in alerts] == [
        (10.0, True),
        (7.0, True),
    ]


async def test_alerts_of_deleted_insights_stay_behind(tenant: Tenant) -> None:
    insight = await tenant.create("/insights/", name="Paid", filters=TRENDS)
    kept = {"name": "x", "insight": insight["id"], "condition": "above", "threshold": 1}
    await tenant.create("/alerts/", **kept)
    await tenant.api.patch(f"/insights/{insight['id']}/", json={"deleted": True})

    document = await exported(tenant)

    assert document.alerts == []
    assert b'"alerts"' not in write_document(document)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"insight": "zzz"}, "alert Few: insight: insight 'zzz' is not in the document"),
        (
            {"condition": "changes_by", "threshold": -1},
            "alert Few: threshold: Ensure this value is greater than or equal to 0.",
        ),
    ],
)
async def test_a_faulty_alert_is_refused(tenant: Tenant, changed: Json, why: str) -> None:
    alert = {"key": "Few", "name": "Few", "insight": "abc", "condition": "below", "threshold": 1}
    insights = [{"short_id": "abc", "filters": TRENDS}]
    read = {"insights": insights, "alerts": [{**alert, **changed}]}

    with pytest.raises(DocumentError, match=why):
        await imported(tenant, _document(read))


def _document(body: Json) -> Document:
    head = {"format": "fanion-project", "version": 1}
    return read_document(msgspec.json.encode({**head, **body}))
