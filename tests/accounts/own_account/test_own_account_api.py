"""The caller's own user: name, e-mail address, current project, password."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import delete, insert, select, update

from fanion.accounts.mail.message import Mail
from fanion.accounts.model import Device, Purpose
from fanion.accounts.oidc.identities_store import IdentityStore
from fanion.accounts.oidc.model import OidcIdentity, OidcSettings
from fanion.accounts.sign_in.api import LoginApi
from fanion.activity.store import page
from fanion.db.engine import Records
from fanion.db.schema.accounts import oidc_identities, sessions
from fanion.db.schema.tables import memberships, organizations, users
from fanion.projects.admin_store import FIRST_ORGANIZATION
from fanion.projects.auth.model import FRESH_FOR
from fanion.projects.model import Level
from tests.support.management import (
    NOW,
    OWNER_EMAIL,
    OWNER_KEY,
    OWNER_PASSWORD,
    PROJECT_TOKEN,
    Workspace,
    add_key,
    add_member,
    add_neighbour,
    error,
    insert_project,
    invalid,
    open_workspace,
)

ME = "/api/users/@me/"
NEW_PASSWORD = "quite another passphrase"
PRESENT = {"current_password": OWNER_PASSWORD}
FRESH = error(
    "authentication_error",
    "fresh_sign_in_required",
    "Confirm your identity: sign in again, then repeat this request.",
)
NO_KEY = error(
    "authentication_error",
    "permission_denied",
    "This action does not support Personal API Key access",
)

Json = dict[str, Any]


class MailedWorkspace:
    """The workspace, and the mails that would be sent."""

    def __init__(self, workspace: Workspace, mails: list[Mail]) -> None:
        self.workspace = workspace
        self.mails = mails

    async def browser(self) -> httpx.AsyncClient:
        return await self.signed_in(OWNER_PASSWORD)

    async def signed_in(self, password: str, email: str = OWNER_EMAIL) -> httpx.AsyncClient:
        browser = self.workspace.browser()
        sent = {"email": email, "password": password}
        answer = await browser.post("/api/login/", json=sent)
        assert answer.status_code == 200, answer.text
        return browser

    async def can_sign_in(self, password: str, email: str = OWNER_EMAIL) -> bool:
        async with self.workspace.browser() as browser:
            sent = {"email": email, "password": password}
            return (await browser.post("/api/login/", json=sent)).status_code == 200

    async def activity(self) -> list[tuple[str, str | None, Json]]:
        """Return activity, user and details of the entries, without sign-ins, oldest first."""
        project_id = self.workspace.made.project.id
        entries, _ = await page(self.workspace.records, project_id, 100, 0, "User")
        return [
            (entry.activity, entry.email, {c.field: c.after for c in entry.changes or ()})
            for entry in reversed(entries)
            if entry.activity not in {"logged_in", "login_failed"}
        ]


@pytest.fixture
async def mailed(records: Records) -> AsyncIterator[MailedWorkspace]:
    mails: list[Mail] = []

    def put(mail: Mail) -> bool:
        mails.append(mail)
        return True

    async with open_workspace(records, (LoginApi,), put_mail=put) as workspace:
        yield MailedWorkspace(workspace, mails)


# ── Reading ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_a_user_has_an_organization_a_project_and_all_organizations(
    mailed: MailedWorkspace,
) -> None:
    workspace = mailed.workspace
    async with workspace.records.write() as connection:
        other, _ = await insert_project(connection, "Another", "P", "phc_2")
        await connection.execute(
            insert(memberships).values(
                organization_id=other,
                user_id=workspace.made.user.id,
                level=Level.MEMBER,
                joined_at=NOW,
            )
        )
    workspace.clock.move(seconds=3)

    me = (await workspace.client.get(ME)).json()

    mine = {"id": str(FIRST_ORGANIZATION), "name": "My organization", "membership_level": 15}
    assert me["organization"] == mine
    assert me["organizations"] == [
        {"id": str(other), "name": "Another", "membership_level": 1},
        mine,
    ]
    assert me["project"]["api_token"] == PROJECT_TOKEN
    assert me["has_password"] is True
    assert "hash" not in str(me)


async def test_a_user_without_a_password_is_told_so(mailed: MailedWorkspace) -> None:
    ada = await add_member(mailed.workspace.records, "ada")
    async with mailed.workspace.client_with(ada.key) as client:
        me = (await client.get(ME)).json()

    assert me["has_password"] is False


# ── Name and current project ─────────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_a_name_changes_at_once_for_keys_and_sessions(mailed: MailedWorkspace) -> None:
    browser = await mailed.browser()
    before = [
        (await client.get(ME)).json()["first_name"] for client in (browser, mailed.workspace.client)
    ]

    answer = await browser.patch(ME, json={"first_name": " Olga Ä. "})

    assert (answer.status_code, answer.json()["first_name"]) == (200, "Olga Ä.")
    after = [
        (await client.get(ME)).json()["first_name"] for client in (browser, mailed.workspace.client)
    ]
    assert (before, after) == (["Olga", "Olga"], ["Olga Ä.", "Olga Ä."])
    assert (await mailed.activity(), mailed.mails) == ([], [])


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("", invalid("min_length", "Ensure this field has at least 1 character.", "first_name")),
        ("  ", invalid("blank", "This field may not be blank.", "first_name")),
        (
            "a\nb",
            invalid("invalid_input", "Ensure this field has no control characters.", "first_name"),
        ),
    ],
)
async def test_a_name_that_is_none_is_refused(
    mailed: MailedWorkspace, name: str, refusal: Json
) -> None:
    answer = await mailed.workspace.client.patch(ME, json={"first_name": name})

    assert answer.status_code == 400
    assert answer.json()["attr"] == refusal["attr"]
    if name:
        assert answer.json() == refusal


async def test_the_current_project_changes_for_the_next_request(mailed: MailedWorkspace) -> None:
    browser = await mailed.browser()
    made = (await browser.post("/api/projects/", json={"name": "Second"})).json()
    before = (await browser.get("/api/projects/@current/")).json()["name"]

    answer = await browser.patch(ME, json={"set_current_team": made["id"]})

    assert answer.json()["project"]["id"] == made["id"]
    assert before == "Default project"
    for client in (browser, mailed.workspace.client):
        assert (await client.get("/api/projects/@current/")).json()["name"] == "Second"


async def test_the_current_organization_changes_with_its_oldest_project(
    mailed: MailedWorkspace,
) -> None:
    workspace = mailed.workspace
    async with workspace.records.write() as connection:
        other, project_id = await insert_project(connection, "Another", "P", "phc_2")
        empty = uuid4()
        await connection.execute(
            insert(organizations).values(id=empty, name="Empty", created_at=NOW)
        )
        for client in (other, empty):
            await connection.execute(
                insert(memberships).values(
                    organization_id=client,
                    user_id=workspace.made.user.id,
                    level=Level.ADMIN,
                    joined_at=NOW,
                )
            )
    workspace.clock.move(seconds=3)

    answer = await workspace.client.patch(ME, json={"set_current_organization": str(other)})
    without = await workspace.client.patch(ME, json={"set_current_organization": str(empty)})

    assert answer.json()["organization"]["name"] == "Another"
    assert answer.json()["project"]["id"] == project_id
    assert (without.status_code, without.json()) == (
        400,
        invalid("invalid_input", "This organization has no project.", "set_current_organization"),
    )


async def test_what_belongs_to_others_looks_as_what_does_not_exist(mailed: MailedWorkspace) -> None:
    neighbour = await add_neighbour(mailed.workspace.records)
    theirs: list[tuple[str, int | UUID, int | UUID]] = [
        ("set_current_team", neighbour.project_id, 999_999),
        ("set_current_organization", neighbour.organization_id, uuid4()),
    ]

    for attr, known, unknown in theirs:
        for value in (known, unknown):
            sent = {attr: value if isinstance(value, int) else str(value)}
            answer = await mailed.workspace.client.patch(ME, json=sent)
            detail = f'Invalid pk "{value}" - object does not exist.'
            assert (answer.status_code, answer.json()) == (
                400,
                invalid("does_not_exist", detail, attr),
            )


async def test_what_was_read_is_accepted_again(mailed: MailedWorkspace) -> None:
    me = (await mailed.workspace.client.get(ME)).json()

    answer = await mailed.workspace.client.patch(ME, json=me)
    unknown = await mailed.workspace.client.patch(ME, json={"colour": "red"})

    assert (answer.status_code, answer.json()) == (200, me)
    assert (unknown.status_code, unknown.json()["attr"]) == (400, "colour")


# ── E-mail address ───────────────────────────────────────────────────────────────────────


async def test_an_address_that_a_user_has_chosen_is_marked(mailed: MailedWorkspace) -> None:
    """An identity provider that has verified the same address may mean another user."""
    identity = OidcIdentity("https://id.example.com", "1", "new@example.com", "New", frozenset())
    settings = OidcSettings(identity.issuer, "fanion", domains=frozenset({"example.com"}))
    browser, store = await mailed.browser(), IdentityStore(mailed.workspace.records, settings)

    own = await store.user_of(replace(identity, verified_email=OWNER_EMAIL, subject="2"), NOW)
    await forget_identities(mailed.workspace.records)
    await browser.patch(ME, json={"email": "new@example.com", **PRESENT})

    assert own == mailed.workspace.made.user.id
    assert await store.user_of(identity, NOW) is None


async def forget_identities(records: Records) -> None:
    async with records.write() as connection:
        await connection.execute(delete(oidc_identities))


@pytest.mark.every_engine
async def test_a_fresh_session_changes_the_address_and_the_former_one_is_told(
    mailed: MailedWorkspace,
) -> None:
    links, workspace = mailed.workspace.sign_in.links, mailed.workspace
    token = await links.create_link(Purpose.RESET, workspace.made.user.id, NOW, FRESH_FOR)
    browser = await mailed.browser()

    answer = await browser.patch(ME, json={"email": " New@Example.com ", **PRESENT})

    assert (answer.status_code, answer.json()["email"]) == (200, "new@example.com")
    assert answer.json()["is_email_verified"] is False
    assert (await browser.get(ME)).json()["email"] == "new@example.com"
    assert not await mailed.can_sign_in(OWNER_PASSWORD)
    assert await mailed.can_sign_in(OWNER_PASSWORD, "new@example.com")
    assert await links.find_user(token, Purpose.RESET, NOW) is None
    assert [(mail.kind, mail.to) for mail in mailed.mails] == [("email_changed", OWNER_EMAIL)]
    assert await mailed.activity() == [
        (
            "email_changed",
            "new@example.com",
            {"former_email": OWNER_EMAIL, "address": "192.0.2.1"},
        )
    ]


@pytest.mark.every_engine
async def test_an_address_of_another_user_is_refused(mailed: MailedWorkspace) -> None:
    await add_member(mailed.workspace.records, "ada")
    browser = await mailed.browser()

    sent = {"email": "ADA@example.com", "first_name": "Eve", **PRESENT}
    answer = await browser.patch(ME, json=sent)

    assert (answer.status_code, answer.json()) == (
        400,
        invalid("unique", "There is already a user with this e-mail address.", "email"),
    )
    assert (await browser.get(ME)).json()["first_name"] == "Olga"
    assert (await mailed.activity(), mailed.mails) == ([], [])


@pytest.mark.parametrize("email", ["", "ada", "a b@example.com", "a\x07@example.com", "a" * 255])
async def test_an_address_that_is_none_is_refused(mailed: MailedWorkspace, email: str) -> None:
    browser = await mailed.browser()

    answer = await browser.patch(ME, json={"email": email})

    assert (answer.status_code, answer.json()) == (
        400,
        invalid("invalid_input", "Enter a valid email address.", "email"),
    )


async def test_the_own_address_is_no_change(mailed: MailedWorkspace) -> None:
    answer = await mailed.workspace.client.patch(ME, json={"email": OWNER_EMAIL.upper()})

    assert answer.status_code == 200
    assert (await mailed.activity(), mailed.mails) == ([], [])


# ── Password ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_a_new_password_ends_all_other_sessions_and_links(mailed: MailedWorkspace) -> None:
    workspace = mailed.workspace
    links = workspace.sign_in.links
    tokens = [
        (await links.create_link(purpose, workspace.made.user.id, NOW, FRESH_FOR), purpose)
        for purpose in (Purpose.RESET, Purpose.FIRST_START)
    ]
    browser, other = await mailed.browser(), await mailed.browser()
    thief = workspace.browser()
    thief.cookies.update(browser.cookies)
    former = browser.cookies["fanion"]

    answer = await browser.patch(
        ME, json={"password": NEW_PASSWORD, "current_password": OWNER_PASSWORD}
    )

    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert browser.cookies["fanion"] != former
    assert [(await client.get(ME)).status_code for client in (browser, other, thief)] == [
        200,
        401,
        401,
    ]
    assert (await workspace.client.get(ME)).status_code == 200  # keys stay valid
    assert not await mailed.can_sign_in(OWNER_PASSWORD)
    assert await mailed.can_sign_in(NEW_PASSWORD)
    assert [await links.find_user(token, purpose, NOW) for token, purpose in tokens] == [None, None]
    assert [(mail.kind, mail.to) for mail in mailed.mails] == [("password_changed", OWNER_EMAIL)]
    assert await mailed.activity() == [("password_changed", OWNER_EMAIL, {"address": "192.0.2.1"})]


@pytest.mark.parametrize(
    ("sent", "refusal"),
    [
        ({}, invalid("required", "This field is required.", "current_password")),
        (
            {"current_password": "a wrong password"},
            invalid(
                "incorrect_password", "Your current password is incorrect.", "current_password"
            ),
        ),
    ],
)
@pytest.mark.parametrize("by", ["session", "key"])
@pytest.mark.parametrize("new", [{"password": NEW_PASSWORD}, {"email": "new@example.com"}])
async def test_a_new_password_or_address_needs_the_present_password(
    mailed: MailedWorkspace, sent: Json, refusal: Json, by: str, new: Json
) -> None:
    client = await mailed.browser() if by == "session" else mailed.workspace.client

    answer = await client.patch(ME, json={**new, **sent})

    assert (answer.status_code, answer.json()) == (400, refusal)
    assert await mailed.can_sign_in(OWNER_PASSWORD)


async def test_guesses_of_the_present_password_are_delayed(mailed: MailedWorkspace) -> None:
    browser = await mailed.browser()
    statuses = [
        (
            await browser.patch(
                ME, json={"password": NEW_PASSWORD, "current_password": f"guess {number}"}
            )
        ).status_code
        for number in range(30)
    ]

    assert statuses[0] == 400
    assert statuses[-1] == 429


@pytest.mark.parametrize(
    ("password", "code"),
    [("short", "password_too_short"), ("a" * 20, "password_too_common")],
)
async def test_a_bad_password_is_refused_and_changes_nothing(
    mailed: MailedWorkspace, password: str, code: str
) -> None:
    browser = await mailed.browser()

    answer = await browser.patch(
        ME, json={"password": password, "current_password": OWNER_PASSWORD, "first_name": "Eve"}
    )

    body = answer.json()
    assert (answer.status_code, body["code"], body["attr"]) == (400, code, "password")
    assert (await browser.get(ME)).json()["first_name"] == "Olga"
    assert await mailed.can_sign_in(OWNER_PASSWORD)


@pytest.mark.parametrize(
    "sent",
    [
        {"email": "new@example.com", **PRESENT},
        {"password": NEW_PASSWORD, **PRESENT},
    ],
)
async def test_an_old_session_changes_neither_address_nor_password(
    mailed: MailedWorkspace, sent: Json
) -> None:
    browser = await mailed.browser()
    mailed.workspace.clock.time += FRESH_FOR + FRESH_FOR / 10

    answer = await browser.patch(ME, json=sent)
    name = await browser.patch(ME, json={"first_name": "Olga B."})

    assert (answer.status_code, answer.json()) == (403, FRESH)
    assert name.status_code == 200


async def test_a_key_changes_them_with_the_password_alone(mailed: MailedWorkspace) -> None:
    client = mailed.workspace.client

    bare = await client.patch(ME, json={"email": "new@example.com"})
    answer = await client.patch(
        ME, json={"email": "new@example.com", "current_password": OWNER_PASSWORD}
    )
    sent = {"password": NEW_PASSWORD, "current_password": OWNER_PASSWORD}
    changed = await client.patch(ME, json=sent)

    assert (bare.status_code, bare.json()) == (
        400,
        invalid("required", "This field is required.", "current_password"),
    )
    assert (answer.status_code, changed.status_code) == (200, 200)
    assert "set-cookie" not in changed.headers
    assert await mailed.can_sign_in(NEW_PASSWORD, "new@example.com")


async def test_a_restricted_key_never_changes_them(mailed: MailedWorkspace) -> None:
    records, user_id = mailed.workspace.records, mailed.workspace.made.user.id
    key = await add_key(records, user_id, "phx_users", ["user:write"])
    async with mailed.workspace.client_with(key) as client:
        for sent in ({"email": "new@example.com"}, {"password": NEW_PASSWORD}):
            answer = await client.patch(ME, json={**sent, "current_password": OWNER_PASSWORD})
            assert (answer.status_code, answer.json()) == (403, NO_KEY)
        name = await client.patch(ME, json={"first_name": "Olga B."})

    assert name.status_code == 200


async def test_a_user_without_a_password_sets_the_first_by_a_fresh_session(
    mailed: MailedWorkspace,
) -> None:
    ada = await add_member(mailed.workspace.records, "ada")
    start = mailed.workspace.sign_in.sessions.start_session
    browser = mailed.workspace.browser()
    browser.cookies.set("fanion", await start(ada.user_id, "oidc", Device("", "")))
    async with mailed.workspace.client_with(ada.key) as client:
        by_key = await client.patch(ME, json={"password": NEW_PASSWORD})

    answer = await browser.patch(ME, json={"password": NEW_PASSWORD})

    assert (by_key.status_code, by_key.json()["code"]) == (403, "permission_denied")
    assert (answer.status_code, answer.json()["has_password"]) == (200, True)
    assert await mailed.can_sign_in(NEW_PASSWORD, "ada@example.com")


async def test_neither_password_is_stored_or_returned(mailed: MailedWorkspace) -> None:
    browser = await mailed.browser()

    answer = await browser.patch(
        ME, json={"password": NEW_PASSWORD, "current_password": OWNER_PASSWORD}
    )

    stored = await mailed.workspace.records.fetch(select(users))
    kept = await mailed.workspace.records.fetch(select(sessions))
    for text in (answer.text, str(stored), str(kept), str(await mailed.activity())):
        assert NEW_PASSWORD not in text and OWNER_PASSWORD not in text


async def test_an_account_that_was_disabled_meanwhile_changes_nothing(
    mailed: MailedWorkspace,
) -> None:
    async with mailed.workspace.records.write() as connection:
        await connection.execute(update(users).values(is_active=False))
    mailed.workspace.clock.move(seconds=3)

    answer = await mailed.workspace.client.patch(
        ME,
        json={"first_name": "Eve"},
        headers={"authorization": f"Bearer {OWNER_KEY}"},
    )

    assert answer.status_code == 401
