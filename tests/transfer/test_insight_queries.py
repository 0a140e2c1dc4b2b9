"""Queries of insights, and conditions of dashboards, in a document."""

from collections.abc import AsyncIterator

import pytest

from fanion.transfer.document import read_document, write_document
from fanion.transfer.export_store import export_project
from fanion.transfer.importing.importer import import_document
from fanion.transfer.posthog.schemas import PosthogInsight, stored_insight
from tests.support.application import Json, Tenant, open_tenant
from tests.support.events_engine import next_project
from tests.transfer.test_api import author_in, project_of


@pytest.fixture
async def other(tenant: Tenant) -> AsyncIterator[Tenant]:
    """Open a project of another organization."""
    async with open_tenant(tenant.server, next_project()) as other:
        yield other


async def copied(tenant: Tenant, other: Tenant) -> None:
    records = tenant.server.records
    document = await export_project(records, await project_of(tenant))
    read = read_document(write_document(document))
    await import_document(records, await author_in(other), read)


def in_cohort(cohort_id: int) -> Json:
    return {"key": "id", "type": "cohort", "value": cohort_id}


async def test_queries_and_conditions_name_the_cohorts_of_the_project(
    tenant: Tenant, other: Tenant
) -> None:
    await other.api.post("/cohorts/", json={"name": "unrelated"})
    cohort = (await tenant.api.post("/cohorts/", json={"name": "payers", "is_static": True})).json()
    members = [in_cohort(cohort["id"])]
    sent = {"name": "d", "filters": {"properties": members}}
    board = (await tenant.api.post("/dashboards/", json=sent)).json()
    source = {
        "kind": "TrendsQuery",
        "series": [{"kind": "EventsNode", "event": "seen", "properties": members}],
        "breakdownFilter": {"breakdown_type": "cohort", "breakdown": [cohort["id"], "all"]},
    }
    query = {"kind": "InsightVizNode", "source": source}
    body = {"name": "Seen", "query": query, "dashboards": [board["id"]]}
    assert (await tenant.api.post("/insights/", json=body)).status_code == 201

    await copied(tenant, other)
    await copied(tenant, other)

    [copy] = (await other.get("/cohorts/", search="payers"))["results"]
    [insight] = (await other.get("/insights/"))["results"]
    [shown] = (await other.get("/dashboards/"))["results"]
    theirs = [in_cohort(copy["id"])]
    own = insight["query"]["source"]
    assert copy["id"] != cohort["id"]
    assert insight["filters"] == {}
    assert own["series"][0]["properties"] == theirs
    assert own["breakdownFilter"]["breakdown"] == [copy["id"], "all"]
    assert (await other.get(f"/dashboards/{shown['id']}/"))["filters"] == {"properties": theirs}


@pytest.mark.parametrize(
    ("sent", "filters", "query"),
    [
        ({"filters": {"insight": "PATHS", "sampling_factor": 0.1}}, {"insight": "PATHS"}, None),
        (
            {"query": {"kind": "InsightVizNode", "source": {"kind": "X", "samplingFactor": 0.1}}},
            {},
            {"kind": "InsightVizNode", "source": {"kind": "X"}},
        ),
    ],
)
def test_sampled_insights_of_another_server_are_imported_as_exact_ones(
    sent: Json, filters: Json, query: Json | None
) -> None:
    insight = stored_insight(PosthogInsight(id=1, short_id="a", **sent))

    assert (insight.filters, insight.query) == (filters, query)
