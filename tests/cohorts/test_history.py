"""The history of calculations and imports of a cohort."""

from typing import Any

import pytest

from fanion.cohorts.model import RUNS_MAX, UNMATCHED_MAX
from tests.support.application import Home, Json, error
from tests.support.cohorts import (
    ALONE,
    all_of,
    change,
    create,
    person,
    person_is,
    three_persons,
    upload,
)

pytestmark = pytest.mark.every_engine


async def history(home: Home, cohort: Json, **query: Any) -> Json:
    page: Json = await home.get(f"/cohorts/{cohort['id']}/calculation_history/", **query)
    return page


async def uploaded(home: Home, cohort: Json) -> Json:
    """Return the report of the newest import."""
    report: Json = (await history(home, cohort))["results"][0]["uploaded"]
    return report


async def test_calculations_are_listed_newest_first(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))
    before = await history(home, cohort)
    await home.site.calculated()
    await change(home, cohort, filters=all_of(ALONE))
    home.site.clock.move(hours=1)
    await home.site.calculated()

    page = await history(home, cohort)

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


async def test_the_last_success_is_explained_after_failures(home: Home) -> None:
    await three_persons(home)
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))
    await home.site.calculated()
    await change(home, cohort, filters=all_of(ALONE))
    await home.site.calculated()

    explanation = await home.get(f"/cohorts/{cohort['id']}/explain/")

    assert explanation["last_run"]["members"] == 2


async def test_the_history_is_limited_and_listed_by_page(home: Home) -> None:
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))
    for _ in range(RUNS_MAX + 2):
        await home.site.calculated()
        home.site.clock.move(minutes=15)

    whole = await history(home, cohort)
    page = await history(home, cohort, limit=2, offset=1)

    assert whole["count"] == len(whole["results"]) == RUNS_MAX
    assert page["results"] == whole["results"][1:3]
    assert "offset=3" in page["next"]


async def test_a_run_stored_by_an_older_version_is_one_calculation(home: Home) -> None:
    cohort = await create(home, name="old")
    await home.site.calculated()
    run = {"started_at": "2024-02-01T00:00:00Z", "seconds": 1.5, "rows_read": 7, "members": 3}
    await home.store_cohort(cohort, last_run=run)

    [calculation] = (await history(home, cohort))["results"]
    explained = await home.get(f"/cohorts/{cohort['id']}/explain/")

    assert (calculation["id"], calculation["count"], calculation["total_query_ms"]) == (0, 3, 1500)
    assert calculation["finished_at"] == "2024-02-01T00:00:01.500000Z"
    assert explained["last_run"] == run


async def test_an_upload_reports_how_many_rows_matched_and_the_others(home: Home) -> None:
    """Rows are counted, not persons: two rows may name one person."""
    await three_persons(home)
    await home.capture(
        {"event": "$create_alias", "distinct_id": "ann", "properties": {"alias": "anna"}}
    )

    cohort = await upload(home, "ann\nnobody\nann\nanna\nNobody\nnobody\nbob\n")
    await home.site.calculated()

    assert await uploaded(home, cohort) == {
        "rows": 7,
        "matched": 4,
        "unmatched_count": 3,
        "unmatched": ["nobody", "Nobody"],
    }


@pytest.mark.parametrize("ids", [["ann", "bob", "cid"], ["ann"], ["ann", "ann", "ann"]])
async def test_where_every_row_matches_none_are_listed_as_unmatched(
    home: Home, ids: list[str]
) -> None:
    await three_persons(home)

    cohort = await upload(home, "\n".join(ids))
    await home.site.calculated()

    rows = len(ids)
    assert await uploaded(home, cohort) == {
        "rows": rows,
        "matched": rows,
        "unmatched_count": 0,
        "unmatched": [],
    }


async def test_rows_with_emails_match_the_persons_that_have_them(home: Home) -> None:
    await three_persons(home)
    await home.capture(person("eve", email="ann@corp.example"))

    cohort = await upload(home, "name,email\na,ANN@corp.example\nb,x@y\nc,ann@Corp.example\n")
    await home.site.calculated()

    report = await uploaded(home, cohort)
    assert (report["rows"], report["matched"], report["unmatched"]) == (3, 2, ["x@y"])


async def test_rows_with_merged_persons_match_the_survivors(home: Home) -> None:
    await three_persons(home)
    ann, cid = [(await home.person(name))["uuid"] for name in ("ann", "cid")]
    merge = {"event": "$merge_dangerously", "distinct_id": "bob", "properties": {"alias": "ann"}}
    await home.capture(merge)
    bob = (await home.person("bob"))["uuid"]
    anonymous = "00000000-0000-0000-0000-000000000007"

    cohort = await upload(
        home, f"person_id\n{ann}\n{bob}\n{cid.upper()}\nno uuid\n{anonymous}\n{ann}\n"
    )
    await home.site.calculated()

    report = await uploaded(home, cohort)
    assert (report["rows"], report["matched"]) == (6, 4)
    assert report["unmatched"] == ["no uuid", anonymous]


async def test_some_of_many_unmatched_rows_are_listed_and_all_are_counted(home: Home) -> None:
    await three_persons(home)
    strangers = [f"nobody-{n}" for n in range(UNMATCHED_MAX + 5)]

    cohort = await upload(home, "\n".join([*strangers, "x" * 2_000, "ann"]))
    await home.site.calculated()

    report = await uploaded(home, cohort)
    assert (report["rows"], report["matched"]) == (len(strangers) + 2, 1)
    assert report["unmatched_count"] == len(strangers) + 1
    assert report["unmatched"] == strangers[:UNMATCHED_MAX]


async def test_only_the_newest_import_lists_unmatched_rows(home: Home) -> None:
    await three_persons(home)
    cohort = await upload(home, "ann\nfirst\n")
    await home.site.calculated()
    await upload(home, "second\n", cohort)
    await home.site.calculated()

    newest, oldest = (await history(home, cohort))["results"]

    assert newest["uploaded"]["unmatched"] == ["second"]
    assert (oldest["uploaded"]["unmatched_count"], oldest["uploaded"]["unmatched"]) == (1, [])
    assert (oldest["count"], newest["count"]) == (1, 1)


async def test_unknown_cohorts_have_no_history(home: Home) -> None:
    answer = await home.api.get("/cohorts/99999999/calculation_history/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")
