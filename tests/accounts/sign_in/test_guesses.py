"""A thousand guesses of a password, over HTTP."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from fanion.accounts.attempts_cache import ACCOUNT_FREE, ADDRESS_DELAY_S_MAX
from fanion.accounts.sign_in.api import LoginApi
from fanion.accounts.users_store import Account, AccountStore
from fanion.db.engine import Records, RecordsUnavailable
from tests.support.application import Tenant
from tests.support.management import (
    OWNER_EMAIL,
    OWNER_PASSWORD,
    Workspace,
    error,
    open_workspace,
)

LOGIN = "/api/login/"
RIGHT = {"email": OWNER_EMAIL, "password": OWNER_PASSWORD}
GUESSES = 400


class Down(AccountStore):
    async def by_email(self, email: str) -> Account | None:
        raise RecordsUnavailable("the store is down")


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records, (LoginApi,)) as opened:
        yield opened


async def test_hundreds_of_guesses_take_days_and_lock_no_account(workspace: Workspace) -> None:
    begun, statuses = workspace.clock.time, Counter[int]()
    owner = workspace.browser("203.0.113.9")
    assert (await owner.post(LOGIN, json=RIGHT)).status_code == 200
    async with workspace.browser("198.51.100.7") as guesser:
        for number in range(GUESSES):
            # Guess as fast as allowed, and once too early each time.
            answer = await guesser.post(LOGIN, json={**RIGHT, "password": f"guess {number}"})
            statuses[answer.status_code] += 1
            if answer.status_code == 429:
                workspace.clock.move(seconds=int(answer.headers["retry-after"]))
        right = await guesser.post(LOGIN, json=RIGHT)
    passed_s = (workspace.clock.time - begun).total_seconds()

    # Half of the guesses were refused without being checked.
    looked_at = ACCOUNT_FREE + (GUESSES - ACCOUNT_FREE) // 2
    assert statuses == {400: looked_at, 429: GUESSES - looked_at}
    assert passed_s > (GUESSES / 2 - 40) * ADDRESS_DELAY_S_MAX
    assert right.status_code == 200  # the delay has ended
    # A user who has signed in from there before never has to wait.
    async with workspace.browser("203.0.113.9") as again:
        assert (await again.post(LOGIN, json=RIGHT)).status_code == 200


async def test_the_delay_is_said_and_holds_for_the_right_password_too(workspace: Workspace) -> None:
    async with workspace.browser() as browser:
        for number in range(ACCOUNT_FREE):
            await browser.post(LOGIN, json={**RIGHT, "password": f"guess {number}"})

        refused = await browser.post(LOGIN, json=RIGHT)
        workspace.clock.move(seconds=1)
        admitted = await browser.post(LOGIN, json=RIGHT)

    detail = "Request was throttled. Expected available in 1 second."
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json() == error("throttled_error", "throttled", detail)
    assert admitted.status_code == 200


async def test_guesses_at_the_same_time_are_no_cheaper(workspace: Workspace) -> None:
    async with workspace.browser() as browser:
        answers = await asyncio.gather(
            *(browser.post(LOGIN, json={**RIGHT, "password": f"guess {n}"}) for n in range(50))
        )

    statuses = Counter(answer.status_code for answer in answers)
    assert statuses == {400: ACCOUNT_FREE, 429: 50 - ACCOUNT_FREE}


async def test_an_account_that_does_not_exist_is_delayed_as_one_that_does(
    workspace: Workspace,
) -> None:
    bodies = []
    for number, email in enumerate((OWNER_EMAIL, "nobody@example.com")):
        async with workspace.browser(f"203.0.113.{number}") as browser:
            answers = [
                await browser.post(LOGIN, json={"email": email, "password": "a wrong password"})
                for _ in range(ACCOUNT_FREE + 2)
            ]
        bodies.append([(answer.status_code, answer.content) for answer in answers])

    assert bodies[0] == bodies[1]


async def test_a_store_that_is_down_delays_no_user(workspace: Workspace) -> None:
    accounts = Down(workspace.records)
    sign_in = replace(workspace.sign_in, accounts=accounts)
    for _ in range(3 * ACCOUNT_FREE):
        with pytest.raises(RecordsUnavailable):
            await sign_in.check_password(OWNER_EMAIL, OWNER_PASSWORD, "203.0.113.9")

    async with workspace.browser("203.0.113.9") as browser:
        assert (await browser.post(LOGIN, json=RIGHT)).status_code == 200


async def test_a_refused_attempt_is_logged_without_what_was_typed(workspace: Workspace) -> None:
    typed = {"email": "my secret password", "password": "my secret password"}
    async with workspace.browser("203.0.113.9") as browser:
        with capture_logs() as lines:
            await browser.post(LOGIN, json=typed)
            await browser.post(LOGIN, json={**RIGHT, "password": "my secret password"})

    assert "secret" not in str(lines)
    assert [(line["event"], line["client"], line["user"]) for line in lines] == [
        ("sign_in_refused", "203.0.113.9", None),
        ("sign_in_refused", "203.0.113.9", workspace.made.user.id),
    ]


async def test_refused_attempts_are_counted(tenant: Tenant) -> None:
    labels = {"kind": "password", "reason": "unknown"}
    before = await tenant.server.metric("fanion_key_failures_total", **labels)

    await tenant.public.post(LOGIN, json={"email": f"{tenant.token}@x", "password": "a password"})

    assert await tenant.server.metric("fanion_key_failures_total", **labels) == before + 1
