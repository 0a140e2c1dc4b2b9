"""Signing in by OpenID Connect over HTTP, against a provider that can lie."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey
from sqlalchemy import func, select, update

from fanion.accounts.oidc.api import (
    ADDRESS,
    BROWSER,
    PEER,
    OidcApi,
    OidcLogin,
    StartLimit,
    failure_page,
)
from fanion.accounts.oidc.errors import StateInvalid
from fanion.accounts.oidc.identities_store import IdentityStore
from fanion.accounts.oidc.model import OidcSettings
from fanion.accounts.oidc.provider_client import Provider
from fanion.accounts.oidc.sign_in_service import OidcSignIn
from fanion.accounts.oidc.states_store import STATE_LASTS, StateStore
from fanion.accounts.own_account.api import UsersApi
from fanion.accounts.sign_in.api import LoginApi
from fanion.db.engine import Records
from fanion.db.schema.accounts import oidc_states, sessions
from fanion.db.schema.tables import users
from fanion.errors import Throttled
from fanion.projects.auth.model import FRESH_FOR
from fanion.server.forwarded import BaseUrl, Client, TrustedProxies
from fanion.web.management import Management, management_app
from tests.support.awaited import SOON_S
from tests.support.management import (
    OWNER_EMAIL,
    Workspace,
    add_member,
    error,
    open_workspace,
)
from tests.support.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    FakeProvider,
    on_loopback,
    open_provider,
    raw_answer,
    signed_with_public_key,
    unsigned,
)

START, CALLBACK = "/api/login/oidc/", "/api/login/oidc/callback/"
ME, KEYS = "/api/users/@me/", "/api/personal_api_keys/"
VERIFIED = {"email": OWNER_EMAIL, "email_verified": True}
STATE_INVALID = error(
    "authentication_error",
    "oidc_state_invalid",
    "This sign-in has expired, has already been completed, or was begun in another browser. "
    "Please begin again.",
)
NO_ACCOUNT = error(
    "authentication_error",
    "oidc_no_account",
    "There is no account for you here, or it cannot be used. Ask an administrator of Fanion to "
    "invite you.",
)

Browser = httpx.AsyncClient
Forge = Callable[[FakeProvider], str]


def refused_token(reason: str) -> dict[str, Any]:
    return error("authentication_error", "oidc_token_invalid", f"The ID token {reason}.")


@dataclass(frozen=True)
class OidcWorkspace:
    workspace: Workspace
    fake: FakeProvider
    settings: OidcSettings

    def browser(self) -> Browser:
        return self.workspace.browser()

    async def begin(self, browser: Browser, query: str = "") -> str:
        """Begin a sign-in, and return the URL at the provider."""
        answer = await browser.get(START + query)
        assert answer.status_code == 302, answer.text
        return str(answer.headers["location"])

    async def agree(self, browser: Browser, query: str = "", **claims: Any) -> str:
        """Sign in at the provider, and return the parameters that the browser brings back."""
        return self.fake.authorize(await self.begin(browser, query), **(VERIFIED | claims))

    async def sign_in(self, browser: Browser, query: str = "", **claims: Any) -> httpx.Response:
        back = await self.agree(browser, query, **claims)
        return await browser.get(CALLBACK + back)

    async def states(self) -> int:
        rows = await self.workspace.records.fetch(select(func.count()).select_from(oidc_states))
        count: int = rows[0][0]
        return count


def with_oidc(
    workspace: Workspace,
    settings: OidcSettings | None,
    timeout_s: float = SOON_S,
    **options: Any,
) -> tuple[Workspace, Provider | None]:
    """Build the same server with a provider.

    Args:
        settings: None for a server without a provider.
        timeout_s: The timeout of requests to the provider.
    """
    clock, records = workspace.clock, workspace.records
    provider, oidc = None, None
    if settings is not None:
        provider = Provider(settings, on_loopback, clock.seconds, timeout_s=timeout_s)
        identities = IdentityStore(records, settings)
        oidc = OidcSignIn(settings, provider, StateStore(records), identities, clock.now)
    login = OidcLogin(oidc, workspace.sign_in, clock.seconds)
    app = management_app(
        Management(
            authentication=workspace.authentication,
            projects=workspace.projects,
            sessions=workspace.sign_in.sessions,
            now=clock.now,
            controllers=(LoginApi, OidcApi, UsersApi),
            dependencies={
                "sign_in": workspace.sign_in,
                "oidc_login": login,
                "own_accounts": workspace.own_accounts,
            },
            **options,
        )
    )
    return replace(workspace, app=app), provider


@pytest.fixture
async def plain(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records) as workspace:
        yield workspace


@pytest.fixture
async def oidc_workspace(plain: Workspace) -> AsyncIterator[OidcWorkspace]:
    async with open_provider(plain.clock.now) as fake:
        domains = frozenset({"example.com"})
        settings = OidcSettings(fake.issuer, CLIENT_ID, CLIENT_SECRET, domains=domains)
        workspace, provider = with_oidc(plain, settings)
        yield OidcWorkspace(workspace, fake, settings)
        assert provider is not None
        await provider.close()


async def is_signed_in(browser: Browser) -> bool:
    return (await browser.get(ME)).status_code == 200


async def test_a_user_signs_in_and_comes_back_to_the_page(oidc_workspace: OidcWorkspace) -> None:
    browser = oidc_workspace.browser()

    answer = await oidc_workspace.sign_in(browser, "?next=/flags%3Ftab%3Dusage")

    assert (answer.status_code, answer.headers["location"]) == (302, "/flags?tab=usage")
    assert answer.headers["cache-control"] == "no-store"
    me = await browser.get(ME)
    assert (me.status_code, me.json()["email"]) == (200, OWNER_EMAIL)
    assert (await browser.post(KEYS, json={"label": "fresh"})).status_code == 201
    rows = await oidc_workspace.workspace.records.fetch(select(sessions.c.method))
    assert [row.method for row in rows] == ["oidc"]


async def test_the_request_goes_to_the_provider_with_pkce_and_a_protected_cookie(
    oidc_workspace: OidcWorkspace,
) -> None:
    browser = oidc_workspace.browser()

    answer = await browser.get(START)

    url = urlsplit(answer.headers["location"])
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{oidc_workspace.fake.issuer}/auth"
    assert query["redirect_uri"] == "http://fanion.test/api/login/oidc/callback/"
    assert query["code_challenge_method"] == "S256"
    [cookie] = answer.headers.get_list("set-cookie")
    secret = answer.cookies["fanion-oidc"]
    assert cookie == f"fanion-oidc={secret}; Max-Age=600; Path=/; HttpOnly; SameSite=Lax"
    assert BROWSER.name("https://fanion.example.com") == "__Host-fanion-oidc"
    stored = str(await oidc_workspace.workspace.records.fetch(select(oidc_states)))
    for value in (secret, query["state"], query["nonce"], query["code_challenge"]):
        assert value not in stored
    assert secret not in answer.headers["location"]


async def test_the_cookie_of_the_way_there_is_removed(oidc_workspace: OidcWorkspace) -> None:
    browser = oidc_workspace.browser()

    answer = await oidc_workspace.sign_in(browser)

    cookies = answer.headers.get_list("set-cookie")
    assert len(cookies) == 2
    assert cookies[0].startswith("fanion=") and "Max-Age=7776000" in cookies[0]
    assert cookies[1].startswith('fanion-oidc=""; ') and "Max-Age=0" in cookies[1]
    assert "fanion-oidc" not in browser.cookies


@pytest.mark.parametrize(
    "path", ["//evil.example", "https://evil.example/", "/\\evil.example", "/\t/evil.example", ""]
)
async def test_the_way_back_leads_to_this_server_alone(
    oidc_workspace: OidcWorkspace, path: str
) -> None:
    answer = await oidc_workspace.sign_in(oidc_workspace.browser(), f"?next={quote(path, safe='')}")

    assert (answer.status_code, answer.headers["location"]) == (302, "/")


async def test_below_a_proxys_prefix_it_leads_there(
    plain: Workspace, oidc_workspace: OidcWorkspace
) -> None:
    base = BaseUrl(TrustedProxies(), "http://fanion.test/prefix")
    workspace, provider = with_oidc(plain, oidc_workspace.settings, base_url=base)
    browser = workspace.browser()

    start = await browser.get(START)
    back = oidc_workspace.fake.authorize(start.headers["location"], **VERIFIED)
    answer = await browser.get(CALLBACK + back)

    redirect_uri = oidc_workspace.fake.expected["redirect_uri"]
    assert redirect_uri == "http://fanion.test/prefix/api/login/oidc/callback/"
    assert (answer.status_code, answer.headers["location"]) == (302, "/prefix/")
    assert provider is not None
    await provider.close()


async def refused(oidc_workspace: OidcWorkspace, browser: Browser, back: str) -> tuple[int, Any]:
    """Return status and body of a refused callback, after checking that no user is signed in."""
    answer = await browser.get(CALLBACK + back)
    assert "set-cookie" not in answer.headers
    assert not await is_signed_in(browser)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("changed", ["state=other", "state=", "x=y", "state=" + "s" * 5_000])
async def test_a_wrong_state_is_refused(oidc_workspace: OidcWorkspace, changed: str) -> None:
    browser = oidc_workspace.browser()
    await oidc_workspace.agree(browser)

    assert await refused(oidc_workspace, browser, f"?code=the-code&{changed}") == (
        403,
        STATE_INVALID,
    )
    assert oidc_workspace.fake.count_requests("/token") == 0


async def test_a_state_belongs_to_its_browser(oidc_workspace: OidcWorkspace) -> None:
    """An attacker could otherwise sign others in to the attacker's account."""
    attacker, victim, other = (
        oidc_workspace.browser(),
        oidc_workspace.browser(),
        oidc_workspace.browser(),
    )
    back = await oidc_workspace.agree(attacker)
    await oidc_workspace.begin(other)

    assert await refused(oidc_workspace, victim, back) == (403, STATE_INVALID)
    assert await refused(oidc_workspace, other, back) == (403, STATE_INVALID)
    assert (await attacker.get(CALLBACK + back)).status_code == 302


async def test_a_state_is_used_once_and_so_is_a_code(oidc_workspace: OidcWorkspace) -> None:
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser)
    again = oidc_workspace.browser()
    again.cookies.set("fanion-oidc", browser.cookies["fanion-oidc"])
    await browser.get(CALLBACK + back)

    assert await refused(oidc_workspace, again, back) == (403, STATE_INVALID)
    other = oidc_workspace.browser()
    state = parse_qs(urlsplit(await oidc_workspace.begin(other)).query)["state"][0]
    denied = "The identity provider does not accept its code: please begin again."
    assert await refused(oidc_workspace, other, f"?code=the-code&state={state}") == (
        403,
        error("authentication_error", "oidc_denied", denied),
    )


async def test_a_state_lasts_ten_minutes(oidc_workspace: OidcWorkspace) -> None:
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser)

    oidc_workspace.workspace.clock.time += STATE_LASTS

    assert await refused(oidc_workspace, browser, back) == (403, STATE_INVALID)


async def test_a_token_of_another_sign_in_is_refused(oidc_workspace: OidcWorkspace) -> None:
    """The token is replayed with a valid signature while it is still valid."""
    browser, other = oidc_workspace.browser(), oidc_workspace.browser()
    await oidc_workspace.agree(other)
    oidc_workspace.fake.token = oidc_workspace.fake.sign(oidc_workspace.fake.claims)
    back = await oidc_workspace.agree(browser)

    answer = await refused(oidc_workspace, browser, back)

    assert answer == (403, refused_token("belongs to another sign-in"))


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": "another"}, "belongs to another sign-in"),
        ({"nonce": None}, "belongs to another sign-in"),
        ({"iss": "https://evil.example"}, "is from another issuer"),
        ({"aud": "another client"}, "is for another client"),
        ({"aud": [CLIENT_ID, "another"], "azp": "another"}, "is for another client"),
        ({"exp": 1}, "has expired, or is not valid yet"),
        ({"sub": ""}, "names no user"),
    ],
)
async def test_a_token_for_anything_else_is_refused(
    oidc_workspace: OidcWorkspace, claims: dict[str, Any], reason: str
) -> None:
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser, **claims)

    assert await refused(oidc_workspace, browser, back) == (403, refused_token(reason))


def no_signature(fake: FakeProvider) -> str:
    return unsigned(fake.claims)


def signature_with_the_public_key(fake: FakeProvider) -> str:
    return signed_with_public_key(fake.claims, fake.key)


def signature_of_another_key(fake: FakeProvider) -> str:
    key = RSAKey.generate_key(2048, {"kid": str(fake.key.kid)})
    return replace(fake, key=key).sign(fake.claims)


def changed_after_signing(fake: FakeProvider) -> str:
    head, _, signature = fake.sign(fake.claims).split(".")
    payload = unsigned(fake.claims | {"sub": "boss"}).split(".")[1]
    return f"{head}.{payload}.{signature}"


@pytest.mark.parametrize(
    ("forge", "detail"),
    [
        (no_signature, "The ID token is signed by an algorithm that is not accepted."),
        (
            signature_with_the_public_key,
            "The ID token is signed by an algorithm that is not accepted.",
        ),
        (
            signature_of_another_key,
            "The ID token is signed by a key that the provider does not publish.",
        ),
        (
            changed_after_signing,
            "The ID token is signed by a key that the provider does not publish.",
        ),
    ],
)
async def test_a_forged_token_is_refused(
    oidc_workspace: OidcWorkspace, forge: Forge, detail: str
) -> None:
    """This provider announces `none` and HS256, but neither is accepted."""
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser)
    oidc_workspace.fake.token = forge(oidc_workspace.fake)

    answer = await refused(oidc_workspace, browser, back)

    assert answer == (403, error("authentication_error", "oidc_token_invalid", detail))


@pytest.mark.parametrize("issuer", ["https://evil.example", ""])
async def test_the_answer_of_another_provider_is_refused(
    oidc_workspace: OidcWorkspace, issuer: str
) -> None:
    oidc_workspace.fake.metadata = {"authorization_response_iss_parameter_supported": True}
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser)

    found = await refused(oidc_workspace, browser, f"{back}&iss={issuer}")

    detail = "The answer is from another identity provider."
    assert found == (403, error("authentication_error", "oidc_token_invalid", detail))
    own = await oidc_workspace.agree(browser)
    answer = await browser.get(f"{CALLBACK}{own}&iss={quote(oidc_workspace.fake.issuer, safe='')}")
    assert answer.status_code == 302


@pytest.mark.parametrize("query", ["error=access_denied", "error_description=x", "code="])
async def test_a_user_who_does_not_agree_is_not_signed_in(
    oidc_workspace: OidcWorkspace, query: str
) -> None:
    browser = oidc_workspace.browser()
    state = parse_qs(urlsplit(await oidc_workspace.begin(browser)).query)["state"][0]

    answer = await refused(oidc_workspace, browser, f"?state={state}&{query}")

    denied = "The identity provider did not sign you in."
    assert answer == (403, error("authentication_error", "oidc_denied", denied))
    assert oidc_workspace.fake.count_requests("/token") == 0


@pytest.mark.parametrize(
    "claims",
    [
        {"email_verified": False},
        {"email_verified": None},
        {"email": "stranger@example.com"},
        {"email": "owner@example.org"},
        {"email": None},
    ],
)
async def test_no_user_is_found_by_an_address_that_proves_nothing(
    oidc_workspace: OidcWorkspace, claims: dict[str, Any]
) -> None:
    oidc_workspace.fake.info = {"sub": "ada"}
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser, **claims)

    assert await refused(oidc_workspace, browser, back) == (403, NO_ACCOUNT)


async def test_user_info_says_what_the_token_does_not(oidc_workspace: OidcWorkspace) -> None:
    oidc_workspace.fake.info = {"sub": "ada", **VERIFIED}
    browser = oidc_workspace.browser()

    answer = await oidc_workspace.sign_in(browser, email=None, email_verified=None)

    assert answer.status_code == 302
    assert await is_signed_in(browser)


async def test_user_info_of_another_user_is_refused(oidc_workspace: OidcWorkspace) -> None:
    oidc_workspace.fake.info = {"sub": "boss", **VERIFIED}
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser, email=None, email_verified=None)

    status, body = await refused(oidc_workspace, browser, back)

    assert (status, body["code"]) == (502, "oidc_provider_invalid")


async def test_an_inactive_user_is_told_no_more_than_a_stranger(
    oidc_workspace: OidcWorkspace,
) -> None:
    async with oidc_workspace.workspace.records.write() as connection:
        await connection.execute(update(users).values(is_active=False))
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser)

    assert await refused(oidc_workspace, browser, back) == (403, NO_ACCOUNT)


async def test_a_fresh_sign_in_goes_round_again(oidc_workspace: OidcWorkspace) -> None:
    browser = oidc_workspace.browser()
    await oidc_workspace.sign_in(browser)
    former = browser.cookies["fanion"]
    oidc_workspace.workspace.clock.move(seconds=FRESH_FOR.total_seconds() + 1)
    stale = await browser.post(KEYS, json={"label": "stale"})

    answer = await oidc_workspace.sign_in(browser, "?reauthenticate=true&next=/settings")

    expected = oidc_workspace.fake.expected
    assert (expected["prompt"], expected["max_age"]) == ("login", "0")
    assert (stale.status_code, stale.json()["code"]) == (403, "fresh_sign_in_required")
    assert (answer.status_code, answer.headers["location"]) == (302, "/settings")
    assert (await browser.post(KEYS, json={"label": "fresh"})).status_code == 201
    old = oidc_workspace.browser()
    old.cookies.set("fanion", former)
    assert not await is_signed_in(old)


@pytest.mark.parametrize("seconds", [None, 361, 10**6])
async def test_a_provider_that_did_not_ask_again_proves_nothing_fresh(
    oidc_workspace: OidcWorkspace, seconds: int | None
) -> None:
    browser = oidc_workspace.browser()
    await oidc_workspace.sign_in(browser)
    now = int(oidc_workspace.workspace.clock.now().timestamp())
    signed_in_at = None if seconds is None else now - seconds
    back = await oidc_workspace.agree(browser, "?reauthenticate=true", auth_time=signed_in_at)

    answer = await browser.get(CALLBACK + back)

    assert (answer.status_code, answer.json()) == (
        403,
        refused_token("is from a sign-in that is not fresh"),
    )


async def test_another_user_gives_no_fresh_sign_in(oidc_workspace: OidcWorkspace) -> None:
    await add_member(oidc_workspace.workspace.records, "ada")
    browser = oidc_workspace.browser()
    await oidc_workspace.sign_in(browser, sub="owner")
    query = "?reauthenticate=true"

    answer = await oidc_workspace.sign_in(browser, query, sub="ada", email="ada@example.com")

    assert (answer.status_code, answer.json()["code"]) == (403, "oidc_wrong_account")
    assert (await browser.get(ME)).json()["email"] == OWNER_EMAIL


async def test_without_a_session_no_user_signs_in_afresh(oidc_workspace: OidcWorkspace) -> None:
    browser = oidc_workspace.browser()
    without = await browser.get(f"{START}?reauthenticate=true")
    browser.cookies.set("fanion", "A" * 43)
    ended = await browser.get(f"{START}?reauthenticate=true")

    assert (without.status_code, ended.status_code) == (401, 401)
    assert await oidc_workspace.states() == 0


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (raw_answer(b"<html>"), 502, "oidc_provider_invalid"),
        (raw_answer(b" " * 300_000), 502, "oidc_provider_invalid"),
        (raw_answer(b"", 500), 503, "oidc_provider_unavailable"),
        (b"\r\n\r\n", 503, "oidc_provider_unavailable"),
    ],
)
async def test_a_provider_out_of_order_leaves_nothing_behind(
    oidc_workspace: OidcWorkspace, answer: bytes, status: int, code: str
) -> None:
    oidc_workspace.fake.answers["/.well-known/openid-configuration"] = answer

    async with oidc_workspace.browser() as browser:
        found = await browser.get(START)

    assert (found.status_code, found.json()["code"]) == (status, code)
    assert "set-cookie" not in found.headers
    assert await oidc_workspace.states() == 0


async def test_a_provider_that_is_slow_is_given_up(oidc_workspace: OidcWorkspace) -> None:
    begun = oidc_workspace.browser()
    back = await oidc_workspace.agree(begun)
    oidc_workspace.fake.hold.add("/token")
    workspace, provider = with_oidc(
        oidc_workspace.workspace, oidc_workspace.settings, timeout_s=0.2
    )
    assert provider is not None

    async with workspace.browser() as browser:
        browser.cookies.update(begun.cookies)
        status, body = await refused(oidc_workspace, browser, back)
    await provider.close()

    assert (status, body["code"]) == (503, "oidc_provider_unavailable")
    assert await oidc_workspace.states() == 0


async def test_one_address_begins_a_bounded_number(oidc_workspace: OidcWorkspace) -> None:
    statuses = []
    async with oidc_workspace.browser() as browser:
        for _ in range(ADDRESS.burst + 1):
            statuses.append((await browser.get(START)).status_code)

    assert statuses == [302] * ADDRESS.burst + [429]
    assert await oidc_workspace.states() == ADDRESS.burst
    async with oidc_workspace.workspace.browser("198.51.100.1") as elsewhere:
        assert (await elsewhere.get(START)).status_code == 302


def forwarded(number: int) -> str:
    """Return another client's address for each number, as a proxy may claim to forward it."""
    return f"198.51.{number // 250}.{number % 250}"


def test_a_peer_begins_a_bounded_number_whatever_clients_it_claims_to_forward() -> None:
    limit = StartLimit(lambda: 0.0)
    for number in range(PEER.burst):
        limit.count_request(Client("203.0.113.1", forwarded(number)))

    with pytest.raises(Throttled):
        limit.count_request(Client("203.0.113.1", forwarded(PEER.burst)))
    limit.count_request(Client("203.0.113.2", forwarded(0)))
    limit.count_request(Client("203.0.113.1"))  # the peer's own requests have their own limit


async def test_a_peer_comes_back_a_bounded_number_of_times(oidc_workspace: OidcWorkspace) -> None:
    path = f"{CALLBACK}?state=unknown&code=any"
    async with oidc_workspace.browser() as browser:
        answers = [
            await browser.get(path, headers={"x-forwarded-for": forwarded(number)})
            for number in range(PEER.burst + 1)
        ]

    assert [answer.status_code for answer in answers] == [403] * PEER.burst + [429]
    assert answers[-1].headers["retry-after"] == "1"
    async with oidc_workspace.workspace.browser("203.0.113.9") as elsewhere:
        assert (await elsewhere.get(path)).status_code == 403


async def test_a_browser_gets_a_page_that_runs_nothing(oidc_workspace: OidcWorkspace) -> None:
    async with oidc_workspace.browser() as browser:
        browser.headers["accept"] = "text/html,application/xhtml+xml,*/*;q=0.8"
        answer = await browser.get(CALLBACK + "?error=<script>")

    assert answer.status_code == 403
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert STATE_INVALID["detail"] in answer.text
    assert "<script>" not in answer.text
    assert '<a href="/">' in answer.text


def test_the_page_shows_text_as_text() -> None:
    page = failure_page(StateInvalid("<b> & 'quotes'"), '/"x').decode()

    assert "&lt;b&gt; &amp; &#x27;quotes&#x27;" in page
    assert 'href="/&quot;x"' in page


async def test_without_a_provider_there_is_no_such_sign_in(plain: Workspace) -> None:
    workspace, _ = with_oidc(plain, None)
    off = error("invalid_request", "oidc_off", "Sign-in by OpenID Connect is not set up.")

    async with workspace.browser() as browser:
        answers = [await browser.get(path) for path in (START, CALLBACK)]

    assert [(answer.status_code, answer.json()) for answer in answers] == [(404, off)] * 2


async def test_two_servers_share_a_sign_in(plain: Workspace, oidc_workspace: OidcWorkspace) -> None:
    """The browser begins on one server and comes back to the other."""
    other, provider = with_oidc(plain, oidc_workspace.settings)
    browser = oidc_workspace.browser()
    back = await oidc_workspace.agree(browser)
    elsewhere = other.browser()
    elsewhere.cookies = browser.cookies

    answer = await elsewhere.get(CALLBACK + back)

    assert answer.status_code == 302
    assert provider is not None
    await provider.close()
