"""A project gets another key, and the former one stays valid for a while."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import httpx
import pytest

from fanion.projects.model import FORMER_VALID_S, FORMER_VALID_S_MAX
from tests.support.application import Json, Tenant
from tests.support.management import NOW, add_key, add_member, error, invalid


async def reset(tenant: Tenant, **sent: Any) -> Json:
    answer = await tenant.api.patch("/reset_token/", json=sent)
    assert answer.status_code == 200, answer.text
    project: Json = answer.json()
    return project


async def statuses(tenant: Tenant, tokens: Sequence[str]) -> list[int]:
    """Return the statuses of capturing and evaluating with each token."""
    codes = []
    for token in tokens:
        body = {"api_key": token, "event": "a", "distinct_id": "u"}
        for path in ("/capture/", "/decide?v=3"):
            codes.append((await tenant.public.post(path, json=body)).status_code)
    await tenant.server.ingested()
    return codes


@pytest.mark.every_engine
async def test_the_former_key_stays_valid_for_a_day_by_default(tenant: Tenant) -> None:
    before = await tenant.get("/")

    after = await reset(tenant)

    present, former = after["api_token"], tenant.token
    until = NOW + timedelta(seconds=FORMER_VALID_S)
    assert present.startswith("phc_") and present != former
    assert after == before | {
        "api_token": present,
        "former_api_tokens": [{"api_token": former, "valid_until": f"{until:%Y-%m-%dT%H:%M:%SZ}"}],
    }
    projects = tenant.server.running.public.flags.projects
    assert await statuses(tenant, [present, former]) == [200] * 4
    tenant.server.clock.time = until - timedelta(seconds=1)
    projects.end_former_tokens()
    assert await statuses(tenant, [present, former]) == [200] * 4
    tenant.server.clock.time = until
    projects.end_former_tokens()
    assert await statuses(tenant, [present, former]) == [200, 200, 401, 401]
    assert (await tenant.get("/"))["former_api_tokens"] == []


async def test_a_key_may_end_at_once_with_all_former_ones(tenant: Tenant) -> None:
    first = (await reset(tenant, former_valid_s=FORMER_VALID_S_MAX))["api_token"]

    second = (await reset(tenant, former_valid_s=0))["api_token"]

    assert await statuses(tenant, [tenant.token, first, second]) == [401, 401, 401, 401, 200, 200]


async def test_everything_that_takes_a_project_key_takes_the_former_one(tenant: Tenant) -> None:
    await tenant.create_flag(key="f", filters={"groups": [{}]})
    present = (await reset(tenant))["api_token"]
    bearer = {"authorization": f"Bearer {tenant.key}"}

    for token in (present, tenant.token):
        config = await tenant.public.get(f"/array/{token}/config")
        ofrep = await tenant.public.post(
            "/ofrep/v1/evaluate/flags/f",
            json={"context": {"targetingKey": "u"}},
            headers={"x-api-key": token},
        )
        surveys = await tenant.public.get("/api/surveys", params={"token": token})
        definitions = await tenant.public.get(
            "/flags/definitions", params={"token": token}, headers=bearer
        )

        assert (config.status_code, config.json()["token"]) == (200, token)
        assert (ofrep.status_code, ofrep.json()["value"]) == (200, True)
        assert (surveys.status_code, definitions.status_code) == (200, 200)


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (
            {"former_valid_s": -1},
            invalid(
                "min_value",
                "Ensure this value is greater than or equal to 0.",
                "former_valid_s",
            ),
        ),
        (
            {"former_valid_s": FORMER_VALID_S_MAX + 1},
            invalid(
                "max_value",
                f"Ensure this value is less than or equal to {FORMER_VALID_S_MAX}.",
                "former_valid_s",
            ),
        ),
    ],
)
async def test_a_wrong_time_is_refused(tenant: Tenant, sent: Json, body: Json) -> None:
    for answer in (
        await tenant.api.patch("/reset_token/", json=sent),
        await tenant.api.post("/secret_key/", json=sent),
    ):
        assert (answer.status_code, answer.json()) == (400, body)


async def test_only_administrators_reset_a_key(tenant: Tenant) -> None:
    name = f"mia-{tenant.project_id}"
    member = await add_member(tenant.server.records, name, organization_id=tenant.organization_id)
    async with tenant.server.client(member.key, f"/api/projects/{tenant.project_id}") as client:
        answer = await client.patch("/reset_token/", json={})

    detail = "Your organization access level is insufficient."
    refused = error("authentication_error", "permission_denied", detail)
    assert (answer.status_code, answer.json()) == (403, refused)
    assert (await tenant.get("/"))["api_token"] == tenant.token


async def test_the_activity_records_the_other_key_and_not_the_key(tenant: Tenant) -> None:
    present = (await reset(tenant))["api_token"]

    [entry] = (await tenant.get("/activity_log/", scope="Project"))["results"]

    [change] = entry["detail"]["changes"]
    assert (entry["activity"], change["field"]) == ("updated", "api_token")
    assert change["before"] == f"phc_...{tenant.token[-4:]}"
    assert change["after"] == f"phc_...{present[-4:]}"
    assert present not in str(entry)


async def test_a_former_secret_key_goes_on_when_asked(tenant: Tenant) -> None:
    first = (await tenant.api.post("/secret_key/")).json()["secret_api_key"]
    second = (await tenant.api.post("/secret_key/", json={"former_valid_s": 60})).json()

    async def read(key: str) -> int:
        headers = {"authorization": f"Bearer {key}"}
        return (await tenant.public.get("/flags/definitions", headers=headers)).status_code

    keys = [first, second["secret_api_key"]]
    before = [await read(key) for key in keys]
    tenant.server.clock.move(seconds=60)
    after = [await read(key) for key in keys]

    assert (before, after) == ([200, 200], [401, 200])


async def test_a_project_says_whether_it_has_a_secret_key(tenant: Tenant) -> None:
    before = await tenant.get("/secret_key/")
    key = (await tenant.api.post("/secret_key/")).json()["secret_api_key"]
    made = await tenant.get("/secret_key/")
    await tenant.api.delete("/secret_key/")
    after = await tenant.get("/secret_key/")

    assert before == after == {"mask_value": None, "created_at": None}
    assert made == {"mask_value": f"phs_...{key[-4:]}", "created_at": f"{NOW:%Y-%m-%dT%H:%M:%SZ}"}


async def test_a_key_gets_a_secret_key_only_if_it_may_read_flags(tenant: Tenant) -> None:
    """The secret key reads flag definitions."""

    async def rotate(*scopes: str) -> httpx.Response:
        name = f"phx_{tenant.project_id}_{len(scopes)}"
        key = await add_key(tenant.server.records, tenant.user_id, name, scopes)
        async with tenant.server.client(key, f"/api/projects/{tenant.project_id}") as client:
            return await client.post("/secret_key/", json={})

    refused = await rotate("project:write")
    made = await rotate("project:write", "feature_flag:read")

    detail = "API key missing required scope 'feature_flag:read'"
    body = error("authentication_error", "permission_denied", detail)
    assert (refused.status_code, refused.json()) == (403, body)
    assert made.json()["secret_api_key"].startswith("phs_")
