"""Accepting invites, with a new account and with one that exists."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import delete, func, insert, select, update

from fanion.accounts.model import Device, SignInOptions
from fanion.accounts.sessions.access import SIGN_IN_BYTES_MAX
from fanion.accounts.sign_in.api import LoginApi
from fanion.accounts.signup_api import SignupApi
from fanion.accounts.signup_service import Signup
from fanion.db.engine import Records
from fanion.db.schema.organizations import organization_invites
from fanion.db.schema.tables import memberships, organizations, projects, users
from fanion.projects.activity_api import ActivityApi
from fanion.projects.admin_store import FIRST_ORGANIZATION
from fanion.projects.auth.failed_attempts_cache import FAILURES_MAX
from fanion.projects.invites.api import InvitesApi
from fanion.projects.invites.model import INVITE_LASTS, masked_email
from fanion.projects.members.api import MembersApi
from fanion.projects.members.invite_acceptance_service import InviteAcceptance
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore
from fanion.projects.model import Level
from fanion.projects.organizations.api import OrganizationsApi
from fanion.projects.roles.api import RolesApi
from tests.support.management import (
    BASE_URL,
    CONSOLE,
    NOW,
    OWNER_EMAIL,
    OWNER_PASSWORD,
    Person,
    Workspace,
    add_member,
    error,
    invalid,
    open_workspace,
)

Json = dict[str, Any]
HERE = FIRST_ORGANIZATION
CONTROLLERS = (
    OrganizationsApi,
    MembersApi,
    InvitesApi,
    RolesApi,
    SignupApi,
    LoginApi,
    ActivityApi,
)
INVITES = "/api/organizations/@current/invites/"
ADA = "ada@example.com"
ACCOUNT = {"first_name": "Ada", "password": "correct horse battery"}
NO_INVITE = 400, invalid("invalid_invite", "This invite is not valid. Ask for a new one.")
EXPIRED = 400, invalid("expired", "This invite has expired. Ask for a new one.")
HAS_ACCOUNT = (
    400,
    invalid("sign_in", "You already have an account. Sign in to accept the invite."),
)
OTHER_ADDRESS = (
    400,
    invalid("invalid_recipient", "This invite is for another e-mail address: a…a@example.com."),
)


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records, CONTROLLERS) as opened:
        yield opened


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def invited(workspace: Workspace, email: str = ADA, **sent: Any) -> str:
    """Create an invite and return the path at which it is accepted."""
    answer = await workspace.client.post(INVITES, json={"target_email": email, **sent})
    assert answer.status_code == 201, answer.text
    path: str = answer.json()["link"].removeprefix(BASE_URL)
    return path


async def browser_of(
    workspace: Workspace, stack: AsyncExitStack, user_id: int
) -> httpx.AsyncClient:
    browser = await stack.enter_async_context(workspace.browser())
    start = workspace.sign_in.sessions.start_session
    value = await start(user_id, "password", Device("", ""))
    browser.cookies.set("fanion", value, domain="fanion.test")
    return browser


async def accepted(
    client: httpx.AsyncClient, path: str, sent: Json | None = None
) -> tuple[int, Json]:
    answer = await client.post(path, json=ACCOUNT if sent is None else sent)
    return answer.status_code, answer.json()


async def member_levels(records: Records) -> dict[str, int]:
    """Return the levels of the members of the first organization, by e-mail address."""
    async with records.read() as connection:
        rows = await connection.execute(
            select(users.c.email, memberships.c.level)
            .join(users, users.c.id == memberships.c.user_id)
            .where(memberships.c.organization_id == HERE)
        )
        return {row.email: row.level for row in rows}


async def activity(workspace: Workspace, scope: str) -> list[tuple[str | None, str, Any]]:
    """Return user, activity and changed fields of the entries, newest first."""
    path = f"/api/projects/@current/activity_log/?scope={scope}"
    entries = (await workspace.client.get(path)).json()["results"]
    return [
        (
            entry["user"]["email"],
            entry["activity"],
            [(c["field"], c["before"], c["after"]) for c in entry["detail"]["changes"] or ()],
        )
        for entry in entries
    ]


async def join_elsewhere(records: Records, user_id: int) -> UUID:
    """Create a second organization, of which the user is the owner."""
    organization_id = UUID(int=7)
    async with records.write() as connection:
        await connection.execute(
            insert(organizations).values(id=organization_id, name="Elsewhere", created_at=NOW)
        )
        await connection.execute(
            insert(memberships).values(
                organization_id=organization_id, user_id=user_id, level=15, joined_at=NOW
            )
        )
    return organization_id


async def stranger(workspace: Workspace, name: str = "ada") -> Person:
    """Create a user with an account, who is only in another organization."""
    person = await add_member(workspace.records, name)
    await join_elsewhere(workspace.records, person.user_id)
    async with workspace.records.write() as connection:
        await connection.execute(
            delete(memberships).where(
                memberships.c.organization_id == HERE, memberships.c.user_id == person.user_id
            )
        )
    return person


# ── With a new account ───────────────────────────────────────────────────────────────────


async def test_an_invite_shows_what_it_is_for(workspace: Workspace) -> None:
    path = await invited(workspace, first_name="Ada", level=0)

    async with workspace.browser() as browser:
        answers = [await browser.get(path) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]  # reading does not use it up
    assert answers[0].headers["cache-control"] == "no-store"
    shown = answers[0].json()
    assert shown == {
        "id": shown["id"],
        "target_email": "a…a@example.com",
        "first_name": "Ada",
        "organization_name": "My organization",
        "level": 0,
        "expires_at": "2024-03-08T12:00:00Z",
    }


@pytest.mark.every_engine
async def test_a_new_account_joins_with_level_and_roles(workspace: Workspace) -> None:
    role = (
        await workspace.client.post("/api/organizations/@current/roles/", json={"name": "Makers"})
    ).json()
    path = await invited(workspace, level=0, roles=[role["id"]])

    async with workspace.browser() as browser:
        answer = await browser.post(path, json=ACCOUNT)
        me = (await browser.get("/api/users/@me/")).json()
        refused = await browser.post("/api/projects/", json={"name": "n"})
    async with workspace.browser() as browser:
        signed_in = await browser.post(
            "/api/login/", json={"email": ADA, "password": ACCOUNT["password"]}
        )

    assert (answer.status_code, answer.json()) == (201, {"success": True})
    assert answer.headers["cache-control"] == "no-store"
    assert (me["email"], me["first_name"], me["is_email_verified"]) == (ADA, "Ada", False)
    assert me["organization"]["membership_level"] == 0
    assert me["project"]["id"] == workspace.made.project.id
    assert refused.status_code == 403
    assert signed_in.status_code == 200
    members = (
        await workspace.client.get(f"/api/organizations/@current/roles/{role['id']}/")
    ).json()["members"]
    assert [member["user"]["email"] for member in members] == [ADA]
    assert (await workspace.client.get(INVITES)).json()["results"] == []
    assert await activity(workspace, "OrganizationMembership") == [(ADA, "created", [])]
    assert await activity(workspace, "OrganizationInvite") == [
        (ADA, "updated", [("is_accepted", False, True)]),
        (OWNER_EMAIL, "created", []),
    ]
    assert (await activity(workspace, "Role"))[0][:2] == (ADA, "updated")


@pytest.mark.every_engine
async def test_an_invite_works_once(workspace: Workspace) -> None:
    path = await invited(workspace)
    async with workspace.browser() as one, workspace.browser() as other:
        first = await accepted(one, path)
        again = await accepted(other, path)
        read = await other.get(path)

    assert first == (201, {"success": True})
    assert again == NO_INVITE
    assert (read.status_code, read.json()) == NO_INVITE


@pytest.mark.every_engine
async def test_of_two_servers_that_take_it_at_the_same_time_one_gets_it(
    workspace: Workspace, records: Records, stack: AsyncExitStack
) -> None:
    second = await stack.enter_async_context(open_workspace(records, CONTROLLERS, first=workspace))
    path = await invited(workspace)
    browsers = [
        await stack.enter_async_context(server.browser())
        for server in (workspace, second, workspace, second)
    ]

    done = await asyncio.gather(*(accepted(browser, path) for browser in browsers))

    statuses = sorted(status for status, _ in done)
    refusals = [answer for answer in done if answer[0] != 201]
    assert statuses == [201, 400, 400, 400]
    assert all(refusal in (NO_INVITE, HAS_ACCOUNT) for refusal in refusals)
    assert await member_levels(records) == {OWNER_EMAIL: 15, ADA: 1}
    async with records.read() as connection:
        same = select(func.count()).select_from(users).where(users.c.email == ADA)
        assert await connection.scalar(same) == 1


@pytest.mark.every_engine
async def test_an_invite_expires(workspace: Workspace) -> None:
    path = await invited(workspace)
    async with workspace.browser() as browser:
        workspace.clock.time = NOW + INVITE_LASTS - timedelta(seconds=1)
        before = await browser.get(path)
        workspace.clock.time = NOW + INVITE_LASTS
        read = await browser.get(path)
        refused = await accepted(browser, path)

    assert before.status_code == 200
    assert (read.status_code, read.json()) == EXPIRED
    assert refused == EXPIRED
    assert ADA not in await member_levels(workspace.records)
    # The expired invite is still in the list, so that it can be replaced.
    [left] = (await workspace.client.get(INVITES)).json()["results"]
    assert left["is_expired"] is True


@pytest.mark.every_engine
async def test_a_deleted_invite_does_not_work(workspace: Workspace) -> None:
    path = await invited(workspace)
    [made] = (await workspace.client.get(INVITES)).json()["results"]
    await workspace.client.delete(f"{INVITES}{made['id']}/")

    async with workspace.browser() as browser:
        assert await accepted(browser, path) == NO_INVITE


@pytest.mark.every_engine
async def test_a_replaced_invite_does_not_work(workspace: Workspace) -> None:
    former, path = await invited(workspace), await invited(workspace, level=0)

    async with workspace.browser() as browser:
        assert await accepted(browser, former) == NO_INVITE
        assert (await accepted(browser, path))[0] == 201
    assert (await member_levels(workspace.records))[ADA] == 0


@pytest.mark.every_engine
@pytest.mark.parametrize("act", ["removed", "lowered", "disabled", "lowered in the store"])
async def test_an_invite_ends_with_the_rights_of_its_author(workspace: Workspace, act: str) -> None:
    records, members = workspace.records, MemberService(MemberStore(workspace.records))
    adam = await add_member(records, "adam", Level.ADMIN)
    async with workspace.client_with(adam.key) as client:
        answer = await client.post(INVITES, json={"target_email": ADA})
    path = answer.json()["link"].removeprefix(BASE_URL)
    if act == "removed":
        await members.remove_member(HERE, "adam@example.com", NOW)
    elif act == "lowered":
        await members.set_level(HERE, "adam@example.com", Level.MEMBER, NOW)
    elif act == "disabled":
        await members.set_active(HERE, "adam@example.com", False, NOW)
    else:
        async with records.write() as connection:
            await connection.execute(
                update(memberships).where(memberships.c.user_id == adam.user_id).values(level=1)
            )

    async with workspace.browser() as browser:
        read = await browser.get(path)
        refused = await accepted(browser, path)

    assert (read.status_code, read.json()) == NO_INVITE
    assert refused == NO_INVITE
    assert ADA not in await member_levels(records)


@pytest.mark.every_engine
async def test_a_higher_level_than_its_author_has_now_is_not_given(workspace: Workspace) -> None:
    """The author's level was lowered by a version that does not delete invites."""
    path = await invited(workspace, level=15)
    async with workspace.records.write() as connection:
        await connection.execute(
            update(memberships)
            .where(memberships.c.user_id == workspace.made.user.id)
            .values(level=8)
        )

    async with workspace.browser() as browser:
        assert await accepted(browser, path) == NO_INVITE


@pytest.mark.every_engine
async def test_an_invite_to_an_organization_that_is_gone_does_not_work(
    workspace: Workspace,
) -> None:
    records = workspace.records
    path = await invited(workspace)
    other = await join_elsewhere(records, workspace.made.user.id)
    async with records.write() as connection:
        await connection.execute(update(organization_invites).values(organization_id=other))
        await connection.execute(delete(memberships).where(memberships.c.organization_id == other))
        await connection.execute(delete(organizations).where(organizations.c.id == other))

    async with workspace.browser() as browser:
        assert await accepted(browser, path) == NO_INVITE


@pytest.mark.every_engine
async def test_an_organization_without_a_project_is_joined_all_the_same(
    workspace: Workspace,
) -> None:
    path = await invited(workspace)
    async with workspace.records.write() as connection:
        await connection.execute(update(users).values(current_project_id=None))
        await connection.execute(delete(projects))
    workspace.projects.forget(workspace.made.project.id)

    async with workspace.browser() as browser:
        answer = await accepted(browser, path)
        me = (await browser.get("/api/users/@me/")).json()

    assert answer[0] == 201
    assert (me["project"], me["organization"]["id"]) == (None, str(HERE))


@pytest.mark.every_engine
async def test_a_role_that_was_deleted_meanwhile_is_left_out(workspace: Workspace) -> None:
    roles_path = "/api/organizations/@current/roles/"
    role = (await workspace.client.post(roles_path, json={"name": "Makers"})).json()
    path = await invited(workspace, roles=[role["id"]])
    await workspace.client.delete(f"{roles_path}{role['id']}/")

    async with workspace.browser() as browser:
        assert (await accepted(browser, path))[0] == 201


REFUSED: dict[str, tuple[Json, Json]] = {
    "no name": (
        {"password": ACCOUNT["password"]},
        invalid("required", "This field is required.", "first_name"),
    ),
    "no password": (
        {"first_name": "Ada"},
        invalid("required", "This field is required.", "password"),
    ),
    "a short password": (
        {"first_name": "Ada", "password": "short"},
        invalid("password_too_short", "Ensure this field has at least 12 characters.", "password"),
    ),
    "the address as the password": (
        {"first_name": "Ada", "password": ADA.upper()},
        invalid("password_too_similar", "The password must not be the e-mail address.", "password"),
    ),
    "another address": (
        {**ACCOUNT, "email": "eve@example.com"},
        invalid(
            "invalid_input", 'Unknown field "email". Allowed are: first_name, password.', "email"
        ),
    ),
}


async def test_what_is_no_account_leaves_the_invite(workspace: Workspace) -> None:
    path = await invited(workspace)
    async with workspace.browser() as browser:
        for name, (sent, reported) in REFUSED.items():
            assert await accepted(browser, path, sent) == (400, reported), name
        assert (await browser.get(path)).status_code == 200
    assert ADA not in await member_levels(workspace.records)


@pytest.mark.every_engine
async def test_a_member_who_was_removed_comes_back_by_an_invite(workspace: Workspace) -> None:
    records = workspace.records
    ada = await add_member(records, "ada", Level.ADMIN)
    await MemberService(MemberStore(records)).remove_member(HERE, ADA, NOW)
    path = await invited(workspace)

    async with workspace.browser() as browser:
        answer = await accepted(browser, path, {**ACCOUNT, "first_name": "Ada again"})
        me = (await browser.get("/api/users/@me/")).json()
    async with workspace.client_with(ada.key) as client:
        former_key = await client.get("/api/users/@me/")

    assert answer[0] == 201
    assert (me["id"], me["first_name"]) == (ada.user_id, "Ada again")
    assert me["organization"]["membership_level"] == 1
    assert former_key.status_code == 401


async def test_who_has_an_account_signs_in_first(workspace: Workspace) -> None:
    ada = await stranger(workspace)
    path = await invited(workspace)

    async with workspace.browser() as browser:
        refused = await accepted(browser, path)
        read = await browser.get(path)

    assert refused == HAS_ACCOUNT
    assert read.status_code == 200
    async with workspace.records.read() as connection:
        stored = await connection.scalar(
            select(users.c.password_hash).where(users.c.id == ada.user_id)
        )
    assert stored == ""  # no user can set the password of another


async def test_a_disabled_account_does_not_come_back_by_an_invite(workspace: Workspace) -> None:
    ada = await stranger(workspace)
    path = await invited(workspace)
    async with workspace.records.write() as connection:
        await connection.execute(
            update(users).where(users.c.id == ada.user_id).values(is_active=False)
        )

    async with workspace.browser() as browser:
        assert await accepted(browser, path) == HAS_ACCOUNT


@pytest.mark.every_engine
async def test_roles_that_are_deleted_at_the_same_moment_do_not_keep_a_user_out(
    workspace: Workspace, stack: AsyncExitStack
) -> None:
    roles_path = "/api/organizations/@current/roles/"
    for attempt in range(5):
        made = [
            (await workspace.client.post(roles_path, json={"name": f"{attempt}-{n}"})).json()["id"]
            for n in range(3)
        ]
        email = f"p{attempt}@example.com"
        path = await invited(workspace, email, roles=made)
        browser = await stack.enter_async_context(workspace.browser())

        joined, *gone = await asyncio.gather(
            browser.post(path, json=ACCOUNT),
            *(workspace.client.delete(f"{roles_path}{role_id}/") for role_id in reversed(made)),
        )

        assert joined.status_code == 201, joined.text
        assert [answer.status_code for answer in gone] == [204] * 3


@pytest.mark.every_engine
async def test_two_servers_agree_on_a_level_within_two_seconds(
    workspace: Workspace, records: Records, stack: AsyncExitStack
) -> None:
    second = await stack.enter_async_context(open_workspace(records, CONTROLLERS, first=workspace))
    ada = await add_member(records, "ada", Level.ADMIN)
    client = await stack.enter_async_context(second.client_with(ada.key))
    browser = await browser_of(second, stack, ada.user_id)
    uuid = (await client.get("/api/users/@me/")).json()["uuid"]
    assert (await browser.get("/api/users/@me/")).status_code == 200

    await workspace.client.patch(f"/api/organizations/@current/members/{uuid}/", json={"level": 0})
    workspace.clock.move(seconds=2.1)

    by_key = await client.post("/api/projects/", json={"name": "n"})
    by_session = await browser.get("/api/users/@me/")
    assert (by_key.status_code, by_key.json()["detail"]) == (403, "Viewers cannot make changes.")
    assert by_session.status_code == 401


async def test_no_password_is_set_where_no_user_signs_in_with_one(
    workspace: Workspace, records: Records, stack: AsyncExitStack
) -> None:
    path = await invited(workspace)
    failures = workspace.authentication.failures
    sign_in = replace(workspace.sign_in, options=SignInOptions(password=False))
    acceptance = InviteAcceptance(records)
    signup = Signup(acceptance, sign_in, failures, workspace.clock.now, sign_in.sessions.forget)
    configured = await stack.enter_async_context(
        open_workspace(records, CONTROLLERS, {"signup": signup}, first=workspace)
    )

    async with configured.browser() as browser:
        answer = await accepted(browser, path)

    message = "Sign in with your organization's provider first."
    assert answer == (400, invalid("sign_in", message))
    assert ADA not in await member_levels(records)


# ── With an account that exists ──────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_a_user_who_is_signed_in_joins(workspace: Workspace, stack: AsyncExitStack) -> None:
    ada = await stranger(workspace)
    browser = await browser_of(workspace, stack, ada.user_id)
    path = await invited(workspace, level=8)
    former = browser.cookies["fanion"]

    answer = await accepted(browser, path, {})
    me = (await browser.get("/api/users/@me/")).json()
    listed = (await browser.get("/api/projects/")).json()
    async with workspace.browser() as other:
        other.cookies.set("fanion", former)
        ended = await other.get("/api/users/@me/")

    assert answer == (201, {"success": True})
    assert browser.cookies["fanion"] != former
    assert ended.status_code == 401
    assert (me["organization"]["id"], me["organization"]["membership_level"]) == (str(HERE), 8)
    assert me["project"]["id"] == workspace.made.project.id
    assert listed["count"] == 1
    assert (await member_levels(workspace.records))[ADA] == 8


async def test_the_key_of_who_has_joined_counts_at_once(
    workspace: Workspace, stack: AsyncExitStack
) -> None:
    ada = await stranger(workspace)
    client = await stack.enter_async_context(workspace.client_with(ada.key))
    here = f"/api/organizations/{HERE}/"
    before = await client.get(here)
    path = await invited(workspace)

    await accepted(await browser_of(workspace, stack, ada.user_id), path, {})

    assert (before.status_code, (await client.get(here)).status_code) == (404, 200)


async def test_another_user_does_not_join(workspace: Workspace, stack: AsyncExitStack) -> None:
    eve = await stranger(workspace, "eve")
    browser = await browser_of(workspace, stack, eve.user_id)
    path = await invited(workspace)

    assert await accepted(browser, path, {}) == OTHER_ADDRESS
    assert await accepted(browser, path) == OTHER_ADDRESS  # nor with a new account
    assert (await browser.get(path)).status_code == 200
    assert (await browser.get("/api/users/@me/")).status_code == 200
    assert await member_levels(workspace.records) == {OWNER_EMAIL: 15}


@pytest.mark.every_engine
async def test_a_member_does_not_join_again(workspace: Workspace, stack: AsyncExitStack) -> None:
    path = await invited(workspace, level=8)
    ada = await add_member(workspace.records, "ada", Level.VIEWER)

    answer = await accepted(await browser_of(workspace, stack, ada.user_id), path, {})

    message = "You are already a member of this organization."
    assert answer == (400, invalid("already_member", message))
    assert (await member_levels(workspace.records))[ADA] == 0


async def test_joining_needs_a_fresh_sign_in(workspace: Workspace, stack: AsyncExitStack) -> None:
    """Joining begins a new session, which must not make an old sign-in fresh."""
    ada = await stranger(workspace)
    browser = await browser_of(workspace, stack, ada.user_id)
    path = await invited(workspace)
    workspace.clock.move(minutes=11)

    status, answer = await accepted(browser, path, {})

    assert (status, answer["code"]) == (403, "fresh_sign_in_required")
    assert (await browser.get(path)).status_code == 200
    assert ADA not in await member_levels(workspace.records)


async def test_with_a_session_that_has_ended_a_new_account_is_made(workspace: Workspace) -> None:
    path = await invited(workspace)
    async with workspace.browser() as browser:
        browser.cookies.set("fanion", "A" * 43)
        assert (await accepted(browser, path))[0] == 201


FORGED = error(
    "authentication_error",
    "forged_request",
    "Requests with a session must come from the server's own pages, with the header "
    "X-Fanion-Console: 1.",
)


AS_NOBODY = 400, invalid("required", "This field is required.", "first_name")


@pytest.mark.parametrize(
    ("headers", "answered"),
    [
        ({"sec-fetch-site": "cross-site", "x-fanion-console": "1"}, (403, FORGED)),
        ({"sec-fetch-site": "same-origin"}, AS_NOBODY),
        ({"origin": "https://evil.example", "x-fanion-console": "1"}, (403, FORGED)),
        ({"origin": "https://evil.example"}, (403, FORGED)),
        ({"x-fanion-console": "1"}, (403, FORGED)),
        ({}, AS_NOBODY),
    ],
    ids=["other site", "form", "other origin", "form elsewhere", "no origin", "nothing"],
)
async def test_another_page_does_not_make_a_user_join(
    workspace: Workspace,
    stack: AsyncExitStack,
    headers: dict[str, str],
    answered: tuple[int, Json],
) -> None:
    """The session does not count without the console's header."""
    ada = await stranger(workspace)
    browser = await browser_of(workspace, stack, ada.user_id)
    path = await invited(workspace)
    for name in CONSOLE:
        del browser.headers[name]

    answer = await browser.post(path, json={}, headers=headers)

    assert (answer.status_code, answer.json()) == answered
    assert ADA not in await member_levels(workspace.records)


# ── In a browser, without a console ──────────────────────────────────────────────────────

HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_a_browser_makes_an_account_with_a_form(workspace: Workspace) -> None:
    async with workspace.records.write() as connection:
        await connection.execute(update(organizations).values(name="<b>Team</b>"))
    path = await invited(workspace, first_name='"><script>')
    async with workspace.browser() as browser:
        del browser.headers["x-fanion-console"]  # a form cannot send it
        page = await browser.get(path, headers=HTML)
        short = await browser.post(
            path, headers=HTML, data={"first_name": "Ada", "password": "short"}
        )
        done = await browser.post(path, headers=HTML, data=ACCOUNT)
        me = await browser.get("/api/users/@me/")

    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<form method=" in page.text
    assert "<script>" not in page.text
    assert "Join &lt;b&gt;Team&lt;/b&gt;" in page.text
    assert "a…a@example.com" in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "form-action 'self'; frame-ancestors 'none'" in policy
    assert (page.headers["cache-control"], page.headers["referrer-policy"]) == (
        "no-store",
        "strict-origin",
    )
    assert (short.status_code, "at least 12 characters" in short.text) == (400, True)
    assert 'name="first_name" value="Ada"' in short.text
    assert (done.status_code, done.headers["location"]) == (303, f"{BASE_URL}/")
    assert me.json()["email"] == ADA


async def test_a_browser_is_told_why_an_invite_cannot_be_accepted(workspace: Workspace) -> None:
    path = await invited(workspace)
    workspace.clock.time = NOW + INVITE_LASTS
    async with workspace.browser() as browser:
        read = await browser.get(path, headers=HTML)
        sent = await browser.post(path, headers=HTML, data=ACCOUNT)

    for answer in (read, sent):
        assert answer.status_code == 400
        assert "This invite has expired." in answer.text
        assert f'<a href="{BASE_URL}/">sign in</a>' in answer.text
        assert "<form" not in answer.text


async def test_who_is_signed_in_gets_no_form(workspace: Workspace, stack: AsyncExitStack) -> None:
    ada = await stranger(workspace)
    browser = await browser_of(workspace, stack, ada.user_id)
    path = await invited(workspace)

    page = await browser.get(path, headers=HTML)

    assert page.status_code == 200
    assert f"you are signed in as\n{ADA}" in page.text
    assert "<form" not in page.text


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
async def test_a_link_may_stand_on_any_page(
    workspace: Workspace, stack: AsyncExitStack, site: str
) -> None:
    """The link may be in a mail that is read in the browser where a user is signed in."""
    ada = await stranger(workspace)
    browser = await browser_of(workspace, stack, ada.user_id)
    path = await invited(workspace)
    for name in CONSOLE:
        del browser.headers[name]

    page = await browser.get(path, headers={**HTML, "sec-fetch-site": site})

    assert page.status_code == 200
    assert f"you are signed in as\n{ADA}" in page.text


async def test_a_form_works_where_a_session_has_ended(workspace: Workspace) -> None:
    path = await invited(workspace)
    async with workspace.browser() as browser:
        del browser.headers["x-fanion-console"]
        browser.cookies.set("fanion", "A" * 43)
        page = await browser.get(path, headers={**HTML, "sec-fetch-site": "cross-site"})
        done = await browser.post(path, headers=HTML, data=ACCOUNT)

    assert "<form method=" in page.text
    assert done.status_code == 303
    assert done.cookies["fanion"] != "A" * 43


# ── Guessing, and what a stranger may send ───────────────────────────────────────────────


async def test_who_guesses_links_is_slowed_down(workspace: Workspace) -> None:
    path = await invited(workspace)
    async with workspace.browser("192.0.2.66") as guessing:
        answers = [
            (await guessing.get(f"/api/signup/{number:043}/")).status_code
            for number in range(FAILURES_MAX + 1)
        ]
        throttled = await accepted(guessing, path)
    async with workspace.browser("192.0.2.1") as browser:
        welcome = await accepted(browser, path)

    assert answers == [400] * FAILURES_MAX + [429]
    assert throttled[0] == 429
    assert welcome[0] == 201


@pytest.mark.every_engine
@pytest.mark.parametrize("token", ["x", "x" * 5000, "%00", "..", "%F0%9F%92%A9"])
async def test_what_is_no_token_is_refused(workspace: Workspace, token: str) -> None:
    async with workspace.browser() as browser:
        answer = await browser.get(f"/api/signup/{token}/")

    assert answer.status_code in {400, 404}
    assert answer.json()["code"] in {"invalid_invite", "not_found"}


async def test_a_large_body_is_refused(workspace: Workspace) -> None:
    path = await invited(workspace)
    async with workspace.browser() as browser:
        status, _ = await accepted(
            browser, path, {"first_name": "Ada", "password": "x" * SIGN_IN_BYTES_MAX}
        )

    assert status == 413


async def test_an_owner_who_has_signed_in_invites(workspace: Workspace) -> None:
    async with workspace.browser() as browser:
        await browser.post("/api/login/", json={"email": OWNER_EMAIL, "password": OWNER_PASSWORD})
        fresh = await browser.post(INVITES, json={"target_email": ADA})
        workspace.clock.move(minutes=11)
        late = [
            await browser.post(INVITES, json={"target_email": "bea@example.com"}),
            await browser.post(f"{INVITES}bulk/", json=[]),
            await browser.delete(f"{INVITES}{fresh.json()['id']}/"),
        ]

    assert fresh.status_code == 201
    assert [(answer.status_code, answer.json()["code"]) for answer in late] == [
        (403, "fresh_sign_in_required")
    ] * 3


def test_enough_of_an_address_is_shown_to_recognise_it() -> None:
    shown = [masked_email(address) for address in ("ada@example.com", "ab@x.io", "a@x.io")]

    assert shown == ["a…a@example.com", "a…@x.io", "a…@x.io"]
