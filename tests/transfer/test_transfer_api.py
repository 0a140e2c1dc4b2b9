"""Exporting and importing a project through the API, as the console does."""

from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import httpx
import pytest
from msgspec import json

from fanion.projects.model import Level
from fanion.projects.store import ProjectStore
from fanion.transfer.document import DOCUMENT_BYTES_MAX, write_document
from fanion.transfer.export_store import export_project
from tests.support.application import BASE_URL, Json, Tenant, error, open_tenant
from tests.support.events_engine import next_project
from tests.support.management import add_key, add_member
from tests.support.rich_project import PERSONS, ProjectApi, make_rich_project

HEAD: Json = {"format": "fanion-project", "version": 1}
FLAG: Json = {"key": "beta", "filters": {"groups": [{"properties": []}]}}


@pytest.fixture
async def other(tenant: Tenant) -> AsyncIterator[Tenant]:
    """Open a project of another organization."""
    async with open_tenant(tenant.server, next_project()) as other:
        yield other


async def make_rich(tenant: Tenant) -> None:
    await tenant.capture(*PERSONS)
    project_api = ProjectApi(tenant.api, BASE_URL, tenant.project_id)
    await make_rich_project(project_api, tenant.owner["uuid"], tenant.server.calculated)


async def exported(tenant: Tenant) -> bytes:
    answer = await tenant.api.get("/export/")
    assert answer.status_code == 200, answer.text
    return answer.content


async def upload(tenant: Tenant, document: bytes | Json, **fields: Any) -> httpx.Response:
    raw = document if isinstance(document, bytes) else json.encode({**HEAD, **document})
    return await tenant.api.post(
        "/import/", files={"file": ("project.json", BytesIO(raw))}, data=fields
    )


def counts(report: Json) -> dict[str, dict[str, int]]:
    return {one.pop("kind"): {k: n for k, n in one.items() if n} for one in report["counts"]}


# Slow, because each export and import starts a process.
@pytest.mark.every_engine
async def test_a_project_is_moved_into_another_one(tenant: Tenant, other: Tenant) -> None:
    await make_rich(tenant)
    document = await exported(tenant)

    preview = (await upload(other, document, dry_run="true")).json()
    untouched = (await other.get("/feature_flags/"))["count"]
    report = (await upload(other, document)).json()
    again = (await upload(other, document)).json()

    assert untouched == 0
    assert preview == report
    flags = counts(report)["flag"]["created"]
    assert (await other.get("/feature_flags/"))["count"] == flags
    skipped = {one["result"] for one in again["outcomes"]}
    assert skipped <= {"skipped"}
    assert all(set(of) <= {"unchanged", "skipped"} for of in counts(again).values())


async def test_the_export_is_what_the_command_writes(tenant: Tenant) -> None:
    await make_rich(tenant)
    records, project_id = tenant.server.records, tenant.project_id
    project = (await ProjectStore(records).by_ids([project_id]))[project_id]

    answer = await tenant.api.get("/export/")

    assert answer.content == write_document(await export_project(records, project))
    assert answer.headers["content-type"] == "application/json"
    name = f'attachment; filename="project-{tenant.project_id}.json"'
    assert answer.headers["content-disposition"] == name


async def test_an_export_is_recorded_and_one_that_is_only_asked_about_is_not(
    tenant: Tenant,
) -> None:
    head = await tenant.api.head("/export/")
    before = await tenant.get("/activity_log/", scope="Project")
    await exported(tenant)
    [entry] = (await tenant.get("/activity_log/", scope="Project"))["results"]

    assert (head.status_code, head.content, before["results"]) == (200, b"", [])
    assert (entry["activity"], entry["item_id"]) == ("exported_project", str(tenant.project_id))


async def test_flags_that_were_imported_are_evaluated_at_once(tenant: Tenant) -> None:
    before = await tenant.decide("ann")

    assert (await upload(tenant, {"flags": [FLAG]})).status_code == 200

    assert "beta" not in before["featureFlags"]
    assert (await tenant.decide("ann"))["featureFlags"]["beta"] is True


async def test_an_import_says_what_differs(tenant: Tenant) -> None:
    await upload(tenant, {"flags": [FLAG], "roles": [{"name": "Ops"}]})
    stranger = {"name": "ops", "members": ["nobody@example.com"]}
    changed = {**FLAG, "name": "Beta", "active": False}

    report = (await upload(tenant, {"flags": [changed], "roles": [stranger]}, dry_run="1")).json()

    [flag] = [one for one in report["outcomes"] if one["kind"] == "flag"]
    [member] = [one for one in report["outcomes"] if one["kind"] == "role member"]
    assert (flag["result"], flag["why"]) == ("updated", "name, active")
    assert (member["result"], member["name"]) == ("skipped", "nobody@example.com in ops")
    assert report["outcomes_left_out"] == 0


WHOLE = json.encode({**HEAD, "flags": [FLAG]})
BAD: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "invalid_document", "the document is not JSON: Input data was truncated"),
    "cut": (WHOLE[:-3], "invalid_document", "the document is not JSON: Input data was truncated"),
    "UTF-16": (
        WHOLE.decode().encode("utf-16"),
        "invalid_document",
        "is not JSON: JSON is malformed",
    ),
    "Latin-1": (
        json.encode({**HEAD, "flags": [{**FLAG, "name": "Ä"}]}).decode().encode("latin-1"),
        "invalid_document",
        "the document is not JSON",
    ),
    "another version": (
        json.encode({**HEAD, "version": 2}),
        "invalid_document",
        "`version` of the document is 2; only 1 is supported",
    ),
    "another file": (b'{"a": 1}', "invalid_document", "this is not an exported project"),
    "a table": (b"id\n1\n", "invalid_document", "the document is not JSON"),
    "a fault with its place": (
        json.encode({**HEAD, "flags": [FLAG, {"key": "b", "active": "no"}]}),
        "invalid_document",
        "flag b: active: expected bool, got str",
    ),
    "several faults": (
        json.encode(
            {
                **HEAD,
                "flags": [
                    {**FLAG, "key": "a", "roles": ["X"]},
                    {**FLAG, "key": "b", "roles": ["Y"]},
                ],
            }
        ),
        "invalid_document",
        "\n",
    ),
    "too large": (b" " * (DOCUMENT_BYTES_MAX + 1), "too_large", "larger than the maximum"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_document_that_cannot_be_imported_is_refused_with_the_place(
    tenant: Tenant, name: str
) -> None:
    raw, code, part = BAD[name]

    answer = await upload(tenant, raw)

    body = answer.json()
    assert (answer.status_code, body["code"], body["attr"]) == (400, code, "file")
    assert part in body["detail"]
    assert (await tenant.get("/feature_flags/"))["count"] == 0


async def test_a_request_without_the_file_or_with_other_fields_is_refused(tenant: Tenant) -> None:
    without = await tenant.api.post("/import/", data={"dry_run": "true"})
    inline = await tenant.api.post("/import/", json={"file": "{}"})
    unknown = await upload(tenant, {}, dryrun="true")
    neither = await upload(tenant, {}, dry_run="maybe")

    assert [
        (one.status_code, one.json()["attr"]) for one in (without, inline, unknown, neither)
    ] == [
        (400, "file"),
        (400, "file"),
        (400, "dryrun"),
        (400, "dry_run"),
    ]


async def test_only_administrators_move_projects(tenant: Tenant) -> None:
    member = await add_member(tenant.server.records, "mel", Level.MEMBER, tenant.organization_id)
    reader = await add_key(tenant.server.records, tenant.user_id, "phx_reader", ["project:write"])
    insufficient = error(
        "authentication_error",
        "permission_denied",
        "Your organization access level is insufficient.",
    )
    unscoped = error(
        "authentication_error",
        "permission_denied",
        "This action does not support Personal API Key access",
    )
    path = f"/api/projects/{tenant.project_id}"

    for key, refusal in ((member.key, insufficient), (reader, unscoped)):
        async with tenant.server.client(key) as client:
            read = await client.get(f"{path}/export/")
            written = await client.post(f"{path}/import/", files={"file": BytesIO(b"{}")})
            assert [read.status_code, written.status_code] == [403, 403]
            assert [read.json(), written.json()] == [refusal, refusal]
