"""Links that set a password, once and for one account, however often they were read before."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import select, update

from fanion.accounts.mail.message import Mail
from fanion.accounts.model import Purpose, SignInOptions
from fanion.accounts.password_links.api import ResetApi, SignInLinksApi
from fanion.accounts.password_links.store import MAILED_LASTS, PATHS
from fanion.accounts.sessions.access import SIGN_IN_BYTES_MAX
from fanion.accounts.sign_in.api import LoginApi
from fanion.activity.store import page
from fanion.db.engine import Records
from fanion.db.schema.accounts import sign_in_links
from fanion.db.schema.tables import users
from fanion.errors import Throttled
from fanion.web.link_pages import LinkPage
from tests.support.management import (
    MAIL_URL,
    NOW,
    OWNER_EMAIL,
    OWNER_PASSWORD,
    Workspace,
    add_member,
    invalid,
    open_workspace,
)

NEW_PASSWORD = "quite another passphrase"
USED = invalid(
    "invalid_token", "This link is not valid: it was used before, or has expired.", "token"
)
ME = "/api/users/@me/"
PAGE = {"accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
PURPOSES = sorted(PATHS)


@pytest.fixture
def mails() -> list[Mail]:
    return []


@pytest.fixture
async def workspace(records: Records, mails: list[Mail]) -> AsyncIterator[Workspace]:
    def put(mail: Mail) -> bool:
        mails.append(mail)
        return True

    controllers = (LoginApi, ResetApi, SignInLinksApi)
    async with open_workspace(records, controllers, put_mail=put) as opened:
        yield opened


async def link(
    workspace: Workspace,
    purpose: Purpose = Purpose.RESET,
    user_id: int | None = None,
    lasts: timedelta = MAILED_LASTS,
) -> str:
    """Create a link and return its path."""
    user_id = workspace.made.user.id if user_id is None else user_id
    token = await workspace.sign_in.links.create_link(
        purpose, user_id, workspace.clock.now(), lasts
    )
    return f"{PATHS[purpose]}{token}/"


async def can_sign_in(workspace: Workspace, password: str) -> bool:
    async with workspace.browser() as browser:
        sent = {"email": OWNER_EMAIL, "password": password}
        return (await browser.post("/api/login/", json=sent)).status_code == 200


# ── Programs ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.every_engine
@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_link_sets_the_password_and_signs_in_once(
    workspace: Workspace, purpose: Purpose, mails: list[Mail]
) -> None:
    path = await link(workspace, purpose)
    browser, thief = workspace.browser(), workspace.browser()

    looks = [await browser.get(path) for _ in range(3)]
    answer = await browser.post(path, json={"password": NEW_PASSWORD})
    again = await thief.post(path, json={"password": "a thief's passphrase"})
    look = await thief.get(path)

    assert [(response.status_code, response.json()) for response in looks] == [
        (200, {"email": OWNER_EMAIL})
    ] * 3
    assert looks[0].headers["cache-control"] == "no-store"
    assert (answer.status_code, answer.json()) == (200, {"success": True})
    assert (await browser.get(ME)).json()["email"] == OWNER_EMAIL
    assert [(response.status_code, response.json()) for response in (again, look)] == [
        (400, USED)
    ] * 2
    assert "set-cookie" not in again.headers
    assert await can_sign_in(workspace, NEW_PASSWORD)
    assert not await can_sign_in(workspace, OWNER_PASSWORD)
    assert [(mail.kind, mail.to) for mail in mails] == [("password_changed", OWNER_EMAIL)]


@pytest.mark.every_engine
async def test_of_requests_at_the_same_time_one_uses_the_link(workspace: Workspace) -> None:
    path = await link(workspace)
    browsers = [workspace.browser() for _ in range(5)]

    answers = await asyncio.gather(
        *(
            browser.post(path, json={"password": f"passphrase number {number}"})
            for number, browser in enumerate(browsers)
        )
    )

    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [200, 400, 400, 400, 400]
    winner = statuses.index(200)
    assert await can_sign_in(workspace, f"passphrase number {winner}")
    assert "set-cookie" in answers[winner].headers


async def test_every_session_and_every_other_link_ends(workspace: Workspace) -> None:
    stolen = workspace.browser()
    sent = {"email": OWNER_EMAIL, "password": OWNER_PASSWORD}
    await stolen.post("/api/login/", json=sent)
    paths = [await link(workspace, purpose) for purpose in PURPOSES]

    await workspace.browser().post(await link(workspace), json={"password": NEW_PASSWORD})

    assert (await stolen.get(ME)).status_code == 401
    assert [(await stolen.get(path)).status_code for path in paths] == [400] * len(PURPOSES)
    assert await workspace.records.fetch(select(sign_in_links)) == []


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_link_expires(workspace: Workspace, purpose: Purpose) -> None:
    path = await link(workspace, purpose)
    workspace.clock.time += MAILED_LASTS

    look = await workspace.browser().get(path)
    answer = await workspace.browser().post(path, json={"password": NEW_PASSWORD})

    assert [(response.status_code, response.json()) for response in (look, answer)] == [
        (400, USED)
    ] * 2


async def test_a_link_is_for_its_purpose_alone(workspace: Workspace) -> None:
    token = (await link(workspace, Purpose.RESET)).split("/")[-2]

    answer = await workspace.browser().get(f"{PATHS[Purpose.FIRST_START]}{token}/")

    assert (answer.status_code, answer.json()) == (400, USED)


@pytest.mark.parametrize("token", ["x", "%00", "a" * 5_000, "%C3%A4", "%F0%9F%98%80", "%ED%A0%80"])
async def test_what_is_no_token_is_refused_in_the_same_way(
    workspace: Workspace, token: str
) -> None:
    for purpose in PURPOSES:
        path = f"{PATHS[purpose]}{token}/"
        look = await workspace.browser().get(path)
        answer = await workspace.browser().post(path, json={"password": NEW_PASSWORD})
        assert [(response.status_code, response.json()) for response in (look, answer)] == [
            (400, USED)
        ] * 2


async def test_guesses_of_tokens_are_limited(workspace: Workspace) -> None:
    browser = workspace.browser("198.51.100.1")
    statuses = [(await browser.get(f"/api/reset/{number}/")).status_code for number in range(310)]

    path = await link(workspace)
    throttled = await browser.get(path)
    elsewhere = await workspace.browser("198.51.100.2").get(path)

    assert statuses == [400] * 300 + [429] * 10
    assert (throttled.status_code, elsewhere.status_code) == (429, 200)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"password": "short"}, "password_too_short"),
        ({"password": "a" * 20}, "password_too_common"),
        ({"password": "a" * 257}, "max_length"),
        ({}, "required"),
    ],
)
async def test_a_password_that_will_not_do_does_not_use_the_link_up(
    workspace: Workspace, sent: dict[str, str], code: str
) -> None:
    path = await link(workspace)
    browser = workspace.browser()

    refused = await browser.post(path, json=sent)
    answer = await browser.post(path, json={"password": NEW_PASSWORD})

    body = refused.json()
    assert (refused.status_code, body["code"], body["attr"]) == (400, code, "password")
    assert "set-cookie" not in refused.headers
    assert answer.status_code == 200


async def test_a_disabled_account_has_no_links(workspace: Workspace) -> None:
    path = await link(workspace)
    async with workspace.records.write() as connection:
        await connection.execute(update(users).values(is_active=False))

    look = await workspace.browser().get(path)
    answer = await workspace.browser().post(path, json={"password": NEW_PASSWORD})

    assert [response.status_code for response in (look, answer)] == [400, 400]


async def test_the_activity_says_how_the_password_was_changed(workspace: Workspace) -> None:
    path = await link(workspace)
    await workspace.browser().post(path, json={"password": NEW_PASSWORD})

    entries, _ = await page(workspace.records, workspace.made.project.id, 10, 0, "User")
    entry = entries[1]
    assert [entry.activity for entry in entries] == ["logged_in", "password_changed"]

    assert (entry.name, entry.email) == (OWNER_EMAIL, OWNER_EMAIL)
    details = {change.field: change.after for change in entry.changes or ()}
    assert details == {"method": "link", "address": "192.0.2.1"}


async def test_another_site_cannot_use_a_link_in_the_browser_of_another_user(
    workspace: Workspace,
) -> None:
    path = await link(workspace)
    async with workspace.client_with(None) as elsewhere:
        for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
            answer = await elsewhere.post(path, json={"password": NEW_PASSWORD}, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "forged_request")

    assert (await workspace.browser().get(path)).status_code == 200


# ── Browsers ─────────────────────────────────────────────────────────────────────────────


def plain_browser(workspace: Workspace) -> httpx.AsyncClient:
    """Return a browser that opens a link like a person: it wants a page, and runs no script."""
    browser = workspace.browser()
    browser.headers.pop("x-fanion-console")
    browser.headers.update(PAGE)
    return browser


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_browser_gets_a_form_that_works_without_a_script(
    workspace: Workspace, purpose: Purpose
) -> None:
    path = await link(workspace, purpose)
    browser = plain_browser(workspace)

    form = await browser.get(path)
    short = await browser.post(path, data={"password": "<short>"})
    done = await browser.post(path, data={"password": NEW_PASSWORD})
    over = await browser.get(path)

    assert form.headers["content-type"] == "text/html; charset=utf-8"
    assert OWNER_EMAIL in html.unescape(form.text)
    assert re.findall(r'name="(\w+)"', form.text.partition("<body>")[2]) == ["password"]
    assert "<script" not in form.text
    assert (short.status_code, "at least 12 characters" in short.text) == (400, True)
    assert "<short>" not in short.text
    assert (done.status_code, done.headers["location"]) == (303, "http://fanion.test/")
    assert (await browser.get(ME)).status_code == 200
    assert (over.status_code, "cannot be used" in over.text) == (400, True)
    assert '<a href="http://fanion.test/">sign in</a>' in over.text


async def test_the_form_works_over_plain_http_where_browsers_name_the_origin_alone(
    workspace: Workspace,
) -> None:
    browser = plain_browser(workspace)
    browser.headers.pop("sec-fetch-site")
    origin = {"origin": "http://fanion.test"}

    hidden = await browser.post(
        await link(workspace), data={"password": NEW_PASSWORD}, headers={"origin": "null"}
    )
    done = await browser.post(
        await link(workspace), data={"password": NEW_PASSWORD}, headers=origin
    )

    assert (hidden.status_code, done.status_code) == (403, 303)


async def test_the_page_keeps_the_address_to_itself(workspace: Workspace) -> None:
    path = await link(workspace)
    browser = plain_browser(workspace)

    answers = [
        await browser.get(path),
        await browser.post(path, data={"password": "short"}),
        await browser.post(path, data={"password": NEW_PASSWORD}),
        await browser.get(path),
    ]

    for answer in answers:
        assert answer.headers["referrer-policy"] == "strict-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert NEW_PASSWORD not in answer.text
    policy = answers[0].headers["content-security-policy"]
    assert "default-src 'none'" in policy and "form-action 'self'" in policy
    assert "frame-ancestors 'none'" in policy and "script" not in policy


async def test_what_a_user_is_called_is_escaped(workspace: Workspace) -> None:
    ada = await add_member(workspace.records, "ada")
    email = '"><script>alert(1)</script>@example.com'
    async with workspace.records.write() as connection:
        await connection.execute(update(users).where(users.c.id == ada.user_id).values(email=email))

    form = await plain_browser(workspace).get(await link(workspace, user_id=ada.user_id))

    assert form.status_code == 200
    assert "<script" not in form.text


def test_a_page_may_ask_for_more_than_the_link() -> None:
    page = LinkPage().unfinished(Throttled(7), "http://fanion.test")

    assert page.status_code == 429
    assert page.headers["retry-after"] == "7"
    assert page.headers["referrer-policy"] == "strict-origin"
    assert b"The password is set" in page.content and b"7 seconds" in page.content


# ── Asking for a link ────────────────────────────────────────────────────────────────────


async def ask(workspace: Workspace, email: str, address: str = "192.0.2.1") -> httpx.Response:
    async with workspace.browser(address) as browser:
        return await browser.post("/api/reset/", json={"email": email})


@pytest.mark.every_engine
async def test_a_forgotten_password_is_replaced_by_mail(
    workspace: Workspace, mails: list[Mail]
) -> None:
    answer = await ask(workspace, OWNER_EMAIL.upper())
    while await workspace.resets.work_once():
        pass

    [mail] = mails
    [url] = re.findall(r"https?://\S+", mail.text)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (mail.kind, mail.to) == ("password_reset", OWNER_EMAIL)
    assert url.startswith(f"{MAIL_URL}/api/reset/")
    done = await workspace.browser().post(
        url.removeprefix(MAIL_URL), json={"password": NEW_PASSWORD}
    )
    assert done.status_code == 200
    assert await can_sign_in(workspace, NEW_PASSWORD)


async def test_the_link_does_not_lead_where_the_request_says(
    workspace: Workspace, mails: list[Mail]
) -> None:
    headers = {"host": "evil.example", "x-forwarded-host": "evil.example"}
    async with workspace.client_with(None) as client:
        answer = await client.post("/api/reset/", json={"email": OWNER_EMAIL}, headers=headers)
    await workspace.resets.work_once()

    assert answer.status_code == 204
    assert "evil" not in mails[0].text


async def test_nothing_says_whether_an_account_exists(
    workspace: Workspace, mails: list[Mail]
) -> None:
    """Nothing is looked up before the response, so its time reveals nothing either."""
    await add_member(workspace.records, "gone")
    async with workspace.records.write() as connection:
        await connection.execute(
            update(users).where(users.c.email == "gone@example.com").values(is_active=False)
        )
    reads: list[str] = []
    fetch = workspace.records._fetch

    class Noted:
        async def __call__(self, statement: object, parameters: object) -> object:
            reads.append(str(statement))
            return await fetch(statement, parameters)  # type: ignore[arg-type]

        async def close(self) -> None:
            await fetch.close()

    workspace.records._fetch = Noted()  # type: ignore[assignment]
    answers = [
        await ask(workspace, email)
        for email in (OWNER_EMAIL, "nobody@example.com", "gone@example.com")
    ]
    before_answers = list(reads)
    while await workspace.resets.work_once():
        pass

    assert before_answers == []
    assert {(answer.status_code, answer.content) for answer in answers} == {(204, b"")}
    assert len({tuple(sorted(answer.headers.items())) for answer in answers}) == 1
    assert [mail.to for mail in mails] == [OWNER_EMAIL]


@pytest.mark.parametrize("email", ["", "ada", "a b@example.com", "a\nb@example.com"])
async def test_what_is_no_address_is_refused(workspace: Workspace, email: str) -> None:
    answer = await ask(workspace, email)

    assert (answer.status_code, answer.json()["attr"]) == (400, "email")


async def test_each_account_gets_a_few_mails_an_hour(
    workspace: Workspace, mails: list[Mail]
) -> None:
    """The limit is the same for unknown accounts, so it reveals nothing either."""
    for email in (OWNER_EMAIL, "nobody@example.com"):
        statuses = [
            (await ask(workspace, email, f"192.0.2.{number}")).status_code for number in range(6)
        ]
        assert statuses == [204] * 3 + [429] * 3
    while await workspace.resets.work_once():
        pass
    before = len(mails)
    workspace.clock.move(minutes=20)
    later = await ask(workspace, OWNER_EMAIL)
    await workspace.resets.work_once()

    assert (before, later.status_code, len(mails)) == (3, 204, 4)


async def test_each_client_asks_a_few_times(workspace: Workspace) -> None:
    statuses = [
        (await ask(workspace, f"user{number}@example.com", "192.0.2.7")).status_code
        for number in range(12)
    ]
    elsewhere = await ask(workspace, "user1@example.com", "192.0.2.8")

    assert statuses == [204] * 10 + [429] * 2
    assert elsewhere.status_code == 204


async def test_invented_addresses_have_a_limit_together(workspace: Workspace) -> None:
    async with workspace.browser("192.0.2.9") as browser:
        statuses = [
            (
                await browser.post(
                    "/api/reset/",
                    json={"email": f"user{number}@example.com"},
                    headers={"x-forwarded-for": f"203.0.113.{number}"},
                )
            ).status_code
            for number in range(105)
        ]

    assert statuses == [204] * 100 + [429] * 5


async def test_the_activity_says_who_asked_from_where(workspace: Workspace) -> None:
    await ask(workspace, OWNER_EMAIL)
    await workspace.resets.work_once()

    entries, _ = await page(workspace.records, workspace.made.project.id, 10, 0, "User")

    [entry] = entries
    assert (entry.activity, entry.name, entry.email) == (
        "password_reset_requested",
        OWNER_EMAIL,
        None,
    )
    details = {change.field: change.after for change in entry.changes or ()}
    assert details == {"method": "mail", "address": "192.0.2.1"}
    assert entry.created_at == NOW


async def test_an_address_to_which_no_mail_can_be_sent_gets_none(
    workspace: Workspace, mails: list[Mail]
) -> None:
    odd = "ada,eve@example.com"
    async with workspace.records.write() as connection:
        await connection.execute(update(users).values(email=odd))

    answer = await ask(workspace, odd)
    await workspace.resets.work_once()

    assert (answer.status_code, mails) == (204, [])


async def test_the_body_of_a_request_is_small(workspace: Workspace) -> None:
    answer = await ask(workspace, "a" * SIGN_IN_BYTES_MAX)

    assert answer.status_code == 413


async def test_where_no_user_has_a_password_none_gets_a_link(
    records: Records, mails: list[Mail]
) -> None:
    def put(mail: Mail) -> bool:
        mails.append(mail)
        return True

    options = SignInOptions(password=False, mail=True)
    async with open_workspace(records, (ResetApi,), put_mail=put, options=options) as workspace:
        answer = await ask(workspace, OWNER_EMAIL)
        await workspace.resets.work_once()

    assert (answer.status_code, answer.json()["code"]) == (403, "password_sign_in_off")
    assert mails == []


async def test_without_a_mail_server_the_operator_is_named(records: Records) -> None:
    async with open_workspace(records, (ResetApi,)) as workspace:
        answers = [await ask(workspace, email) for email in (OWNER_EMAIL, "nobody@example.com")]

    for answer in answers:
        assert (answer.status_code, answer.json()) == (
            400,
            invalid(
                "email_not_available",
                "This server sends no mail. Ask its operator for a link: `fanion users reset`.",
            ),
        )
