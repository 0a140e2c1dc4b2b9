"""Security events of an account are in the activity log of every organization of its owner.

Strangers cannot fill the log.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest
from sqlalchemy import String, insert, select

from fanion.accounts.failed_logins_worker import (
    ADDRESSES_MAX,
    ENTRY_EVERY_S,
    WRITTEN_AT_ONCE_MAX,
    FailedLogins,
)
from fanion.accounts.security_events_store import (
    SECURITY_ACTIVITIES,
    SecurityEvent,
    by_owner,
    write_security_events,
)
from fanion.activity.store import StoredActivity, page
from fanion.db.engine import Records
from fanion.db.schema.activity import activity_log
from fanion.db.schema.tables import memberships, users
from fanion.projects.model import Level
from tests.support.management import NOW, Clock, add_member, insert_project

ADDRESS = "203.0.113.9"


class TwoOrganizations:
    """Two projects of one organization, and one project of another."""

    records: Records
    organization_id: UUID
    projects: Sequence[int]
    elsewhere_id: UUID
    elsewhere: int
    user_id: int


@pytest.fixture
async def tenants(records: Records) -> TwoOrganizations:
    tenants = TwoOrganizations()
    tenants.records = records
    async with records.write() as connection:
        tenants.organization_id, first = await insert_project(connection, "A", "P", "phc_1")
        tenants.elsewhere_id, tenants.elsewhere = await insert_project(
            connection, "B", "Q", "phc_2"
        )
    tenants.projects = (first,)
    ada = await add_member(records, "ada", Level.MEMBER, tenants.organization_id)
    tenants.user_id = ada.user_id
    return tenants


async def entries(tenants: TwoOrganizations, project_id: int | None = None) -> list[StoredActivity]:
    """Return the entries about accounts, newest first."""
    project_id = tenants.projects[0] if project_id is None else project_id
    page_entries, _ = await page(tenants.records, project_id, 1_000, 0, "User")
    return page_entries


def changes(entry: StoredActivity) -> dict[str, object]:
    assert entry.changes is not None
    assert {(change.type, change.action, change.before) for change in entry.changes} <= {
        ("User", "created", None)
    }
    return {change.field: change.after for change in entry.changes}


@pytest.mark.every_engine
async def test_an_event_names_the_account_who_did_it_and_the_circumstances(
    tenants: TwoOrganizations,
) -> None:
    mine = by_owner("logged_in", tenants.user_id, NOW, method="password", address=ADDRESS)
    operators = SecurityEvent(
        activity="password_reset_requested", user_id=tenants.user_id, by_user=None, now=NOW
    )

    await write_security_events(tenants.records, mine, operators)

    reset, login = await entries(tenants)
    assert (login.activity, login.name, login.email) == (
        "logged_in",
        "ada@example.com",
        "ada@example.com",
    )
    assert changes(login) == {"method": "password", "address": ADDRESS}
    assert (reset.activity, reset.name, reset.email) == (
        "password_reset_requested",
        "ada@example.com",
        None,
    )
    assert login.item_id == reset.item_id == await _uuid(tenants)
    assert await entries(tenants, tenants.elsewhere) == []


async def test_each_organization_of_the_owner_has_the_event(tenants: TwoOrganizations) -> None:
    async with tenants.records.write() as connection:
        await connection.execute(
            insert(memberships).values(
                organization_id=tenants.elsewhere_id,
                user_id=tenants.user_id,
                level=1,
                joined_at=NOW,
            )
        )

    await write_security_events(tenants.records, by_owner("logged_out", tenants.user_id, NOW))

    for project_id in (*tenants.projects, tenants.elsewhere):
        assert [entry.activity for entry in await entries(tenants, project_id)] == ["logged_out"]


async def test_an_account_that_is_gone_or_in_no_organization_has_no_event(
    tenants: TwoOrganizations,
) -> None:
    async with tenants.records.write() as connection:
        await connection.execute(memberships.delete())

    await write_security_events(
        tenants.records,
        by_owner("logged_in", tenants.user_id, NOW),
        by_owner("logged_in", 999_999, NOW),
    )

    assert await tenants.records.fetch(select(activity_log.c.id)) == []


def test_names_of_events_fit_their_column() -> None:
    column = activity_log.c.activity.type

    assert isinstance(column, String) and column.length is not None
    assert max(map(len, SECURITY_ACTIVITIES)) <= column.length


async def _uuid(tenants: TwoOrganizations) -> str:
    of_user = select(users.c.uuid).where(users.c.id == tenants.user_id)
    return str((await tenants.records.fetch(of_user))[0].uuid)


# ── Failed attempts ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failed(tenants: TwoOrganizations, clock: Clock) -> FailedLogins:
    return FailedLogins(tenants.records, clock.now, clock.seconds)


async def test_many_failures_are_one_entry_an_hour(
    tenants: TwoOrganizations, failed: FailedLogins, clock: Clock
) -> None:
    for _ in range(1_000):
        failed.count_failure(tenants.user_id, ADDRESS)
    await failed.write_due()
    for _ in range(59):
        clock.move(minutes=1)
        failed.count_failure(tenants.user_id, "")
        await failed.write_due()
    before = [changes(entry)["attempts"] for entry in await entries(tenants)]
    clock.move(minutes=1)
    await failed.write_due()

    assert before == [1_000]
    newest, oldest = await entries(tenants)
    assert (newest.activity, newest.email) == ("login_failed", None)
    assert changes(newest) == {"attempts": 59, "addresses": []}
    assert changes(oldest) == {"attempts": 1_000, "addresses": [ADDRESS]}


async def test_an_entry_names_a_few_addresses_each_once(
    tenants: TwoOrganizations, failed: FailedLogins
) -> None:
    for number in range(200):
        failed.count_failure(tenants.user_id, f"203.0.113.{number % 100}")

    await failed.write_due()

    [entry] = await entries(tenants)
    assert changes(entry)["addresses"] == [f"203.0.113.{n}" for n in range(ADDRESSES_MAX)]


async def test_failures_while_an_entry_is_written_are_in_the_next_one(
    tenants: TwoOrganizations, failed: FailedLogins, clock: Clock
) -> None:
    for number in range(ADDRESSES_MAX):
        failed.count_failure(tenants.user_id, f"203.0.113.{number}")
    writing = asyncio.create_task(failed.write_due())
    await asyncio.sleep(0)  # the entry is made, but not yet written
    failed.count_failure(tenants.user_id, "198.51.100.7")
    await writing
    clock.move(seconds=ENTRY_EVERY_S)
    await failed.write_due()

    newest, oldest = await entries(tenants)
    assert changes(newest) == {"attempts": 1, "addresses": ["198.51.100.7"]}
    assert changes(oldest)["attempts"] == ADDRESSES_MAX


async def test_failures_of_an_entry_that_was_not_written_are_in_the_next_one(
    tenants: TwoOrganizations, failed: FailedLogins
) -> None:
    failed.count_failure(tenants.user_id, ADDRESS)
    writing = asyncio.create_task(failed.write_due())
    await asyncio.sleep(0)
    failed.count_failure(tenants.user_id, "198.51.100.7")
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await failed.write_due()

    [entry] = await entries(tenants)
    assert changes(entry) == {"attempts": 2, "addresses": [ADDRESS, "198.51.100.7"]}


async def test_accounts_that_are_quiet_are_forgotten(
    tenants: TwoOrganizations, failed: FailedLogins, clock: Clock
) -> None:
    failed.count_failure(tenants.user_id, ADDRESS)
    await failed.write_due()
    kept = len(failed)
    clock.move(seconds=ENTRY_EVERY_S)
    await failed.write_due()

    assert (kept, len(failed)) == (1, 0)
    assert len(await entries(tenants)) == 1


async def test_the_memory_is_bounded_and_entries_are_written_in_parts(
    tenants: TwoOrganizations, clock: Clock
) -> None:
    accounts_max = 3 * WRITTEN_AT_ONCE_MAX
    failed = FailedLogins(tenants.records, clock.now, clock.seconds, accounts_max)
    failed.count_failure(tenants.user_id, ADDRESS)
    for number in range(accounts_max):
        failed.count_failure(10**6 + number, ADDRESS)

    has_more = await failed.write_due()

    assert len(failed) == accounts_max
    assert has_more
    rounds = 1
    while await failed.write_due():
        rounds += 1
    assert rounds == 2
    assert await entries(tenants) == []  # the account that failed first was forgotten
