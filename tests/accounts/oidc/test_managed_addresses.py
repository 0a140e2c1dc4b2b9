"""Addresses by which the identity provider finds accounts cannot be taken by other users."""

from pathlib import Path
from typing import Any

import pytest

from fanion.events.storage.store import EventStore
from tests.support.application import open_app_server, open_tenant
from tests.support.management import invalid

ME = "/api/users/@me/"
PROVIDER = {"oidc_issuer": "https://id.example", "oidc_client_id": "fanion"}
TAKEN = invalid(
    "email_managed",
    "Addresses at corp.example belong to the users of the identity provider.",
    "email",
)


@pytest.mark.parametrize(
    ("domains", "email", "status"),
    [
        ("other.example, corp.example", "chief@corp.example", 400),
        ("other.example, corp.example", "Chief@CORP.example", 400),
        ("corp.example", "chief@sub.corp.example", 200),
        ("", "chief@corp.example", 200),
    ],
)
async def test_an_address_of_the_providers_domains_cannot_be_taken(
    sqlite_url: str,
    events: EventStore,
    project_id: int,
    tmp_path: Path,
    domains: str,
    email: str,
    status: int,
) -> None:
    """A member who took it would get the chief's sign-in, and the level of the chief's groups."""
    settings: dict[str, Any] = {**PROVIDER, "oidc_domains": domains}
    async with (
        open_app_server(sqlite_url, events, tmp_path, **settings) as app_server,
        open_tenant(app_server, project_id) as tenant,
        await app_server.browser(tenant.user_id) as browser,
    ):
        before = (await browser.get(ME)).json()["email"]
        answer = await browser.patch(ME, json={"email": email})
        same = await browser.patch(ME, json={"email": before})
        after = (await browser.get(ME)).json()["email"]

    assert (answer.status_code, same.status_code) == (status, 200)
    if status == 400:
        assert answer.json() == TAKEN
        assert after == before
