"""Uploaded files of members: their limits, and uploads that are aborted."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from fanion.cohorts.imports.store import IDS_MAX, UPLOAD_TIMEOUT, ImportStore, store_uploaded_ids
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_import_parts, cohort_imports
from fanion.events.storage.store import EventStore
from tests.support.application import Json, Tenant, error, open_app_server, open_tenant
from tests.support.cohorts import (
    cohort_members,
    create_cohort,
    retrieve_cohort,
    three_persons,
    upload_cohort,
)
from tests.support.management import NOW, Clock

BODY_MAX = 20_000
UPLOAD_MAX = 400_000
TOO_LARGE = "The request body is larger than {} bytes."


@pytest.fixture
async def small(
    records_url: str, events: EventStore, tmp_path: Path, project_id: int
) -> AsyncIterator[Tenant]:
    """Open a server with low limits."""
    limits: Json = {"body_bytes_max": BODY_MAX, "upload_bytes_max": UPLOAD_MAX}
    async with (
        open_app_server(records_url, events, tmp_path, **limits) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        yield tenant


async def stored(records: Records) -> tuple[int, int]:
    """Return the numbers of files and of parts of files."""
    async with records.read() as connection:
        files = await connection.scalar(select(func.count()).select_from(cohort_imports))
        parts = await connection.scalar(select(func.count()).select_from(cohort_import_parts))
    return files or 0, parts or 0


@pytest.mark.every_engine
async def test_a_file_may_be_larger_than_other_bodies(small: Tenant) -> None:
    await three_persons(small)
    anonymous = [f"nobody-{number}" for number in range(2 * IDS_MAX)]

    cohort = await upload_cohort(small, "\n".join(["ann", *anonymous, "bob"]))
    waiting = await stored(small.server.records)
    await small.server.calculated()
    await upload_cohort(small, "\n".join(["distinct_id", *anonymous, "cid"]), cohort)
    await small.server.calculated()

    assert waiting == (1, 3)
    assert await cohort_members(small, cohort) == ["ann", "bob", "cid"]
    assert (await retrieve_cohort(small, cohort))["count"] == 3
    assert await stored(small.server.records) == (0, 0)


def form(csv: bytes, **fields: Any) -> dict[str, Any]:
    return {"data": {"is_static": "true", **fields}, "files": {"csv": ("a.csv", csv, "text/csv")}}


async def test_a_session_uploads_what_a_key_may(small: Tenant) -> None:
    """Before the caller is known, a form is only read to find a key in it."""
    content = form(b"\n".join(b"nobody-%d" % number for number in range(BODY_MAX // 5)))
    path = f"/api/projects/{small.project_id}"
    async with (
        await small.server.browser(small.user_id, path) as browser,
        small.server.browser_with("A" * 43, path) as stranger,
    ):
        taken = await browser.post("/cohorts/", **content)
        refused = await stranger.post("/cohorts/", **content)

    assert taken.status_code == 201, taken.text
    assert refused.status_code == 401


@pytest.mark.parametrize("announced", [True, False])
async def test_a_file_beyond_its_limit_is_refused(small: Tenant, announced: bool) -> None:
    request = small.api.build_request("POST", "/cohorts/", **form(b"x\n" * UPLOAD_MAX))
    await request.aread()
    if not announced:
        del request.headers["content-length"]

    answer = await small.api.send(request)

    assert answer.status_code == 413
    assert answer.json() == error(
        "invalid_request", "payload_too_large", TOO_LARGE.format(UPLOAD_MAX)
    )
    assert await stored(small.server.records) == (0, 0)
    assert (await small.get("/cohorts/"))["count"] == 0


@pytest.mark.parametrize("announced", [True, False])
async def test_only_authenticated_clients_may_send_large_uploads(
    small: Tenant, announced: bool
) -> None:
    fitting = form(b"x\n", personal_api_key=small.key)
    larger = form(b"x\n" * BODY_MAX, personal_api_key=small.key)
    path = f"/api/projects/{small.project_id}/cohorts/"
    request = small.public.build_request("POST", path, **larger)
    await request.aread()
    if not announced:
        del request.headers["content-length"]

    accepted = await small.public.post(path, **fitting)
    refused = await small.public.send(request)
    elsewhere = await small.api.post("/feature_flags/", **form(b"x\n" * BODY_MAX))

    assert accepted.status_code == 201, accepted.text
    assert (refused.status_code, elsewhere.status_code) == (413, 413)
    assert refused.json()["detail"] == elsewhere.json()["detail"] == TOO_LARGE.format(BODY_MAX)


async def test_other_large_bodies_are_refused_as_before(small: Tenant) -> None:
    answer = await small.api.post("/cohorts/", json={"name": "x" * BODY_MAX})

    assert answer.status_code == 413
    assert answer.json()["detail"] == TOO_LARGE.format(BODY_MAX)


async def test_a_truncated_form_stores_nothing(small: Tenant) -> None:
    """The server ends such a body like any other, as it does when a client disconnects."""
    request = small.api.build_request("POST", "/cohorts/", **form(b"ann\n" * BODY_MAX))
    whole = await request.aread()
    headers = {"content-type": request.headers["content-type"]}

    answer = await small.api.post("/cohorts/", content=whole[:-30], headers=headers)

    assert answer.status_code == 400
    assert answer.json()["code"] == "parse_error"
    assert await stored(small.server.records) == (0, 0)
    assert (await small.get("/cohorts/"))["count"] == 0


@pytest.mark.parametrize(
    ("csv", "sent", "attr"),
    [
        (b"ann\n" * 9_000 + b"\xff\n", {}, "csv"),
        (b"ann\n" * 9_000 + b'"', {"description": "x" * 1001}, "description"),
    ],
)
async def test_a_refused_request_leaves_no_upload(
    small: Tenant, csv: bytes, sent: Json, attr: str
) -> None:
    answer = await small.api.post("/cohorts/", **form(csv, **sent))
    await small.server.calculated()

    assert (answer.status_code, answer.json()["attr"]) == (400, attr)
    assert (await small.get("/cohorts/"))["count"] == 0
    assert await stored(small.server.records) == (0, 0)


NOT_STATIC = error(
    "validation_error",
    "invalid_input",
    "A file of members can only be uploaded to a static cohort.",
    "csv",
)


async def test_a_file_for_a_dynamic_or_an_unknown_cohort_is_refused(small: Tenant) -> None:
    dynamic = await create_cohort(small, name="dynamic")
    files = {"csv": ("a.csv", b"ann\n", "text/csv")}

    changed = await small.api.patch(f"/cohorts/{dynamic['id']}/", files=files)
    created = await small.api.post("/cohorts/", data={"name": "also"}, files=files)
    unknown = await small.api.patch("/cohorts/99999999/", files=files)
    await small.server.calculated()

    for refused in (changed, created):
        assert (refused.status_code, refused.json()) == (400, NOT_STATIC)
    assert unknown.status_code == 404
    assert (await small.get("/cohorts/"))["count"] == 1
    assert await stored(small.server.records) == (0, 0)


@pytest.mark.parametrize("size", [1, 2_000_000], ids=["small", "large"])
async def test_a_file_under_another_name_is_refused(tenant: Tenant, size: int) -> None:
    """A large file would otherwise be in no field of the request."""
    files = {"file": ("a.csv", b"x" * size, "text/csv")}

    answer = await tenant.api.post("/cohorts/", data={"is_static": "1"}, files=files)

    assert (answer.status_code, answer.json()["attr"]) == (400, "file")
    assert answer.json()["detail"].startswith('Unknown field "file". ')


async def test_a_file_cannot_be_sent_as_text_in_json(tenant: Tenant) -> None:
    as_json = await tenant.api.post("/cohorts/", json={"is_static": True, "csv": "ann"})
    as_form = await tenant.api.post("/cohorts/", data={"is_static": "1", "csv": "ann"})
    nothing = await tenant.api.post("/cohorts/", json={"is_static": True, "csv": None})

    for refused in (as_json, as_form):
        assert (refused.status_code, refused.json()["attr"]) == (400, "csv")
    assert nothing.status_code == 201


async def test_an_abandoned_upload_is_deleted(records: Records) -> None:
    """A server that is killed leaves the same: the parts of the file, but no cohort."""
    clock = Clock(NOW)
    uploads = ImportStore(records, clock.now)
    ids = [f"{number}" for number in range(2 * IDS_MAX)]
    async with records.write() as connection:
        await connection.run_sync(store_uploaded_ids, 1, "distinct_id", ids, NOW)

    clock.time = NOW + UPLOAD_TIMEOUT / 2
    early = await uploads.clear_unowned()
    before = await stored(records)
    clock.time = NOW + UPLOAD_TIMEOUT
    while await uploads.clear_unowned():
        pass

    assert (early, before) == (False, (1, 2))
    assert await stored(records) == (0, 0)
