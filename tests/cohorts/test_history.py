"""The history of calculations and imports of a cohort."""

from typing import Any

import pytest

from fanion.cohorts.model import RUNS_MAX, UNMATCHED_MAX
from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    ALONE,
    all_conditions,
    change_cohort,
    create_cohort,
    person,
    person_is,
    three_persons,
    upload_cohort,
)

pytestmark = pytest.mark.every_engine


async def history(tenant: Tenant, cohort: Json, **query: Any) -> Json:
    page: Json = await tenant.get(f"/cohorts/{cohort['id']}/calculation_history/", **query)
    return page


async def uploaded(tenant: Tenant, cohort: Json) -> Json:
    """Return the report of the newest import."""
    report: Json = (await history(tenant, cohort))["results"][0]["uploaded"]
    return report


async def test_calculations_are_listed_newest_first(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    before = await history(tenant, cohort)
    await tenant.server.calculated()
    await change_cohort(tenant, cohort, filters=all_conditions(ALONE))
    tenant.server.clock.move(hours=1)
    await tenant.server.calculated()

    page = await history(tenant, cohort)

    assert before == {"count": 0, "next": None, "previous": None, "results": []}
    failed, succeeded = page["results"]
    assert page["count"] == 2
    assert succeeded == {
        "id": succeeded["id"],
        "started_at": "2024-03-01T12:00:00Z",
        "finished_at": succeeded["finished_at"],
        "count": 2,
        "error": None,
        "is_completed": True,
        "is_successful": True,
        "total_query_ms": succeeded["total_query_ms"],
        "total_read_rows": succeeded["total_read_rows"],
        "uploaded": None,
    }
    assert succeeded["total_read_rows"] > 0
    assert (failed["count"], failed["is_successful"]) == (None, False)
    assert failed["error"].startswith("Negated conditions must be combined")
    assert failed["id"] > succeeded["id"]


async def test_the_last_success_is_explained_after_failures(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    await tenant.server.calculated()
    await change_cohort(tenant, cohort, filters=all_conditions(ALONE))
    await tenant.server.calculated()

    explanation = await tenant.get(f"/cohorts/{cohort['id']}/explain/")

    assert explanation["last_run"]["members"] == 2


async def test_the_history_is_limited_and_listed_by_page(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))
    for _ in range(RUNS_MAX + 2):
        await tenant.server.calculated()
        tenant.server.clock.move(minutes=15)

    whole = await history(tenant, cohort)
    page = await history(tenant, cohort, limit=2, offset=1)

    assert whole["count"] == len(whole["results"]) == RUNS_MAX
    assert page["results"] == whole["results"][1:3]
    assert "offset=3" in page["next"]


async def test_a_run_stored_by_an_older_version_is_one_calculation(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, name="old")
    await tenant.server.calculated()
    run = {"started_at": "2024-02-01T00:00:00Z", "seconds": 1.5, "rows_read": 7, "members": 3}
    await tenant.store_cohort(cohort, last_run=run)

    [calculation] = (await history(tenant, cohort))["results"]
    explained = await tenant.get(f"/cohorts/{cohort['id']}/explain/")

    assert (calculation["id"], calculation["count"], calculation["total_query_ms"]) == (0, 3, 1500)
    assert calculation["finished_at"] == "2024-02-01T00:00:01.500000Z"
    assert explained["last_run"] == run


async def test_an_upload_reports_how_many_rows_matched_and_the_others(tenant: Tenant) -> None:
    """Rows are counted, not persons: two rows may name one person."""
    await three_persons(tenant)
    await tenant.capture(
        {"event": "$create_alias", "distinct_id": "ann", "properties": {"alias": "anna"}}
    )

    cohort = await upload_cohort(tenant, "ann\nnobody\nann\nanna\nNobody\nnobody\nbob\n")
    await tenant.server.calculated()

    assert await uploaded(tenant, cohort) == {
        "rows": 7,
        "matched": 4,
        "unmatched_count": 3,
        "unmatched": ["nobody", "Nobody"],
    }


@pytest.mark.parametrize("ids", [["ann", "bob", "cid"], ["ann"], ["ann", "ann", "ann"]])
async def test_where_every_row_matches_none_are_listed_as_unmatched(
    tenant: Tenant, ids: list[str]
) -> None:
    await three_persons(tenant)

    cohort = await upload_cohort(tenant, "\n".join(ids))
    await tenant.server.calculated()

    rows = len(ids)
    assert await uploaded(tenant, cohort) == {
        "rows": rows,
        "matched": rows,
        "unmatched_count": 0,
        "unmatched": [],
    }


async def test_rows_with_emails_match_the_persons_that_have_them(tenant: Tenant) -> None:
    await three_persons(tenant)
    await tenant.capture(person("eve", email="ann@corp.example"))

    cohort = await upload_cohort(
        tenant, "name,email\na,ANN@corp.example\nb,x@y\nc,ann@Corp.example\n"
    )
    await tenant.server.calculated()

    report = await uploaded(tenant, cohort)
    assert (report["rows"], report["matched"], report["unmatched"]) == (3, 2, ["x@y"])


async def test_rows_with_merged_persons_match_the_survivors(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann, cid = [(await tenant.person(name))["uuid"] for name in ("ann", "cid")]
    merge = {"event": "$merge_dangerously", "distinct_id": "bob", "properties": {"alias": "ann"}}
    await tenant.capture(merge)
    bob = (await tenant.person("bob"))["uuid"]
    anonymous = "00000000-0000-0000-0000-000000000007"

    cohort = await upload_cohort(
        tenant, f"person_id\n{ann}\n{bob}\n{cid.upper()}\nno uuid\n{anonymous}\n{ann}\n"
    )
    await tenant.server.calculated()

    report = await uploaded(tenant, cohort)
    assert (report["rows"], report["matched"]) == (6, 4)
    assert report["unmatched"] == ["no uuid", anonymous]


async def test_some_of_many_unmatched_rows_are_listed_and_all_are_counted(tenant: Tenant) -> None:
    await three_persons(tenant)
    strangers = [f"nobody-{n}" for n in range(UNMATCHED_MAX + 5)]

    cohort = await upload_cohort(tenant, "\n".join([*strangers, "x" * 2_000, "ann"]))
    await tenant.server.calculated()

    report = await uploaded(tenant, cohort)
    assert (report["rows"], report["matched"]) == (len(strangers) + 2, 1)
    assert report["unmatched_count"] == len(strangers) + 1
    assert report["unmatched"] == strangers[:UNMATCHED_MAX]


async def test_only_the_newest_import_lists_unmatched_rows(tenant: Tenant) -> None:
    await three_persons(tenant)
    cohort = await upload_cohort(tenant, "ann\nfirst\n")
    await tenant.server.calculated()
    await upload_cohort(tenant, "second\n", cohort)
    await tenant.server.calculated()

    newest, oldest = (await history(tenant, cohort))["results"]

    assert newest["uploaded"]["unmatched"] == ["second"]
    assert (oldest["uploaded"]["unmatched_count"], oldest["uploaded"]["unmatched"]) == (1, [])
    assert (oldest["count"], newest["count"]) == (1, 1)


async def test_unknown_cohorts_have_no_history(tenant: Tenant) -> None:
    answer = await tenant.api.get("/cohorts/99999999/calculation_history/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")
