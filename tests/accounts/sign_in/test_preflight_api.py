"""The information that a page has before a user has signed in."""

from dataclasses import replace

import httpx
import pytest

from fanion.accounts.model import SignInOptions
from fanion.accounts.sign_in.api import PreflightApi
from fanion.db.engine import Records
from fanion.web.application import for_public_listener
from tests.support.application import BASE_URL, Tenant
from tests.support.exchange import MemoryTransport
from tests.support.management import open_workspace

BODY = {
    "initiated": True,
    "realm": "hosted-clickhouse",
    "cloud": False,
    "demo": False,
    "can_create_org": False,
    "email_service_available": False,
    "available_social_auth_providers": {},
    "password_sign_in": True,
    "capture_url": None,
}


@pytest.mark.parametrize("path", ["/_preflight", "/_preflight/"])
async def test_how_to_sign_in_is_told_without_a_key(tenant: Tenant, path: str) -> None:
    answer = await tenant.public.get(path)
    changed = await tenant.public.post(path)
    below = await tenant.public.get("/_preflight/more")

    assert (answer.status_code, answer.json()) == (200, BODY)
    assert (changed.status_code, below.status_code) == (405, 404)


async def test_the_public_listener_has_no_preflight(tenant: Tenant) -> None:
    transport = MemoryTransport(for_public_listener(tenant.server.application))
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        answers = [await client.get("/_preflight/"), await client.post("/api/login/", json={})]

    assert [answer.status_code for answer in answers] == [404, 404]


async def test_what_is_configured_is_offered(records: Records) -> None:
    async with open_workspace(records, (PreflightApi,)) as workspace:
        options = SignInOptions(
            password=False, mail=True, providers=("oidc",), capture_url="https://in.example.com"
        )
        sign_in = replace(workspace.sign_in, options=options)
    async with (
        open_workspace(
            records, (PreflightApi,), {"sign_in": sign_in}, first=workspace
        ) as configured,
        configured.client_with(None) as client,
    ):
        answer = await client.get("/_preflight/")

    assert answer.json() == {
        **BODY,
        "email_service_available": True,
        "available_social_auth_providers": {"oidc": True},
        "password_sign_in": False,
        "capture_url": "https://in.example.com",
    }
