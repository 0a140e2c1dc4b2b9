"""Signing in over HTTP with an independent OpenID provider from npm."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from sqlalchemy import select

from fanion.accounts.oidc.model import OidcSettings
from fanion.config import GroupAccess
from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, users
from fanion.projects.model import Level
from fanion.runtime.clock import utc_now
from tests.accounts.oidc.test_api import CALLBACK, KEYS, ME, START, with_oidc
from tests.support.management import BASE_URL, OWNER_EMAIL, Workspace, open_workspace
from tests.support.oidc_program import (
    CLIENT_ID,
    CLIENT_SECRET,
    CODE_S,
    OidcProgram,
    open_browser,
    open_program,
)

BACK = BASE_URL + CALLBACK
ACCOUNTS: dict[str, dict[str, Any]] = {
    "owner": {"email": OWNER_EMAIL, "email_verified": True, "groups": []},
    "ada": {
        "email": "ada@example.com",
        "email_verified": True,
        "given_name": "Ada",
        "groups": ["leads"],
    },
    "late": {"email": OWNER_EMAIL, "email_verified": True},
    "unverified": {"email": "owner@example.com", "email_verified": False},
    "elsewhere": {"email": "owner@example.org", "email_verified": True},
}


@dataclass
class Person:
    """A user's browser, which keeps the cookies of this server and of the provider."""

    program: OidcProgram
    here: httpx.AsyncClient
    there: httpx.AsyncClient

    async def agree(self, user: str, query: str = "") -> str:
        """Sign in at the provider, and return the URL to which it sends the browser back."""
        start = await self.here.get(START + query)
        assert start.status_code == 302, start.text
        return await self.program.sign_in(self.there, start.headers["location"], user, BACK)

    async def sign_in(self, user: str, query: str = "") -> httpx.Response:
        return await self.here.get(await self.agree(user, query))


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@pytest.fixture(scope="module")
async def program() -> AsyncIterator[OidcProgram]:
    async with open_program(BACK, ACCOUNTS) as program:
        yield program


def settings_of(program: OidcProgram) -> OidcSettings:
    return OidcSettings(
        program.issuer,
        CLIENT_ID,
        CLIENT_SECRET,
        scopes="openid email profile groups",
        domains=frozenset({"example.com"}),
        groups={"leads": GroupAccess("admin")},
        creates_accounts=True,
    )


@dataclass(frozen=True)
class Server:
    workspace: Workspace
    program: OidcProgram
    stack: AsyncExitStack

    async def person(self) -> Person:
        there = await self.stack.enter_async_context(open_browser())
        return Person(self.program, self.workspace.browser(), there)

    async def with_settings(self, settings: OidcSettings) -> "Server":
        workspace, provider = with_oidc(self.workspace, settings)
        assert provider is not None
        self.stack.push_async_callback(provider.close)
        return replace(self, workspace=workspace)


@pytest.fixture
async def server(records: Records, program: OidcProgram) -> AsyncIterator[Server]:
    async with open_workspace(records) as workspace, AsyncExitStack() as stack:
        workspace.clock.time = utc_now()  # the provider has its own clock
        plain = Server(workspace, program, stack)
        yield await plain.with_settings(settings_of(program))


async def test_a_user_signs_in_by_the_address_that_the_provider_has_verified(
    server: Server,
) -> None:
    person = await server.person()

    answer = await person.sign_in("owner", "?next=/flags")

    assert (answer.status_code, answer.headers["location"]) == (302, "/flags")
    assert (await person.here.get(ME)).json()["email"] == OWNER_EMAIL
    assert (await person.here.post(KEYS, json={"label": "fresh"})).status_code == 201


async def test_an_account_is_made_with_the_level_of_its_group(server: Server) -> None:
    person = await server.person()

    await person.sign_in("ada")

    rows = await server.workspace.records.fetch(
        select(users.c.email, users.c.first_name, memberships.c.level)
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(users.c.email == "ada@example.com")
    )
    assert list(map(tuple, rows)) == [("ada@example.com", "Ada", Level.ADMIN)]
    assert (await person.here.get(ME)).json()["first_name"] == "Ada"


@pytest.mark.parametrize("user", ["unverified", "elsewhere"])
async def test_other_addresses_prove_nothing(server: Server, user: str) -> None:
    person = await server.person()

    answer = await person.sign_in(user)

    assert code_of(answer) == (403, "oidc_no_account")
    assert (await person.here.get(ME)).status_code == 401


async def test_a_code_is_accepted_once_by_the_provider_and_by_us(server: Server) -> None:
    person, other = await server.person(), await server.person()
    back = await person.agree("owner")
    assert (await person.here.get(back)).status_code == 302
    code = parse_qs(urlsplit(back).query)["code"][0]

    again = await person.here.get(back)
    own = parse_qs(urlsplit(await other.agree("owner")).query)
    stolen = {"code": code, "state": own["state"][0], "iss": own["iss"][0]}
    replayed = await other.here.get(f"{CALLBACK}?{urlencode(stolen)}")

    assert code_of(again) == (403, "oidc_state_invalid")
    assert code_of(replayed) == (403, "oidc_denied")
    assert (await other.here.get(ME)).status_code == 401


async def test_a_code_expires(server: Server) -> None:
    """The provider has its own clock, so the test has to wait."""
    person = await server.person()
    back = await person.agree("late")

    await asyncio.sleep(CODE_S + 1.1)

    assert code_of(await person.here.get(back)) == (403, "oidc_denied")


async def test_the_code_of_another_browser_is_refused(server: Server) -> None:
    """The callback lacks that browser's verifier and state."""
    person, attacker = await server.person(), await server.person()
    back = await attacker.agree("owner")
    own = parse_qs(urlsplit(await person.agree("owner")).query)
    code = parse_qs(urlsplit(back).query)["code"][0]

    injected = {"code": code, "state": own["state"][0], "iss": own["iss"][0]}
    answer = await person.here.get(f"{CALLBACK}?{urlencode(injected)}")

    assert code_of(answer) == (403, "oidc_denied")


@pytest.mark.parametrize("changed", [{"iss": "https://evil.example"}, {"iss": ""}])
async def test_the_issuer_of_the_answer_counts(server: Server, changed: dict[str, str]) -> None:
    person = await server.person()
    sent = parse_qs(urlsplit(await person.agree("owner")).query)
    query = {name: values[0] for name, values in sent.items()} | changed

    answer = await person.here.get(f"{CALLBACK}?{urlencode(query)}")

    assert code_of(answer) == (403, "oidc_token_invalid")


async def test_a_wrong_secret_is_the_operators_mistake(server: Server) -> None:
    wrong = replace(settings_of(server.program), client_secret="another secret")
    person = await (await server.with_settings(wrong)).person()

    answer = await person.sign_in("owner")

    assert code_of(answer) == (502, "oidc_provider_invalid")
    assert "FANION_OIDC_CLIENT_ID" in answer.json()["detail"]


async def test_a_fresh_sign_in_asks_the_user_again(server: Server) -> None:
    """The provider still knows the browser, but shows its form instead of returning at once."""
    person = await server.person()
    await person.sign_in("owner")
    forms: list[str] = []
    person.there.event_hooks["request"].append(partial(_note_form, forms))
    await person.sign_in("owner")
    silently = len(forms)

    answer = await person.sign_in("owner", "?reauthenticate=true&next=/settings")

    assert (answer.status_code, answer.headers["location"]) == (302, "/settings")
    assert (silently, forms[:1]) == (0, ["login"])


async def _note_form(forms: list[str], request: httpx.Request) -> None:
    if request.method == "POST":
        forms.append(parse_qs(request.content.decode())["prompt"][0])


async def test_another_user_gives_no_fresh_sign_in(server: Server) -> None:
    person = await server.person()
    await person.sign_in("owner")

    answer = await person.sign_in("ada", "?reauthenticate=true")

    assert code_of(answer) == (403, "oidc_wrong_account")
    assert (await person.here.get(ME)).json()["email"] == OWNER_EMAIL
