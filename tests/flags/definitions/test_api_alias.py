"""The paths `/api/feature_flag/…`, which serve the caller's current project."""

import pytest

from tests.support.application import Tenant, error


@pytest.mark.parametrize("slash", ["", "/"])
async def test_flags_have_a_second_address(tenant: Tenant, slash: str) -> None:
    async with tenant.server.client(tenant.key, "/api/feature_flag") as client:
        made = await client.post(slash or "", json={"key": "beta"})
        flag = made.json()
        listed = (await client.get(slash, params={"limit": "1"})).json()
        read = await client.get(f"/{flag['id']}{slash}")
        same = await tenant.get(f"/feature_flags/{flag['id']}/")
        changed = await client.patch(f"/{flag['id']}{slash}", json={"name": "n"})
        removed = await client.delete(f"/{flag['id']}{slash}")
        mine = await client.get(f"/my_flags{slash}")
        reasons = await client.get(f"/evaluation_reasons{slash}", params={"distinct_id": "u"})
        reported = await client.get(f"/{flag['id']}/activity{slash}")

    assert made.status_code == 201
    assert listed["results"] == [flag]
    assert read.json() == flag == same
    assert changed.json()["name"] == "n"
    assert (removed.status_code, removed.content) == (405, b"")
    assert [my_flag["value"] for my_flag in mine.json()] == [True]
    assert list(reasons.json()) == ["beta"]
    assert reported.json()["total_count"] == 2


async def test_pages_are_linked_under_the_address_that_was_asked(tenant: Tenant) -> None:
    for key in "ab":
        await tenant.create_flag(key=key)
    async with tenant.server.client(tenant.key) as client:
        page = (await client.get("/api/feature_flag/", params={"limit": "1"})).json()

    assert page["next"] == "http://fanion.test/api/feature_flag/?limit=1&offset=1"


@pytest.mark.parametrize("path", ["/api/feature_flags/", "/api/feature_flagged/"])
async def test_nothing_else_is_served_that_way(tenant: Tenant, path: str) -> None:
    async with tenant.server.client(tenant.key) as client:
        answer = await client.get(path)

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Endpoint not found.")


async def test_the_second_address_needs_a_key_too(tenant: Tenant) -> None:
    answer = await tenant.public.get("/api/feature_flag/")

    assert answer.status_code == 401
    assert answer.json()["code"] == "not_authenticated"
