"""Every sign-in and sign-out is in the activity log of the organization."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fanion.accounts.own_account.sessions_api import SessionsApi
from fanion.accounts.security_events_store import by_owner, write_security_events
from fanion.accounts.sign_in.api import LoginApi
from fanion.activity.store import page
from fanion.db.engine import Records
from fanion.projects.activity_api import ActivityApi
from fanion.projects.model import Level
from tests.support.management import (
    NOW,
    OWNER_EMAIL,
    OWNER_PASSWORD,
    Workspace,
    add_member,
    open_workspace,
)

CREDENTIALS = {"email": OWNER_EMAIL, "password": OWNER_PASSWORD}
ADDRESS = "192.0.2.1"


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records, (LoginApi, SessionsApi, ActivityApi)) as opened:
        yield opened


async def activity(workspace: Workspace) -> list[tuple[str, str | None, dict[str, Any]]]:
    """Return activity, user and details of the entries, oldest first."""
    entries, _ = await page(workspace.records, workspace.made.project.id, 100, 0, "User")
    return [
        (entry.activity, entry.email, {c.field: c.after for c in entry.changes or ()})
        for entry in reversed(entries)
    ]


async def test_signing_in_and_out_is_recorded(workspace: Workspace) -> None:
    browsers = [workspace.browser() for _ in range(4)]
    for browser in browsers:
        await browser.post("/api/login/", json=CREDENTIALS)
    listed = (await browsers[0].get("/api/sessions/")).json()["results"]
    other = next(session["id"] for session in listed if not session["is_current"])

    await browsers[0].delete(f"/api/sessions/{other}/")
    await browsers[0].delete("/api/sessions/")
    await browsers[0].delete("/api/sessions/")  # there is no other session any more
    await browsers[0].post("/api/login/reauthenticate/", json={"password": OWNER_PASSWORD})
    await browsers[0].post("/api/logout/")

    login = ("logged_in", OWNER_EMAIL, {"method": "password", "address": ADDRESS})
    assert await activity(workspace) == [
        *[login] * 4,
        ("session_ended", OWNER_EMAIL, {"sessions": 1, "address": ADDRESS}),
        ("session_ended", OWNER_EMAIL, {"sessions": 2, "address": ADDRESS}),
        login,
        ("logged_out", OWNER_EMAIL, {"address": ADDRESS}),
    ]


async def test_wrong_passwords_are_counted_for_accounts_that_exist(workspace: Workspace) -> None:
    async with workspace.browser() as browser:
        for email in (OWNER_EMAIL, "nobody@example.com", OWNER_EMAIL):
            sent = {"email": email, "password": "a wrong password"}
            assert (await browser.post("/api/login/", json=sent)).status_code == 400
    before = await activity(workspace)
    await workspace.sign_in.failed_logins.write_due()

    assert before == []
    details = {"attempts": 2, "addresses": [ADDRESS]}
    assert await activity(workspace) == [("login_failed", None, details)]


@pytest.mark.parametrize(
    ("level", "own_only"), [(Level.VIEWER, True), (Level.MEMBER, False), (Level.ADMIN, False)]
)
async def test_viewers_see_no_sign_ins_of_others(
    workspace: Workspace, level: Level, own_only: bool
) -> None:
    person = await add_member(workspace.records, "vera", level)
    for user_id in (workspace.made.user.id, person.user_id, workspace.made.user.id):
        await write_security_events(workspace.records, by_owner("logged_in", user_id, NOW))
    path = f"/api/projects/{workspace.made.project.id}/activity_log/"
    owner = str(workspace.made.user.uuid)

    async with workspace.client_with(person.key) as client:
        all_of_it = (await client.get(path)).json()
        accounts = (await client.get(path, params={"scope": "User", "limit": 1})).json()
        of_owner = (await client.get(path, params={"scope": "User", "item_id": owner})).json()

    seen = [entry for entry in all_of_it["results"] if entry["scope"] == "User"]
    assert {entry["item_id"] == owner for entry in seen} == ({False} if own_only else {False, True})
    assert accounts["total_count"] == len(seen) == (1 if own_only else 3)
    assert (accounts["next"] is None) is own_only
    assert of_owner["total_count"] == (0 if own_only else 2)
    assert all_of_it["total_count"] == len(all_of_it["results"])
