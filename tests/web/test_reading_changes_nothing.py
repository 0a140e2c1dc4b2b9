"""The effects of links: a browser follows a link with the session's cookie, whoever has written it.

Over plain http the browser says nothing about the page that has the link.
"""

from collections.abc import Mapping

import httpx
import pytest
from sqlalchemy import select

from fanion.db.engine import Records
from fanion.db.schema.tables import metadata
from tests.support.application import Json, Tenant
from tests.support.batch_exports import BATCH_EXPORT
from tests.support.published_paths import fill_path

# Downloading everything is recorded in the activity log.
_RECORDED = "/export/"
# When a credential was last used, and computed answers.
_NOTED, _CACHE = {"last_used_at"}, {"insight_results", "dashboard_refreshes"}
_OVERRIDES = {
    "x-http-method-override": "DELETE",
    "x-http-method": "POST",
    "x-method-override": "PATCH",
}


async def object_ids(tenant: Tenant) -> Mapping[str, str]:
    """Create objects, and return their ids by their places in paths."""
    async with tenant.server.client(tenant.key) as client:

        async def made(path: str, body: Json) -> str:
            answer = await client.post(path, json=body)
            assert answer.status_code in (200, 201), answer.text
            return str(answer.json()["id"])

        project = f"/api/projects/{tenant.project_id}"
        hook = {"url": "https://hooks.example/x", "events": ["feature_flag.updated"]}
        return {
            "project_id": str(tenant.project_id),
            "organization": str(tenant.organization_id),
            "feature_flags": await made(f"{project}/feature_flags/", {"key": "kept"}),
            "key": "kept",
            "cohorts": await made(f"{project}/cohorts/", {"name": "kept"}),
            "dashboards": await made(f"{project}/dashboards/", {"name": "kept"}),
            "insights": await made(f"{project}/insights/", {"name": "kept"}),
            "batch_exports": await made(f"{project}/batch_exports/", BATCH_EXPORT),
            "webhooks": await made(f"{project}/webhooks/", hook),
        }


async def addresses(tenant: Tenant) -> list[str]:
    """Return every address that can be read, with the test's objects where there are some."""
    schema = (await tenant.public.get("/api/schema/")).json()
    known = await object_ids(tenant)
    return [
        fill_path(path, known, "1")
        for path, item in schema["paths"].items()
        if "get" in item and not path.endswith(_RECORDED)
    ]


async def rows(records: Records) -> dict[str, list[str]]:
    """Return all rows of the records store."""
    stored_rows = {}
    async with records.read() as connection:
        for table in metadata.sorted_tables:
            if table.name in _CACHE:
                continue
            columns = [column for column in table.c if column.name not in _NOTED]
            stored = await connection.execute(select(*columns))
            stored_rows[table.name] = sorted(map(repr, stored))
    return stored_rows


async def cookie_browser(tenant: Tenant) -> httpx.AsyncClient:
    """Return a signed-in browser that sends nothing but the cookie."""
    own = await tenant.server.browser(tenant.user_id)
    client = tenant.server.client()
    client.cookies.update(own.cookies)
    return client


async def follow(client: httpx.AsyncClient, method: str, address: str) -> int:
    request = client.build_request(method, address, headers=_OVERRIDES)
    answer = await client.send(request, stream=True)
    await answer.aclose()  # only the beginning of a stream
    return answer.status_code


# It takes seconds: every address is read, and every table before and after.
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_nothing_that_is_read_with_a_session_changes(tenant: Tenant, method: str) -> None:
    known = await addresses(tenant)
    before = await rows(tenant.server.records)

    async with await cookie_browser(tenant) as browser:
        before["sessions"] = (await rows(tenant.server.records))["sessions"]
        statuses = {address: await follow(browser, method, address) for address in known}

    assert len(known) > 50
    assert {address for address, status in statuses.items() if status >= 500} == set()
    assert sum(status == 200 for status in statuses.values()) > len(known) / 2
    after = await rows(tenant.server.records)
    assert {name: after[name] for name in after if after[name] != before[name]} == {}


async def test_what_changes_something_all_the_same_needs_a_page_of_ours(tenant: Tenant) -> None:
    """PostHog has such a path too."""
    cohort = (await object_ids(tenant))["cohorts"]
    path = f"/api/projects/@current/cohorts/{cohort}/duplicate_as_static_cohort/"

    async with await cookie_browser(tenant) as browser:
        linked = await browser.get(path)
        typed = await browser.get(path, headers={"sec-fetch-site": "none"})
    async with await tenant.server.browser(tenant.user_id) as page:
        own = await page.get(path)

    assert [answer.status_code for answer in (linked, typed, own)] == [403, 403, 200]
    assert linked.json()["code"] == "forged_request"
    assert own.json()["is_static"] is True


async def test_head_of_what_makes_something_is_refused(tenant: Tenant) -> None:
    """HEAD is refused with a key, from a page of ours, and without either."""
    known = await object_ids(tenant)
    makes = [
        f"/api/projects/{tenant.project_id}/cohorts/{known['cohorts']}/duplicate_as_static_cohort/",
        "/api/login/oidc/",
        "/api/login/oidc/callback/",
    ]
    before = await rows(tenant.server.records)

    async with (
        await tenant.server.browser(tenant.user_id) as page,
        tenant.server.client(tenant.key) as script,
        tenant.server.client() as stranger,
    ):
        before["sessions"] = (await rows(tenant.server.records))["sessions"]
        answers = [
            await client.head(address) for client in (page, script, stranger) for address in makes
        ]
        listed = [await stranger.options(address) for address in makes]

    assert {answer.status_code for answer in answers} == {405}
    assert {answer.headers["allow"] for answer in answers} == {"GET, OPTIONS"}
    assert {answer.headers["allow"] for answer in listed} == {"GET, OPTIONS"}
    after = await rows(tenant.server.records)
    assert {name: after[name] for name in after if after[name] != before[name]} == {}


# It takes seconds: each address is read twice, and every table before and after.
async def test_head_is_answered_as_get_wherever_that_makes_nothing(tenant: Tenant) -> None:
    """The owner's key may do everything, and a GET not marked as creating creates nothing."""
    known, before = await addresses(tenant), await rows(tenant.server.records)

    async with tenant.server.client(tenant.key) as script:
        heads = {address: await follow(script, "HEAD", address) for address in known}
        after_heads = await rows(tenant.server.records)
        refused = {address for address, status in heads.items() if status == 405}
        gets = {
            address: await follow(script, "GET", address)
            for address in known
            if address not in refused
        }
        after = await rows(tenant.server.records)

    assert {address.rstrip("/").rpartition("/")[2] for address in refused} == {
        "duplicate_as_static_cohort",
        "oidc",
        "callback",
    }
    assert {
        address: (heads[address], gets[address])
        for address in gets
        if heads[address] != gets[address]
    } == {}
    assert {name: after[name] for name in after if after[name] != before[name]} == {}
    assert after_heads == before
