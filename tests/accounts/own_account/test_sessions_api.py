"""The caller's own sessions, and requests that need a fresh sign-in."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import select, update

from fanion.accounts.model import (
    IDLE_MAX,
    SESSIONS_PER_USER_MAX,
    USED_EVERY,
    USER_AGENT_CHARS_MAX,
    Device,
)
from fanion.accounts.own_account.sessions_api import SessionsApi
from fanion.accounts.sessions.service import SWEEP_EVERY, SessionService
from fanion.accounts.sessions.store import SessionStore
from fanion.accounts.sign_in.api import LoginApi
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.accounts import sessions
from fanion.projects.auth.authentication_service import CACHED_S
from fanion.projects.auth.model import FRESH_FOR
from tests.support.application import Tenant
from tests.support.awaited import until
from tests.support.management import (
    OWNER_EMAIL,
    OWNER_PASSWORD,
    Workspace,
    add_member,
    error,
    invalid,
    open_workspace,
)

CONTROLLERS = (LoginApi, SessionsApi)
ME, SESSIONS, KEYS = "/api/users/@me/", "/api/sessions/", "/api/personal_api_keys/"
CONFIRM = "/api/login/reauthenticate/"
STALE = error(
    "authentication_error",
    "fresh_sign_in_required",
    "Confirm your identity: sign in again, then repeat this request.",
)


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records, CONTROLLERS) as opened:
        yield opened


async def signed_in(workspace: Workspace, user_agent: str = "Browser") -> httpx.AsyncClient:
    browser = workspace.browser()
    browser.headers["user-agent"] = user_agent
    sent = {"email": f" {OWNER_EMAIL.upper()} ", "password": OWNER_PASSWORD}
    answer = await browser.post("/api/login/", json=sent)
    assert answer.status_code == 200, answer.text
    return browser


@dataclass(frozen=True)
class FailingOnce(SessionStore):
    """A store whose first write fails."""

    failed: list[bool] = field(default_factory=list)

    async def mark_used(self, used: Mapping[UUID, datetime]) -> None:
        if not self.failed:
            self.failed.append(True)
            raise RecordsUnavailable("the store is down")
        await SessionStore.mark_used(self, used)


async def listed(browser: httpx.AsyncClient) -> list[dict[str, Any]]:
    answer = await browser.get(SESSIONS)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@pytest.mark.every_engine
async def test_a_user_sees_where_they_are_signed_in(workspace: Workspace) -> None:
    first = await signed_in(workspace, "Old\tbrowser" + "x" * 1000)
    workspace.clock.move(minutes=1)
    second = await signed_in(workspace, "New browser")

    sessions = await listed(second)

    assert [session["is_current"] for session in sessions] == [True, False]
    newest, oldest = sessions
    assert newest == {
        "id": newest["id"],
        "method": "password",
        "address": "192.0.2.1",
        "user_agent": "New browser",
        "created_at": "2024-03-01T12:01:00Z",
        "last_used_at": "2024-03-01T12:01:00Z",
        "expires_at": "2024-05-30T12:01:00Z",
        "is_current": True,
    }
    assert oldest["user_agent"] == "Oldbrowser" + "x" * (USER_AGENT_CHARS_MAX - 11)
    assert (await first.get(ME)).status_code == 200


@pytest.mark.every_engine
async def test_one_session_is_ended_by_its_id(workspace: Workspace) -> None:
    lost, browser = await signed_in(workspace), await signed_in(workspace)
    [other] = [session["id"] for session in await listed(browser) if not session["is_current"]]

    ended = await browser.delete(f"{SESSIONS}{other}/")
    again = await browser.delete(f"{SESSIONS}{other}/")

    assert (ended.status_code, again.status_code) == (204, 404)
    assert (await lost.get(ME)).status_code == 401
    assert len(await listed(browser)) == 1


async def test_sessions_of_others_cannot_be_ended(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    member = await add_member(workspace.records, "max")
    [mine] = await listed(browser)

    async with workspace.client_with(member.key) as client:
        answers = [
            await client.delete(f"{SESSIONS}{session_id}/")
            for session_id in (mine["id"], uuid4(), 7)
        ]
        await client.delete(SESSIONS)

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert (await browser.get(ME)).status_code == 200


@pytest.mark.every_engine
async def test_all_others_end_at_once(workspace: Workspace) -> None:
    lost, browser = await signed_in(workspace), await signed_in(workspace)

    ended = await browser.delete(SESSIONS)

    assert ended.status_code == 204
    assert [(await client.get(ME)).status_code for client in (lost, browser)] == [401, 200]


async def test_a_key_ends_all_sessions(workspace: Workspace) -> None:
    lost = await signed_in(workspace)

    ended = await workspace.client.delete(SESSIONS)

    assert ended.status_code == 204
    assert (await lost.get(ME)).status_code == 401


@pytest.mark.every_engine
async def test_the_session_used_least_recently_ends_for_one_too_many(workspace: Workspace) -> None:
    service, user_id = workspace.sign_in.sessions, workspace.made.user.id
    values = []
    for _ in range(SESSIONS_PER_USER_MAX + 1):
        values.append(await service.start_session(user_id, "password", Device("", "")))
        workspace.clock.move(seconds=1)
    browser = workspace.browser()

    statuses = []
    for value in (values[0], values[1], values[-1]):
        browser.cookies.set("fanion", value)
        statuses.append((await browser.get(ME)).status_code)

    assert statuses == [401, 200, 200]


@pytest.mark.every_engine
async def test_the_last_use_is_written_once_a_minute(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    service, begun = workspace.sign_in.sessions, workspace.clock.time

    async def last_used_after(**passed: float) -> timedelta:
        workspace.clock.move(**passed)
        await browser.get(ME)
        await service.write_used()
        rows = await workspace.records.fetch(select(sessions.c.last_used_at))
        used: timedelta = rows[0].last_used_at - begun
        return used

    early = await last_used_after(seconds=USED_EVERY.total_seconds() - 1)
    due = await last_used_after(seconds=1)
    soon = await last_used_after(seconds=CACHED_S)

    assert (early, due, soon) == (timedelta(0), USED_EVERY, USED_EVERY)


@pytest.mark.every_engine
async def test_sessions_that_have_ended_are_deleted_and_not_listed(workspace: Workspace) -> None:
    await signed_in(workspace)
    workspace.clock.time += IDLE_MAX
    browser = await signed_in(workspace)

    sessions_listed = await listed(browser)
    await workspace.sign_in.sessions.maintain()

    assert [session["is_current"] for session in sessions_listed] == [True]
    assert len(await workspace.records.fetch(select(sessions.c.id))) == 1


async def test_the_server_deletes_them_hourly(workspace: Workspace) -> None:
    service, rows = workspace.sign_in.sessions, []
    await service.maintain()
    await signed_in(workspace)
    async with workspace.records.write() as connection:
        await connection.execute(update(sessions).values(expires_at=workspace.clock.time))

    for passed in (SWEEP_EVERY - timedelta(seconds=1), timedelta(seconds=1)):
        workspace.clock.time += passed
        await service.maintain()
        rows.append(len(await workspace.records.fetch(select(sessions.c.id))))

    assert rows == [1, 0]


async def test_the_server_writes_the_uses_and_goes_on_after_a_failure(
    workspace: Workspace,
) -> None:
    browser = await signed_in(workspace)
    workspace.clock.move(minutes=2)
    await browser.get(ME)
    store = FailingOnce(workspace.records)
    service = SessionService(store, workspace.clock.now, workspace.clock.seconds)
    await service.find_owner(browser.cookies["fanion"])

    with pytest.raises(RecordsUnavailable):
        await service.maintain()
    await service.maintain()

    [row] = await workspace.records.fetch(select(sessions.c.last_used_at))
    assert row.last_used_at == workspace.clock.time


async def test_a_key_is_made_soon_after_signing_in_only(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    workspace.clock.time += FRESH_FOR
    fresh = await browser.post(KEYS, json={"label": "Fresh"})
    workspace.clock.move(seconds=1)

    stale = await browser.post(KEYS, json={"label": "Stale"})
    by_key = await workspace.client.post(KEYS, json={"label": "By key"})

    assert (fresh.status_code, by_key.status_code) == (201, 201)
    assert (stale.status_code, stale.json()) == (403, STALE)


async def test_the_password_admits_again_with_a_new_cookie(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    thief = workspace.browser()
    thief.cookies.update(browser.cookies)
    workspace.clock.time += 2 * FRESH_FOR

    wrong = await browser.post(CONFIRM, json={"password": "another password"})
    right = await browser.post(CONFIRM, json={"password": OWNER_PASSWORD})

    assert (wrong.status_code, wrong.json()) == (
        400,
        invalid("invalid_credentials", "Invalid email or password."),
    )
    assert (right.status_code, right.json()) == (200, {"success": True})
    assert (await browser.post(KEYS, json={"label": "Fresh"})).status_code == 201
    assert (await thief.get(ME)).status_code == 401
    assert len(await listed(browser)) == 1


async def test_guesses_to_confirm_wait_as_others_do(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    statuses = [
        (await browser.post(CONFIRM, json={"password": "another password"})).status_code
        for _ in range(6)
    ]

    assert statuses == [400] * 5 + [429]


@pytest.mark.postgresql
async def test_an_end_counts_on_the_second_server_too(records: Records) -> None:
    async with (
        open_workspace(records, CONTROLLERS) as first,
        open_workspace(records, CONTROLLERS, first=first) as second,
    ):
        browser, thief = await signed_in(first), second.browser()
        thief.cookies.update(browser.cookies)
        before = await thief.get(ME)

        await browser.post("/api/logout/")
        first.clock.move(seconds=CACHED_S)
        after = await thief.get(ME)

    assert (before.status_code, after.status_code) == (200, 401)
    assert CACHED_S == 2.0


async def test_what_a_session_changes_is_by_its_user(tenant: Tenant) -> None:
    async with await tenant.server.browser(tenant.user_id) as browser:
        flags = f"/api/projects/{tenant.project_id}/feature_flags/"
        made = await browser.post(flags, json={"key": "by-session"})
        entries = (await browser.get(f"{flags}activity/")).json()["results"]

    assert made.json()["created_by"]["email"] == tenant.owner["email"]
    assert [entry["user"]["email"] for entry in entries] == [tenant.owner["email"]]


async def test_the_log_names_the_session_and_never_its_cookie(tenant: Tenant) -> None:
    cookie = await tenant.server.running.accounts.sign_in.sessions.start_session(
        tenant.user_id, "password", Device("", "")
    )
    path = f"/api/projects/{tenant.project_id}/"
    async with tenant.server.browser_with(cookie) as browser:
        [listed_one] = (await browser.get(SESSIONS)).json()["results"]
        await browser.get(path)

    def lines() -> list[dict[str, Any]]:
        found = [json.loads(line) for line in tenant.server.lines.getvalue().splitlines()]
        return [line for line in found if line.get("path") == path]

    until(lines, "the request was not logged")  # another thread logs it
    assert (lines()[-1]["key"], lines()[-1]["user"]) == (
        f"session:{listed_one['id']}",
        tenant.user_id,
    )
    assert cookie.encode() not in tenant.server.lines.getvalue()
