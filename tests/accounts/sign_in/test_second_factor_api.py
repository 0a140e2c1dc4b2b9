"""The second factor over HTTP: set up, asked for at sign-in, required by an organization."""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from pyotp import TOTP
from sqlalchemy import select

from fanion.accounts.attempts_cache import ADDRESS_FREE
from fanion.accounts.model import Device, SignInOptions
from fanion.accounts.second_factor.store import PENDING_LASTS
from fanion.accounts.sign_in.api import PENDING, LoginApi
from fanion.accounts.sign_in.second_factor_api import SecondFactorApi, SecondFactorLoginApi
from fanion.activity.store import page
from fanion.db.engine import Records
from fanion.db.schema.accounts import pending_sign_ins, recovery_codes
from fanion.projects.auth.authentication_service import CACHED_S
from fanion.projects.auth.model import FRESH_FOR
from fanion.projects.cache import Projects
from fanion.projects.model import Level
from fanion.projects.organizations.api import OrganizationsApi
from fanion.projects.organizations.service import OrganizationService
from fanion.projects.organizations.store import OrganizationStore
from fanion.projects.store import ProjectStore
from fanion.web.management import Management, management_app
from tests.support.exchange import management_transport
from tests.support.management import (
    BASE_URL,
    CONSOLE,
    OWNER_EMAIL,
    OWNER_KEY,
    OWNER_PASSWORD,
    Clock,
    Workspace,
    add_member,
    error,
    invalid,
    open_workspace,
)

CREDENTIALS = {"email": OWNER_EMAIL, "password": OWNER_PASSWORD}
ME = "/api/users/@me/"
LOGIN, TOKEN = "/api/login/", "/api/login/token/"
ORGANIZATION = "/api/organizations/@current/"
REQUIRED = error(
    "authentication_error",
    "two_factor_required",
    "Enter a code of your authenticator app, or a recovery code.",
)
EXPIRED = error(
    "authentication_error",
    "two_factor_expired",
    "This sign-in has expired. Begin again with your password.",
)
INVALID = invalid("two_factor_invalid", "Invalid authentication code.", "token")
SETUP_REQUIRED = error(
    "authentication_error",
    "two_factor_setup_required",
    "Your organization requires a second factor: set one up at "
    "/api/users/@me/two_factor_start_setup/ first.",
)
NO_KEY = error(
    "authentication_error",
    "permission_denied",
    "This action does not support Personal API Key access",
)
NOT_FRESH = error(
    "authentication_error",
    "fresh_sign_in_required",
    "Confirm your identity: sign in again, then repeat this request.",
)
SETUP_PATHS = ("start_setup", "validate", "backup_codes", "disable")

Browser = httpx.AsyncClient
Answer = tuple[int, Any]


def factor(name: str) -> str:
    return f"/api/users/@me/two_factor_{name}/"


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    controllers = (
        LoginApi,
        SecondFactorLoginApi,
        SecondFactorApi,
        OrganizationsApi,
    )
    projects, store = Projects(ProjectStore(records)), OrganizationStore(records)
    organizations = OrganizationService(projects, store, lambda _: None)
    async with open_workspace(records, controllers, {"organizations": organizations}) as opened:
        yield opened


async def post(browser: Browser, path: str, **body: Any) -> Answer:
    answer = await browser.post(path, json=body)
    return answer.status_code, answer.json()


async def signed_in(workspace: Workspace, address: str = "192.0.2.1") -> Browser:
    browser = workspace.browser(address)
    assert await post(browser, LOGIN, **CREDENTIALS) == (200, {"success": True})
    return browser


@dataclass(frozen=True)
class Phone:
    """An authenticator app, with the clock of the server."""

    clock: Clock
    secret: str
    backup_codes: list[str]

    def code(self, secret: str | None = None) -> str:
        """Return a code that was not used before, from half a minute later."""
        self.clock.move(seconds=30)
        return TOTP(secret or self.secret).at(self.clock.now())


async def set_up(workspace: Workspace, browser: Browser) -> Phone:
    status, begun = await post(browser, factor("start_setup"))
    assert status == 200, begun
    code = TOTP(begun["secret"]).at(workspace.clock.now())
    status, confirmed = await post(browser, factor("validate"), token=code)
    assert status == 200, confirmed
    return Phone(workspace.clock, begun["secret"], confirmed["backup_codes"])


async def half_signed_in(workspace: Workspace, address: str = "192.0.2.1") -> Browser:
    browser = workspace.browser(address)
    assert await post(browser, LOGIN, **CREDENTIALS) == (401, REQUIRED)
    return browser


async def is_signed_in(browser: Browser) -> bool:
    return (await browser.get(ME)).status_code == 200


async def activity(workspace: Workspace) -> list[tuple[str, str]]:
    """Return the entries without sign-ins, oldest first."""
    page_entries, _ = await page(workspace.records, workspace.made.project.id, 100, 0)
    entries = [(stored.scope, stored.activity) for stored in reversed(page_entries)]
    return [entry for entry in entries if entry != ("User", "logged_in")]


async def test_a_second_factor_is_set_up_and_asked_for(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    before = (await browser.get(factor("status"))).json()

    phone = await set_up(workspace, browser)
    after = (await browser.get(factor("status"))).json()
    other = await half_signed_in(workspace)
    is_half = await is_signed_in(other)
    completed = await post(other, TOKEN, token=phone.code())

    off = {"is_enabled": False, "method": None, "confirmed_at": None, "recovery_codes_left": 0}
    on = {
        "is_enabled": True,
        "method": "TOTP",
        "confirmed_at": "2024-03-01T12:00:00Z",
        "recovery_codes_left": 10,
    }
    assert before == off | {"is_required": False}
    assert after == on | {"is_required": False}
    assert (is_half, completed, await is_signed_in(other)) == (
        False,
        (200, {"success": True}),
        True,
    )
    assert await activity(workspace) == [("User", "second_factor_added")]


@pytest.mark.parametrize("new", [{"email": "new@example.com"}, {"password": "quite another one"}])
async def test_an_account_without_a_password_is_changed_with_a_code(
    workspace: Workspace, new: dict[str, str]
) -> None:
    """The holder of a stolen session, which began at an identity provider, has no phone."""
    ada = await add_member(workspace.records, "ada")
    value = await workspace.sign_in.sessions.start_session(ada.user_id, "oidc", Device("", ""))
    async with workspace.browser() as browser:
        browser.cookies.set("fanion", value, "fanion.test", "/")
        phone = await set_up(workspace, browser)

        answers = [
            await browser.patch(ME, json=new),
            await browser.patch(ME, json={**new, "token": "000000"}),
            await browser.patch(ME, json={**new, "current_password": "a guess of it"}),
            await browser.patch(ME, json={"first_name": "Ada B."}),
        ]
        by_code = await browser.patch(ME, json={**new, "token": phone.code()})

    missing = invalid("required", "This field is required.", "token")
    bodies = [answer.json() for answer in answers[:3]]
    assert bodies == [missing, INVALID, missing]
    assert [answer.status_code for answer in answers] == [400, 400, 400, 200]
    assert (by_code.status_code, by_code.json()["email"]) == (
        200,
        new.get("email", "ada@example.com"),
    )


async def test_a_recovery_code_that_changes_an_account_is_used_up(workspace: Workspace) -> None:
    ada = await add_member(workspace.records, "ada")
    value = await workspace.sign_in.sessions.start_session(ada.user_id, "oidc", Device("", ""))
    async with workspace.browser() as browser:
        browser.cookies.set("fanion", value, "fanion.test", "/")
        phone = await set_up(workspace, browser)
        code = phone.backup_codes[0]

        first = await browser.patch(ME, json={"email": "b@example.com", "token": code})
        second = await browser.patch(ME, json={"email": "c@example.com", "token": code})

    assert (first.status_code, second.json()) == (200, INVALID)
    assert ("User", "recovery_code_used") in await activity(workspace)


async def test_the_app_reads_the_secret_from_an_address(workspace: Workspace) -> None:
    browser = await signed_in(workspace)

    answer = await browser.post(factor("start_setup"))

    begun = answer.json()
    assert begun["provisioning_uri"] == (
        f"otpauth://totp/Fanion:owner%40example.com?secret={begun['secret']}&issuer=Fanion"
    )
    assert begun["expires_at"] == "2024-03-01T12:15:00Z"
    assert answer.headers["cache-control"] == "no-store"


async def test_the_cookie_of_a_half_signed_in_browser_is_protected(workspace: Workspace) -> None:
    await set_up(workspace, await signed_in(workspace))
    async with workspace.browser() as browser:
        answer = await browser.post(LOGIN, json=CREDENTIALS)

    [cookie] = answer.headers.get_list("set-cookie")
    value = answer.cookies["fanion-second-factor"]
    assert cookie == (f"fanion-second-factor={value}; Max-Age=600; Path=/; HttpOnly; SameSite=Lax")
    assert answer.headers["cache-control"] == "no-store"
    rows = await workspace.records.fetch(select(pending_sign_ins))
    assert value not in str(rows)


async def test_over_https_the_cookie_has_the_prefix_of_the_host() -> None:
    origin = "https://fanion.example.com"

    cookie = PENDING.set("value", origin)

    assert cookie == (
        "__Host-fanion-second-factor=value; Max-Age=600; Path=/; HttpOnly; SameSite=Lax; Secure"
    )
    assert PENDING.read(cookie.partition(";")[0], origin) == "value"
    assert PENDING.read("fanion-second-factor=value", origin) is None
    assert PENDING.clear(origin).startswith("__Host-fanion-second-factor=; Max-Age=0; Path=/;")


async def test_the_state_between_is_no_session_and_belongs_to_its_browser(
    workspace: Workspace,
) -> None:
    phone = await set_up(workspace, await signed_in(workspace))
    browser = await half_signed_in(workspace)
    value = browser.cookies["fanion-second-factor"]
    stranger = workspace.browser()
    as_session = workspace.browser()
    as_session.cookies.set("fanion", value)

    assert await post(stranger, TOKEN, token=phone.code()) == (401, EXPIRED)
    assert not await is_signed_in(as_session)
    stranger.cookies.set("fanion-second-factor", "A" * 43)
    assert await post(stranger, TOKEN, token=phone.code()) == (401, EXPIRED)
    assert (await post(browser, TOKEN, token=phone.code()))[0] == 200


async def test_the_state_between_ends_after_ten_minutes(workspace: Workspace) -> None:
    phone = await set_up(workspace, await signed_in(workspace))
    browser = await half_signed_in(workspace)

    workspace.clock.move(seconds=PENDING_LASTS.total_seconds())

    assert await post(browser, TOKEN, token=phone.code()) == (401, EXPIRED)


async def test_it_is_used_once(workspace: Workspace) -> None:
    phone = await set_up(workspace, await signed_in(workspace))
    browser = await half_signed_in(workspace)
    again = workspace.browser()
    again.cookies.set("fanion-second-factor", browser.cookies["fanion-second-factor"])
    await post(browser, TOKEN, token=phone.code())

    assert await post(again, TOKEN, token=phone.backup_codes[0]) == (401, EXPIRED)


async def test_a_code_is_not_replayed(workspace: Workspace) -> None:
    phone = await set_up(workspace, await signed_in(workspace))
    one, other = await half_signed_in(workspace), await half_signed_in(workspace)
    code = phone.code()

    answers = [await post(browser, TOKEN, token=code) for browser in (one, other)]

    assert answers == [(200, {"success": True}), (400, INVALID)]


async def test_each_recovery_code_signs_in_once(workspace: Workspace) -> None:
    phone = await set_up(workspace, await signed_in(workspace))
    code = phone.backup_codes[4]

    answers = [
        await post(await half_signed_in(workspace), TOKEN, token=entered)
        for entered in (code, code, code.upper())
    ]

    assert [status for status, _ in answers] == [200, 400, 400]
    assert await activity(workspace) == [
        ("User", "second_factor_added"),
        ("User", "recovery_code_used"),
    ]


@pytest.mark.parametrize("body", [{}, {"token": ""}, {"token": "1" * 41}, {"token": ["1"]}])
async def test_a_code_is_a_short_text(workspace: Workspace, body: dict[str, Any]) -> None:
    async with workspace.browser() as browser:
        answer = await browser.post(TOKEN, json=body)

    assert (answer.status_code, answer.json()["attr"]) == (400, "token")


async def test_guesses_wait_per_account_and_per_address(workspace: Workspace) -> None:
    phone = await set_up(workspace, await signed_in(workspace))
    statuses = []
    for guess in range(40):
        browser = await browser_at(workspace, f"198.51.100.{guess}")
        statuses.append((await post(browser, TOKEN, token=f"{guess:06}"))[0])

    assert set(statuses) <= {400, 429}
    assert statuses[:4] == [400] * 4 and statuses.count(400) < 10
    # A user at an address that the account knows, with a recovery code, does not wait.
    browser = await half_signed_in(workspace)
    assert (await post(browser, TOKEN, token=phone.backup_codes[0]))[0] in {200, 429}


async def browser_at(workspace: Workspace, address: str) -> Browser:
    """Return a browser at this address whose sign-in waits for a code.

    The attempts of its password are skipped: they are not what is tested.
    """
    browser = workspace.browser(address)
    token = secrets.token_urlsafe(32)
    user_id, now = workspace.made.user.id, workspace.clock.now()
    await workspace.sign_in.factors.wait_for_code(user_id, token, "password", now)
    browser.cookies.set("fanion-second-factor", token)
    return browser


async def test_one_address_waits_whatever_account_it_tries(workspace: Workspace) -> None:
    await set_up(workspace, await signed_in(workspace))
    address = "198.51.100.7"

    statuses = []
    for _ in range(ADDRESS_FREE + 1):
        async with workspace.browser(address) as browser:
            browser.cookies.set("fanion-second-factor", secrets.token_urlsafe(32))
            answer = await browser.post(TOKEN, json={"token": "000000"})
            statuses.append(answer.status_code)

    assert statuses == [401] * ADDRESS_FREE + [429]
    assert answer.headers["retry-after"] == "1"


async def test_a_password_that_is_wrong_says_nothing_of_a_second_factor(
    workspace: Workspace,
) -> None:
    await set_up(workspace, await signed_in(workspace))

    async with workspace.browser() as browser:
        answer = await post(browser, LOGIN, email=OWNER_EMAIL, password="another password")

    assert answer == (400, invalid("invalid_credentials", "Invalid email or password."))


async def test_other_sessions_end_and_this_one_gets_a_new_cookie(workspace: Workspace) -> None:
    browser, other = await signed_in(workspace), await signed_in(workspace)
    stolen = workspace.browser()
    stolen.cookies.set("fanion", browser.cookies["fanion"])

    await set_up(workspace, browser)

    states = [await is_signed_in(client) for client in (browser, other, stolen)]
    assert states == [True, False, False]


async def test_a_factor_is_replaced_by_a_new_one(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    former = await set_up(workspace, browser)
    workspace.clock.move(minutes=1)

    phone = await set_up(workspace, browser)

    other = await half_signed_in(workspace)
    assert await post(other, TOKEN, token=former.code()) == (400, INVALID)
    assert await post(other, TOKEN, token=former.backup_codes[0]) == (400, INVALID)
    assert (await post(other, TOKEN, token=phone.code()))[0] == 200


async def test_a_wrong_code_confirms_nothing(workspace: Workspace) -> None:
    browser = await signed_in(workspace)

    without = await post(browser, factor("validate"), token="000000")
    await post(browser, factor("start_setup"))
    wrong = await post(browser, factor("validate"), token="000000x")

    assert without == wrong == (400, INVALID)
    assert not (await browser.get(factor("status"))).json()["is_enabled"]


async def test_recovery_codes_are_replaced(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    phone = await set_up(workspace, browser)

    status, new = await post(browser, factor("backup_codes"))

    assert (status, len(new["backup_codes"])) == (200, 10)
    assert set(new["backup_codes"]).isdisjoint(phone.backup_codes)
    other = await half_signed_in(workspace)
    assert await post(other, TOKEN, token=phone.backup_codes[0]) == (400, INVALID)
    assert (await post(other, TOKEN, token=new["backup_codes"][9]))[0] == 200
    stored = str(await workspace.records.fetch(select(recovery_codes)))
    assert not any(
        code in stored or code.replace("-", "") in stored for code in new["backup_codes"]
    )


async def test_a_factor_is_removed(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    await set_up(workspace, browser)

    removed = await post(browser, factor("disable"))

    off = invalid("two_factor_off", "You have no second factor.")
    assert removed == (200, {"success": True})
    assert await is_signed_in(browser) and await is_signed_in(await signed_in(workspace))
    assert await post(browser, factor("disable")) == (400, off)
    assert await post(browser, factor("backup_codes")) == (400, off)
    assert (await activity(workspace))[-1] == ("User", "second_factor_removed")


@pytest.mark.parametrize("name", SETUP_PATHS)
async def test_changes_need_a_fresh_sign_in_and_no_key(workspace: Workspace, name: str) -> None:
    browser = await signed_in(workspace)
    body = {"token": "000000"} if name == "validate" else {}
    async with workspace.client_with(OWNER_KEY) as keyed:
        by_key = await post(keyed, factor(name), **body)

    workspace.clock.move(seconds=FRESH_FOR.total_seconds() + 1)

    assert by_key == (403, NO_KEY)
    assert await post(browser, factor(name), **body) == (403, NOT_FRESH)


async def test_the_status_is_for_sessions(workspace: Workspace) -> None:
    async with workspace.client_with(OWNER_KEY) as keyed:
        answer = await keyed.get(factor("status"))

    assert (answer.status_code, answer.json()) == (403, NO_KEY)


async def test_pages_elsewhere_complete_nothing(workspace: Workspace) -> None:
    phone = await set_up(workspace, await signed_in(workspace))
    browser = await half_signed_in(workspace)
    headers = {"sec-fetch-site": "cross-site"}

    answer = await browser.post(TOKEN, json={"token": phone.code()}, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (403, "forged_request")


async def enforce(workspace: Workspace, is_enforced: bool, name: str = "ada") -> Answer:
    """Change the organization's requirement as a new administrator, and wait until caches expire.

    The administrator signs in with a provider, and is not concerned by the requirement.
    """
    admin = await add_member(workspace.records, name, Level.ADMIN)
    async with workspace.client_with(admin.key) as client:
        answer = await client.patch(ORGANIZATION, json={"enforce_2fa": is_enforced})
    workspace.clock.move(seconds=CACHED_S)
    return answer.status_code, answer.json()


async def test_an_organization_requires_a_second_factor(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    before = await is_signed_in(browser)

    enforced = await enforce(workspace, True)
    shown = (await workspace.client.get(ORGANIZATION)).json()["enforce_2fa"]
    refused = await browser.get(ORGANIZATION)
    me, status = await browser.get(ME), await browser.get(factor("status"))
    phone = await set_up(workspace, browser)
    admitted = await browser.get(ORGANIZATION)

    assert (before, enforced[0], enforced[1]["enforce_2fa"], shown) == (True, 200, True, True)
    assert (refused.status_code, refused.json()) == (403, SETUP_REQUIRED)
    assert (me.status_code, status.json()["is_required"]) == (200, True)
    assert admitted.status_code == 200
    other = await half_signed_in(workspace)
    await post(other, TOKEN, token=phone.code())
    assert (await other.get(ORGANIZATION)).status_code == 200


async def test_who_has_to_set_one_up_can_do_nothing_else(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    await enforce(workspace, True)

    answers = [
        await browser.get("/api/projects/"),
        await browser.get("/api/personal_api_keys/"),
        await browser.post("/api/personal_api_keys/", json={"label": "a way round"}),
        await browser.patch(ORGANIZATION, json={"enforce_2fa": False}),
    ]

    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (403, SETUP_REQUIRED)
    ] * 4
    assert (await browser.post("/api/logout/")).status_code == 204


async def test_keys_and_sessions_by_openid_connect_need_none(workspace: Workspace) -> None:
    sessions, user_id = workspace.sign_in.sessions, workspace.made.user.id
    browser = workspace.browser()
    browser.cookies.set("fanion", await sessions.start_session(user_id, "oidc", Device("", "")))

    await enforce(workspace, True)

    assert (await browser.get(ORGANIZATION)).status_code == 200
    assert (await workspace.client.get(ORGANIZATION)).status_code == 200


async def test_a_required_factor_is_not_removed(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    await set_up(workspace, browser)
    await enforce(workspace, True)

    refused = await post(browser, factor("disable"))
    nothing = await workspace.client.patch(ORGANIZATION, json={})
    await enforce(workspace, False, "ben")

    detail = "Your organization requires a second factor. You can replace it with another one."
    assert nothing.json()["enforce_2fa"]
    assert refused == (400, invalid("two_factor_required_by_organization", detail))
    assert (await post(browser, factor("disable")))[0] == 200
    assert [kind for scope, kind in await activity(workspace) if scope == "Organization"] == [
        "updated",
        "updated",
    ]


async def test_nobody_locks_themselves_out(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    asked = {"enforce_2fa": True}

    refused = [
        await client.patch(ORGANIZATION, json=asked) for client in (browser, workspace.client)
    ]
    lifted = await browser.patch(ORGANIZATION, json={"enforce_2fa": False})
    await set_up(workspace, browser)
    required = await browser.patch(ORGANIZATION, json=asked)

    detail = "You would lock yourself out: set up a second factor for your own account first."
    missing = invalid("own_second_factor_missing", detail, "enforce_2fa")
    assert [(answer.status_code, answer.json()) for answer in refused] == [(400, missing)] * 2
    assert (lifted.status_code, required.status_code) == (200, 200)
    assert required.json()["enforce_2fa"]
    assert (await browser.get(ORGANIZATION)).status_code == 200


async def test_administrators_decide_about_it(workspace: Workspace) -> None:
    member = await add_member(workspace.records, "mia", Level.MEMBER)
    admin = await add_member(workspace.records, "ada", Level.ADMIN)

    async with workspace.client_with(member.key) as one, workspace.client_with(admin.key) as other:
        answers = [
            await client.patch(ORGANIZATION, json={"enforce_2fa": True}) for client in (one, other)
        ]

    assert [answer.status_code for answer in answers] == [403, 200]


async def test_with_passwords_off_no_user_signs_in_with_one(workspace: Workspace) -> None:
    sign_in = replace(workspace.sign_in, options=SignInOptions(password=False))
    controllers = (LoginApi,)
    app = management_app(
        Management(
            authentication=workspace.authentication,
            projects=workspace.projects,
            sessions=sign_in.sessions,
            now=workspace.clock.now,
            controllers=controllers,
            dependencies={"sign_in": sign_in},
        )
    )
    transport = management_transport(app)
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=CONSOLE) as client:
        answers = [
            await post(client, LOGIN, email=email, password=OWNER_PASSWORD)
            for email in (OWNER_EMAIL, "nobody@example.com")
        ]

    detail = "Sign-in with a password is switched off. Use your identity provider."
    refused = error("authentication_error", "password_sign_in_off", detail)
    assert answers == [(403, refused)] * 2


async def test_a_fresh_sign_in_takes_a_code_too(workspace: Workspace) -> None:
    browser = await signed_in(workspace)
    phone = await set_up(workspace, browser)
    workspace.clock.move(seconds=FRESH_FOR.total_seconds() + 1)

    by_password = await post(browser, "/api/login/reauthenticate/", password=OWNER_PASSWORD)
    not_fresh = await post(browser, factor("disable"))
    by_code = await post(browser, TOKEN, token=phone.code())

    assert by_password == (401, REQUIRED)
    assert not_fresh == (403, NOT_FRESH)
    assert by_code == (200, {"success": True})
    assert (await post(browser, factor("disable")))[0] == 200
