"""Second factors in the records store: a code is used once, even by concurrent requests."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from pyotp import TOTP
from sqlalchemy import func, select, update

from fanion.accounts.second_factor.codes import (
    DELAY_MAX_S,
    FREE_FAILURES,
    RECOVERY_BYTES,
    RECOVERY_CODES,
    recovery_codes,
    totp_secret,
)
from fanion.accounts.second_factor.store import (
    ATTEMPTS_MAX,
    PENDING_LASTS,
    PENDING_PER_USER_MAX,
    SETUP_LASTS,
    CheckedCode,
    CheckedSignIn,
    SecondFactorStatus,
    SecondFactorStore,
)
from fanion.db.engine import Records
from fanion.db.schema.accounts import pending_sign_ins, second_factors
from fanion.db.schema.tables import users
from tests.support.management import NOW, add_member, insert_project

pytestmark = pytest.mark.every_engine

SECRET = totp_secret(b"a secret of the test")
OTHER_SECRET = totp_secret(b"another one, not his")
CODES = recovery_codes(bytes(range(RECOVERY_CODES * RECOVERY_BYTES)))
VALID, WRONG = CheckedCode(True), CheckedCode(False)
LATER = NOW + timedelta(minutes=5)  # the code of the setup has long expired


def code_at(now: datetime, secret: str = SECRET) -> str:
    return TOTP(secret).at(now)


@dataclass(frozen=True)
class Owner:
    """A user whose second factor was set up at noon."""

    store: SecondFactorStore
    user_id: int

    async def check(self, code: str, now: datetime = LATER) -> CheckedCode:
        return await self.store.check(self.user_id, code, now)

    async def wait(self, token: str, now: datetime = LATER) -> None:
        await self.store.wait_for_code(self.user_id, token, "password", now)


@pytest.fixture
async def user_id(records: Records) -> int:
    async with records.write() as connection:
        organization_id, _ = await insert_project(connection, "Team", "Project", "phc_team")
    return (await add_member(records, "ada", organization_id=organization_id)).user_id


@pytest.fixture
async def owner(records: Records, user_id: int) -> Owner:
    store = SecondFactorStore(records)
    await store.begin_setup(user_id, SECRET, NOW)
    assert await store.confirm(user_id, code_at(NOW), CODES, NOW)
    return Owner(store, user_id)


async def test_a_second_factor_is_confirmed_by_a_code(records: Records, user_id: int) -> None:
    store = SecondFactorStore(records)
    nothing = await store.status(user_id)

    until = await store.begin_setup(user_id, SECRET, NOW)
    before = await store.status(user_id)
    unconfirmed = await store.check(user_id, code_at(NOW), NOW)
    wrong = await store.confirm(user_id, code_at(NOW, OTHER_SECRET), CODES, NOW)
    right = await store.confirm(user_id, code_at(NOW), CODES, NOW)

    assert nothing == before == SecondFactorStatus(None, 0)
    assert (until, unconfirmed, wrong, right) == (NOW + SETUP_LASTS, WRONG, False, True)
    assert await store.status(user_id) == SecondFactorStatus(NOW, 10)


async def test_a_set_up_expires(records: Records, user_id: int) -> None:
    store, late = SecondFactorStore(records), NOW + SETUP_LASTS
    await store.begin_setup(user_id, SECRET, NOW)

    assert not await store.confirm(user_id, code_at(late), CODES, late)


async def test_the_former_secret_is_valid_until_the_new_one_is_confirmed(owner: Owner) -> None:
    await owner.store.begin_setup(owner.user_id, OTHER_SECRET, LATER)
    by_former = await owner.check(code_at(LATER))
    unconfirmed = await owner.check(code_at(LATER, OTHER_SECRET))
    new = recovery_codes(bytes(range(100, 100 + RECOVERY_CODES * RECOVERY_BYTES)))
    at = LATER + timedelta(minutes=5)

    confirmed = await owner.store.confirm(owner.user_id, code_at(at, OTHER_SECRET), new, at)

    assert (by_former, unconfirmed, confirmed) == (VALID, WRONG, True)
    after = at + timedelta(minutes=5)
    assert await owner.check(code_at(after), after) == WRONG
    assert await owner.check(CODES[0], after) == WRONG
    assert await owner.check(code_at(after, OTHER_SECRET), after) == VALID
    assert (await owner.check(new[0], after)).is_valid


async def test_the_code_of_the_set_up_is_used_up(owner: Owner) -> None:
    assert await owner.check(code_at(NOW), NOW) == WRONG


async def test_a_code_is_used_once(owner: Owner) -> None:
    results = [await owner.check(code_at(LATER)) for _ in range(2)]

    assert results == [VALID, WRONG]


async def test_of_requests_at_the_same_time_one_uses_a_code(owner: Owner) -> None:
    for code in (code_at(LATER), CODES[3]):
        results = await asyncio.gather(*(owner.check(code) for _ in range(4)))

        assert sorted(result.is_valid for result in results) == [False, False, False, True]


async def test_each_recovery_code_is_used_once(owner: Owner) -> None:
    first = [await owner.check(code.upper().replace("-", " ")) for code in CODES]
    again = [await owner.check(code) for code in CODES]

    assert first == [CheckedCode(True, by_recovery_code=True)] * 10
    assert again == [WRONG] * 10
    assert await owner.store.status(owner.user_id) == SecondFactorStatus(NOW, 0)


async def test_new_recovery_codes_replace_the_former(owner: Owner) -> None:
    new = recovery_codes(bytes(range(100, 100 + RECOVERY_CODES * RECOVERY_BYTES)))

    assert await owner.store.replace_recovery_codes(owner.user_id, new, LATER)

    assert await owner.check(CODES[0]) == WRONG
    assert (await owner.check(new[0])).is_valid
    assert not await owner.store.replace_recovery_codes(owner.user_id + 1, new, LATER)


async def test_wrong_codes_delay_further_ones_but_no_recovery_code(owner: Owner) -> None:
    wrong = [await owner.check(code_at(LATER, OTHER_SECRET)) for _ in range(FREE_FAILURES)]

    kept_waiting = await owner.check(code_at(LATER))
    by_recovery_code = await owner.check(CODES[0])
    soon = LATER + timedelta(seconds=2)

    assert wrong == [WRONG] * FREE_FAILURES
    assert kept_waiting == CheckedCode(False, 2)
    assert by_recovery_code == CheckedCode(True, by_recovery_code=True)
    assert await owner.check(code_at(soon), soon) == VALID
    assert await owner.check("000000", soon) == WRONG  # no delay: failures were reset


async def test_of_guesses_every_five_seconds_hardly_one_is_looked_at(owner: Owner) -> None:
    now, looked_at = LATER, 0
    for guess in range(200):
        now += timedelta(seconds=5)
        taken = {code_at(now + timedelta(seconds=30 * n)) for n in (-1, 0, 1)}
        code = next(
            f"{n:06}" for n in (guess, guess + 1000, guess + 2000) if f"{n:06}" not in taken
        )
        looked_at += not (await owner.check(code, now)).wait_s

    assert looked_at < 20
    later = now + timedelta(seconds=DELAY_MAX_S)
    assert await owner.check(code_at(later), later) == VALID


@pytest.mark.parametrize("text", ["", "1", "12345678", "aaaa-bbbb", "☃" * 6, "x" * 10_000, "\0"])
async def test_what_is_no_code_is_wrong_and_delays_no_user(owner: Owner, text: str) -> None:
    results = [await owner.check(text) for _ in range(FREE_FAILURES + 1)]

    assert results == [WRONG] * (FREE_FAILURES + 1)
    assert await owner.check(code_at(LATER)) == VALID


async def test_a_second_factor_is_removed_with_its_codes(owner: Owner, records: Records) -> None:
    await owner.wait("token")

    removed = [await owner.store.remove(owner.user_id, None, LATER) for _ in range(2)]

    assert removed == [True, False]
    assert await owner.store.status(owner.user_id) == SecondFactorStatus(None, 0)
    assert await owner.check(CODES[0]) == WRONG
    assert await owner.store.complete("token", CODES[1], LATER) == CheckedSignIn(None)
    assert await rows(records, "second_factors") == 0


async def test_a_sign_in_is_completed_once_by_its_token_and_a_code(owner: Owner) -> None:
    await owner.wait("token")

    unknown = await owner.store.complete("another", code_at(LATER), LATER)
    wrong = await owner.store.complete("token", "000000", LATER)
    right = await owner.store.complete("token", code_at(LATER), LATER)
    again = await owner.store.complete("token", CODES[0], LATER)

    assert unknown == again == CheckedSignIn(None)
    assert wrong == CheckedSignIn(owner.user_id, "password", WRONG, "")
    assert right == CheckedSignIn(owner.user_id, "password", VALID, "")
    assert (await owner.check(CODES[0])).is_valid  # the code was not used up


async def test_of_requests_at_the_same_time_one_completes_a_sign_in(owner: Owner) -> None:
    await owner.wait("token")

    results = await asyncio.gather(
        *(owner.store.complete("token", code, LATER) for code in (code_at(LATER), *CODES[:3]))
    )

    assert sorted(result.code.is_valid for result in results) == [False, False, False, True]


async def test_a_sign_in_waits_ten_minutes(owner: Owner) -> None:
    for token, after, is_known in (
        ("in time", PENDING_LASTS - timedelta(seconds=1), True),
        ("late", PENDING_LASTS, False),
    ):
        await owner.wait(token)
        now = LATER + after
        result = await owner.store.complete(token, "000000", now)
        assert (result.user_id is not None) == is_known


async def test_a_sign_in_ends_after_too_many_wrong_codes(owner: Owner) -> None:
    await owner.wait("token")
    now = LATER
    for _ in range(ATTEMPTS_MAX):
        result = await owner.store.complete("token", "aaaa-aaaa-aaaa-aaaa", now)
        assert result == CheckedSignIn(owner.user_id, "password", WRONG, "")

    assert await owner.store.complete("token", CODES[0], now) == CheckedSignIn(None)


async def test_of_an_inactive_user_no_sign_in_is_completed(owner: Owner, records: Records) -> None:
    await owner.wait("token")
    async with records.write() as connection:
        await connection.execute(update(users).values(is_active=False))

    assert await owner.store.complete("token", CODES[0], LATER) == CheckedSignIn(None)


async def test_sign_ins_that_wait_are_bounded(owner: Owner, records: Records) -> None:
    tokens = [f"token {n}" for n in range(PENDING_PER_USER_MAX + 3)]
    for n, token in enumerate(tokens):
        await owner.wait(token, LATER + timedelta(seconds=n))

    now = LATER + timedelta(seconds=len(tokens))
    known = [(await owner.store.complete(token, "x", now)).user_id for token in tokens]

    assert [user_id is not None for user_id in known] == [False] * 3 + [True] * PENDING_PER_USER_MAX
    await owner.wait("much later", now + PENDING_LASTS)
    assert await rows(records, "pending_sign_ins") == 1


async def rows(records: Records, table: str) -> int:
    tables = {"pending_sign_ins": pending_sign_ins, "second_factors": second_factors}
    counted: Sequence[tuple[int]] = [
        (row[0],) for row in await records.fetch(select(func.count()).select_from(tables[table]))
    ]
    return counted[0][0]
