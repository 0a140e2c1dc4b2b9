"""Accounts that somebody else opened for a colleague's address.

Such an account belongs only to the colleague once the provider, or a mailed link, has shown whose
address it is.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyotp import TOTP
from sqlalchemy import select, update

from fanion.accounts.mail.message import Mail
from fanion.accounts.model import Purpose
from fanion.db.schema.accounts import recovery_codes, second_factors, sign_in_links
from fanion.db.schema.tables import users
from fanion.events.storage.store import EventStore
from fanion.projects.members.model import NewMember
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore
from fanion.projects.model import Level
from tests.support.application import AppServer, Tenant, open_app_server, open_tenant
from tests.support.management import CONSOLE
from tests.support.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    FakeProvider,
    open_provider,
)

EMAIL, PASSWORD = "carla@corp.example", "a long enough password"
ME, KEYS, INVITES = (
    "/api/users/@me/",
    "/api/personal_api_keys/",
    "/api/organizations/@current/invites/",
)
START, CALLBACK = "/api/login/oidc/", "/api/login/oidc/callback/"
HOUR = timedelta(hours=1)

Json = dict[str, Any]


@dataclass(frozen=True)
class OidcServer:
    """A server with a provider, and an administrator who creates invites."""

    server: AppServer
    tenant: Tenant
    fake: FakeProvider
    stack: AsyncExitStack

    async def browser(self) -> httpx.AsyncClient:
        client = await self.stack.enter_async_context(self.server.client())
        client.headers.update(CONSOLE)
        return client

    async def join(self, level: Level = Level.ADMIN, email: str = EMAIL) -> httpx.AsyncClient:
        """Accept an invite instead of its addressee, and return the browser that did so."""
        sent = {"target_email": email, "level": int(level)}
        answer = await self.tenant.api.post(f"http://fanion.test{INVITES}", json=sent)
        assert answer.status_code == 201, answer.text
        token = answer.json()["link"].rstrip("/").rpartition("/")[2]
        browser = await self.browser()
        account = {"first_name": "Carla", "password": PASSWORD}
        joined = await browser.post(f"/api/signup/{token}/", json=account)
        assert joined.status_code == 201, joined.text
        return browser

    async def sign_in(self, email: str = EMAIL, subject: str = "carla") -> httpx.AsyncClient:
        """Return the colleague's browser, signed in at the provider."""
        browser = await self.browser()
        begun = await browser.get(START)
        claims = {"email": email, "email_verified": True, "sub": subject}
        back = self.fake.authorize(begun.headers["location"], **claims)
        answer = await browser.get(CALLBACK + back)
        assert answer.status_code == 302, answer.text
        return browser

    async def user(self, email: str = EMAIL) -> Any:
        rows = await self.server.records.fetch(select(users).where(users.c.email == email))
        return rows[0]

    async def status(self, client: httpx.AsyncClient) -> int:
        return (await client.get(ME)).status_code


@pytest.fixture
async def server(
    sqlite_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> AsyncIterator[OidcServer]:
    async with AsyncExitStack() as stack:
        clock: list[AppServer] = []
        fake = await stack.enter_async_context(open_provider(lambda: clock[0].clock.now()))
        settings: Json = {
            "oidc_issuer": fake.issuer,
            "oidc_client_id": CLIENT_ID,
            "oidc_client_secret": CLIENT_SECRET,
            "oidc_domains": "corp.example",
        }
        opened = open_app_server(sqlite_url, events, tmp_path, **settings)
        app_server = await stack.enter_async_context(opened)
        clock.append(app_server)
        tenant = await stack.enter_async_context(open_tenant(app_server, project_id))
        yield OidcServer(app_server, tenant, fake, stack)


async def key_of(browser: httpx.AsyncClient) -> str:
    made = await browser.post(KEYS, json={"label": "kept"})
    assert made.status_code == 201, made.text
    return str(made.json()["value"])


async def set_up_factor(server: OidcServer, browser: httpx.AsyncClient) -> None:
    begun = (await browser.post("/api/users/@me/two_factor_start_setup/")).json()
    code = TOTP(begun["secret"]).at(server.server.clock.now())
    answer = await browser.post("/api/users/@me/two_factor_validate/", json={"token": code})
    assert answer.status_code == 200, answer.text


async def test_a_colleague_who_signs_in_shuts_out_who_opened_the_account(
    server: OidcServer,
) -> None:
    maker = await server.join()
    await set_up_factor(server, maker)
    key = await key_of(maker)
    invited = await maker.post(INVITES, json={"target_email": "friend@example.com", "level": 8})
    user_id = (await server.user()).id
    links = server.server.running.accounts.sign_in.links
    await links.create_link(Purpose.RESET, user_id, server.server.clock.now(), HOUR)
    by_key = await server.stack.enter_async_context(server.server.client(key))
    before = [await server.status(maker), await server.status(by_key)]

    colleague = await server.sign_in()

    assert before == [200, 200]
    assert [await server.status(maker), await server.status(by_key)] == [401, 401]
    stranger = await server.browser()
    login = await stranger.post("/api/login/", json={"email": EMAIL, "password": PASSWORD})
    assert (login.status_code, login.json()["code"]) == (400, "invalid_credentials")
    token = invited.json()["link"].rstrip("/").rpartition("/")[2]
    assert (await stranger.get(f"/api/signup/{token}/")).json()["code"] == "invalid_invite"
    for table in (second_factors, recovery_codes, sign_in_links):
        assert not await server.server.records.fetch(
            select(table.c.user_id).where(table.c.user_id == user_id)
        )
    me = (await colleague.get(ME)).json()
    assert (me["id"], me["email"]) == (user_id, EMAIL)
    assert (me["is_email_verified"], me["has_password"]) == (True, False)


async def test_what_the_colleague_sets_afterwards_stays(server: OidcServer) -> None:
    await server.join()
    colleague = await server.sign_in()
    key = await key_of(colleague)
    changed = await colleague.patch(ME, json={"password": "another long password"})

    again = await server.sign_in()

    assert changed.status_code == 200
    by_key = await server.stack.enter_async_context(server.server.client(key))
    assert [await server.status(client) for client in (colleague, again, by_key)] == [200] * 3
    assert (await server.user()).password_hash


async def test_an_address_that_was_verified_keeps_what_its_user_has_set(server: OidcServer) -> None:
    owner = await server.join()
    async with server.server.records.write() as connection:
        await connection.execute(
            update(users).where(users.c.email == EMAIL).values(is_email_verified=True)
        )
    key = await key_of(owner)

    colleague = await server.sign_in()

    by_key = await server.stack.enter_async_context(server.server.client(key))
    assert [await server.status(client) for client in (owner, colleague, by_key)] == [200] * 3


async def test_a_restored_account_has_to_be_verified_again(server: OidcServer) -> None:
    """The former user had proved the address; the user who accepts the new invite has not."""
    await server.join()
    await server.sign_in()
    members = MemberService(MemberStore(server.server.records))
    await members.remove_member(server.tenant.organization_id, EMAIL, server.server.clock.now())

    maker = await server.join()
    verified = (await server.user()).is_email_verified
    await server.sign_in(subject="carla-again")

    assert verified is False
    assert await server.status(maker) == 401


async def test_an_account_that_is_added_again_has_no_former_password(server: OidcServer) -> None:
    await server.join()
    members, now = MemberService(MemberStore(server.server.records)), server.server.clock.now()
    await members.remove_member(server.tenant.organization_id, EMAIL, now)
    new = NewMember(EMAIL, "Another Carla", Level.MEMBER, "first key")
    await members.add_member(server.tenant.organization_id, new, now)

    stranger = await server.browser()
    login = await stranger.post("/api/login/", json={"email": EMAIL, "password": PASSWORD})

    assert (login.status_code, login.json()["code"]) == (400, "invalid_credentials")


async def reset_by_mail(server: OidcServer, password: str) -> httpx.Response:
    """Set a new password with the link of a mail that the user has received."""
    mails: list[Mail] = []

    def put(mail: Mail) -> bool:
        mails.append(mail)
        return True

    resets = server.server.running.accounts.password_resets
    resets._put_mail = put
    browser = await server.browser()
    assert (await browser.post("/api/reset/", json={"email": EMAIL})).status_code == 204
    await resets.work_once()
    path = mails[0].text.partition("/api/reset/")[2].split()[0]
    return await browser.post(f"/api/reset/{path}", json={"password": password})


async def test_a_mailed_link_verifies_the_address(server: OidcServer) -> None:
    maker = await server.join()

    used = await reset_by_mail(server, "another long password")
    colleague = await server.sign_in()

    assert used.status_code == 200
    assert await server.status(maker) == 401
    user = await server.user()
    assert user.is_email_verified
    assert user.password_hash  # the one that the colleague has set
    assert await server.status(colleague) == 200


async def test_a_mailed_link_verifies_nothing_while_keys_of_others_may_be_left(
    server: OidcServer,
) -> None:
    key = await key_of(await server.join())

    await reset_by_mail(server, "another long password")
    unverified = (await server.user()).is_email_verified
    await server.sign_in()

    by_key = await server.stack.enter_async_context(server.server.client(key))
    assert unverified is False
    assert await server.status(by_key) == 401


async def test_a_printed_link_verifies_nothing(server: OidcServer) -> None:
    await server.join()
    sign_in, now = server.server.running.accounts.sign_in, server.server.clock.now()
    user_id = (await server.user()).id
    token = await sign_in.links.create_link(Purpose.RESET, user_id, now, HOUR)
    browser = await server.browser()

    used = await browser.post(f"/api/reset/{token}/", json={"password": "another long password"})

    assert used.status_code == 200
    assert not (await server.user()).is_email_verified
