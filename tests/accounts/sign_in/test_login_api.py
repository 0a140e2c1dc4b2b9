"""Signing in and out with e-mail address and password."""

from collections.abc import AsyncIterator
from functools import partial

import httpx
import pytest
from sqlalchemy import select, update

from fanion.accounts.model import IDLE_MAX, LIFETIME_MAX, Device
from fanion.accounts.sessions.access import SIGN_IN_BYTES_MAX
from fanion.accounts.sign_in.api import LoginApi
from fanion.db.engine import Records
from fanion.db.schema.accounts import sessions
from fanion.db.schema.tables import memberships, users
from fanion.projects.auth.keys import hash_key
from fanion.projects.members.model import NewMember
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore
from fanion.projects.model import Level
from fanion.server.forwarded import BaseUrl, TrustedProxies, read_networks
from tests.support.management import (
    OWNER_EMAIL,
    OWNER_PASSWORD,
    Workspace,
    error,
    invalid,
    open_workspace,
)

CREDENTIALS = {"email": OWNER_EMAIL, "password": OWNER_PASSWORD}
WRONG = {"email": OWNER_EMAIL, "password": "another password"}
INVALID = invalid("invalid_credentials", "Invalid email or password.")
ENDED = error("authentication_error", "not_authenticated", "The session has ended. Sign in again.")
FORGED = error(
    "authentication_error",
    "forged_request",
    "Requests with a session must come from the server's own pages, with the header "
    "X-Fanion-Console: 1.",
)
ME = "/api/users/@me/"


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records, (LoginApi,)) as opened:
        yield opened


async def signed_in(workspace: Workspace) -> httpx.AsyncClient:
    browser = workspace.browser()
    answer = await browser.post("/api/login/", json=CREDENTIALS)
    assert (answer.status_code, answer.json()) == (200, {"success": True})
    return browser


async def test_a_session_acts_as_its_user(workspace: Workspace) -> None:
    browser = await signed_in(workspace)

    me = await browser.get(ME)
    made = await browser.post("/api/projects/", json={"name": "Second"})

    assert (me.status_code, me.json()["email"]) == (200, OWNER_EMAIL)
    assert (made.status_code, made.json()["name"]) == (201, "Second")


async def test_the_cookie_is_kept_from_scripts_and_stored_hashed(workspace: Workspace) -> None:
    async with workspace.browser() as browser:
        answer = await browser.post("/api/login/", json=CREDENTIALS)

    [cookie] = answer.headers.get_list("set-cookie")
    value = answer.cookies["fanion"]
    assert cookie == f"fanion={value}; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax"
    assert len(value) == 43
    async with workspace.records.read() as connection:
        [row] = (await connection.execute(select(sessions))).all()
    assert row.hash == hash_key(value)
    assert value not in str(row)
    assert (row.method, row.address) == ("password", "192.0.2.1")


@pytest.mark.parametrize(
    "sent",
    [
        WRONG,
        {"email": "nobody@example.com", "password": OWNER_PASSWORD},
    ],
)
async def test_what_is_wrong_is_not_said(workspace: Workspace, sent: dict[str, str]) -> None:
    async with workspace.browser() as browser:
        answer = await browser.post("/api/login/", json=sent)

    assert (answer.status_code, answer.json()) == (400, INVALID)
    assert "set-cookie" not in answer.headers


async def test_an_inactive_user_is_refused_and_sessions_end(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    async with workspace.records.write() as connection:
        await connection.execute(update(users).values(is_active=False))
    workspace.sign_in.sessions.forget()

    refused = await browser.get(ME)
    again = await browser.post("/api/login/", json=CREDENTIALS)

    assert (refused.status_code, refused.json()) == (401, ENDED)
    assert (again.status_code, again.json()) == (400, INVALID)


async def test_a_stolen_cookie_is_refused_after_the_sign_out(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    thief = workspace.browser()
    thief.cookies.update(browser.cookies)
    before = await thief.get(ME)

    left = await browser.post("/api/logout/")

    after = await thief.get(ME)
    assert before.status_code == 200
    assert left.status_code == 204
    assert left.headers["set-cookie"] == "fanion=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"
    assert (after.status_code, after.json()) == (401, ENDED)


async def test_signing_in_again_ends_the_session_of_that_browser(workspace: Workspace) -> None:
    browser, other = await signed_in(workspace), await signed_in(workspace)
    thief = workspace.browser()
    thief.cookies.update(browser.cookies)

    await browser.post("/api/login/", json=CREDENTIALS)

    statuses = [(await client.get(ME)).status_code for client in (thief, browser, other)]
    assert statuses == [401, 200, 200]


async def test_a_session_ends_when_it_is_not_used(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    workspace.clock.time += IDLE_MAX - IDLE_MAX / 100
    in_time = await browser.get(ME)
    await workspace.sign_in.sessions.write_used()
    workspace.clock.time += IDLE_MAX - IDLE_MAX / 100
    again = await browser.get(ME)
    await workspace.sign_in.sessions.write_used()
    workspace.clock.time += IDLE_MAX

    late = await browser.get(ME)

    assert (in_time.status_code, again.status_code) == (200, 200)
    assert (late.status_code, late.json()) == (401, ENDED)


async def test_a_session_ends_however_much_it_is_used(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    statuses = []
    begun = workspace.clock.time
    while workspace.clock.time < begun + LIFETIME_MAX:
        statuses.append((await browser.get(ME)).status_code)
        await workspace.sign_in.sessions.write_used()
        workspace.clock.time += LIFETIME_MAX / 9

    late = await browser.get(ME)

    assert statuses == [200] * 9
    assert (late.status_code, late.json()) == (401, ENDED)


async def test_a_change_of_level_ends_sessions(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    async with workspace.records.write() as connection:
        await connection.execute(update(memberships).values(level=Level.MEMBER))
    workspace.clock.move(seconds=3)  # sessions are cached for at most two seconds

    answer = await browser.get(ME)

    assert (answer.status_code, answer.json()) == (401, ENDED)


async def test_sessions_do_not_come_back_with_the_user(workspace: Workspace) -> None:
    members, now = MemberService(MemberStore(workspace.records)), workspace.clock.time
    sam = NewMember(
        email="sam@example.com", first_name="Sam", level=Level.MEMBER, key_label="First"
    )
    organization_id = workspace.made.project.organization_id
    made, _, _ = await members.add_member(organization_id, sam, now)
    start = partial(
        workspace.sign_in.sessions.start_session, made.user_id, "password", Device("", "")
    )
    disabled, removed = workspace.browser(), workspace.browser()

    disabled.cookies.set("fanion", await start())
    await members.set_active(organization_id, sam.email, False, now)
    await members.set_active(organization_id, sam.email, True, now)
    removed.cookies.set("fanion", await start())
    await members.remove_member(organization_id, sam.email, now)
    await members.add_member(organization_id, sam, now)

    answers = [await browser.get(ME) for browser in (disabled, removed)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(401, ENDED)] * 2


@pytest.mark.parametrize(
    "headers",
    [
        {"x-fanion-console": "1"},
        {"x-fanion-console": "1", "sec-fetch-site": "cross-site"},
        {"x-fanion-console": "1", "sec-fetch-site": "same-site"},
        {"x-fanion-console": "1", "origin": "http://evil.test"},
        {"x-fanion-console": "1", "origin": "null"},
        {"x-fanion-console": "1", "origin": "http://fanion.test.evil.test"},
        {"sec-fetch-site": "same-origin"},
        {"origin": "http://fanion.test"},
        {"sec-fetch-site": "same-origin", "x-fanion-console": "0"},
    ],
)
async def test_a_forged_request_is_refused(workspace: Workspace, headers: dict[str, str]) -> None:
    browser = await signed_in(workspace)
    async with workspace.client_with(None) as elsewhere:
        elsewhere.cookies.update(browser.cookies)

        answer = await elsewhere.post("/api/projects/", json={"name": "Forged"}, headers=headers)
    read = await workspace.client.get("/api/projects/")

    assert (answer.status_code, answer.json()) == (403, FORGED)
    assert (read.status_code, read.json()["count"]) == (200, 1)


async def test_a_browser_without_fetch_metadata_names_the_origin(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    own = {"origin": "http://fanion.test", "x-fanion-console": "1"}
    async with workspace.client_with(None) as page:
        page.cookies.update(browser.cookies)

        answer = await page.post("/api/projects/", json={"name": "Ours"}, headers=own)

    assert answer.status_code == 201


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "cross-site"}, {"origin": "http://evil.test"}]
)
async def test_a_page_elsewhere_signs_no_user_in(
    workspace: Workspace, headers: dict[str, str]
) -> None:
    async with workspace.client_with(None) as elsewhere:
        answer = await elsewhere.post("/api/login/", json=CREDENTIALS, headers=headers)

    assert (answer.status_code, answer.json()) == (403, FORGED)
    assert "set-cookie" not in answer.headers


async def test_a_program_may_sign_in(workspace: Workspace) -> None:
    async with workspace.client_with(None) as program:
        answer = await program.post("/api/login/", json=CREDENTIALS)

    assert answer.status_code == 200


async def test_behind_a_trusted_proxy_with_tls_the_cookie_is_secure(records: Records) -> None:
    base_url = BaseUrl(TrustedProxies(read_networks("0.0.0.0/0 ::/0")))
    forwarded = {"x-forwarded-proto": "https", "x-forwarded-host": "fanion.example"}
    own = {**forwarded, "origin": "https://fanion.example", "x-fanion-console": "1"}
    async with (
        open_workspace(records, (LoginApi,), base_url=base_url) as workspace,
        workspace.client_with(None) as client,
    ):
        answer = await client.post("/api/login/", json=CREDENTIALS, headers=own)
        [cookie] = answer.headers.get_list("set-cookie")
        value = cookie.partition("=")[2].partition(";")[0]
        secure, plain = {"cookie": f"__Host-fanion={value}"}, {"cookie": f"fanion={value}"}
        admitted = await client.post(
            "/api/projects/", json={"name": "A"}, headers={**own, **secure}
        )
        from_plain_page = {**own, **secure, "origin": "http://fanion.example"}
        refused = await client.post("/api/projects/", json={"name": "B"}, headers=from_plain_page)
        unnamed = await client.get(ME, headers={**forwarded, **plain})

    assert cookie.startswith("__Host-fanion=") and cookie.endswith("; Secure")
    assert "Path=/;" in cookie and "Domain" not in cookie
    assert (admitted.status_code, refused.status_code, unnamed.status_code) == (201, 403, 401)


async def test_a_key_goes_before_the_session(workspace: Workspace) -> None:
    browser = await signed_in(workspace)

    answer = await browser.get(ME, headers={"authorization": "Bearer phx_wrong"})

    assert answer.json()["code"] == "invalid_personal_api_key"


async def test_a_key_cannot_sign_out(workspace: Workspace) -> None:
    answer = await workspace.client.post("/api/logout/")

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")


async def test_the_body_of_a_sign_in_is_small(workspace: Workspace) -> None:
    async with workspace.browser() as browser:
        answer = await browser.post(
            "/api/login/", json={**CREDENTIALS, "more": "x" * SIGN_IN_BYTES_MAX}
        )

        form = await browser.post("/api/login/", files={"email": b"x" * SIGN_IN_BYTES_MAX})
        plain = await browser.post("/api/login/", data=CREDENTIALS)

    for refused in (answer, form):
        assert (refused.status_code, refused.json()["code"]) == (413, "payload_too_large")
    assert plain.status_code == 200
