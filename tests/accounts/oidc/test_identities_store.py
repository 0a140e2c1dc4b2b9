"""The users of identities, the accounts that are created, and the access that groups give."""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import delete, select, update

from fanion.accounts.oidc.identities_store import IdentityStore
from fanion.accounts.oidc.model import OidcIdentity, OidcSettings
from fanion.activity.model import OrganizationAuthor
from fanion.activity.store import page
from fanion.config import GroupAccess
from fanion.db.engine import Records
from fanion.db.schema.accounts import oidc_identities
from fanion.db.schema.tables import memberships, users
from fanion.projects.model import Level
from fanion.projects.organizations.model import AccessLevel
from fanion.projects.roles.service import RoleService
from fanion.projects.roles.store import RoleStore
from tests.support.management import NOW, Person, add_member, insert_project

pytestmark = pytest.mark.every_engine

ISSUER = "https://id.example.com"
SETTINGS = OidcSettings(ISSUER, "fanion", domains=frozenset({"example.com"}))
CREATING = replace(SETTINGS, creates_accounts=True)
ADA = OidcIdentity(ISSUER, "ada-1", "ada@example.com", "Ada", frozenset())
LATER = NOW + timedelta(hours=1)


@dataclass(frozen=True)
class Team:
    records: Records
    organization_id: UUID
    project_id: int

    async def sign_in(
        self, identity: OidcIdentity = ADA, settings: OidcSettings = SETTINGS
    ) -> int | None:
        return await IdentityStore(self.records, settings).user_of(identity, LATER)

    async def add(self, name: str, level: Level = Level.MEMBER) -> Person:
        return await add_member(self.records, name, level, self.organization_id)

    async def level(self, user_id: int | None) -> int | None:
        rows = await self.records.fetch(
            select(memberships.c.level).where(memberships.c.user_id == user_id)
        )
        return rows[0].level if rows else None

    async def identities(self) -> list[tuple[str, int]]:
        of = oidc_identities.c
        rows = await self.records.fetch(select(of.subject, of.user_id).order_by(of.subject))
        return [(row.subject, row.user_id) for row in rows]

    async def activity(self) -> list[tuple[str, str, str]]:
        """Return scope, activity and name of the entries, oldest first."""
        entries, _ = await page(self.records, self.project_id, 100, 0)
        return [(entry.scope, entry.activity, entry.name) for entry in reversed(entries)]


@pytest.fixture
async def team(records: Records) -> Team:
    async with records.write() as connection:
        made = await insert_project(connection, "Team", "Project", "phc_team")
    return Team(records, *made)


async def test_a_user_is_found_by_a_verified_address_and_then_by_the_subject(team: Team) -> None:
    ada = await team.add("ada")

    first = await team.sign_in()
    moved = await team.sign_in(replace(ADA, verified_email="ada@elsewhere.example"))
    without = await team.sign_in(replace(ADA, verified_email=None))

    assert first == moved == without == ada.user_id
    assert await team.identities() == [("ada-1", ada.user_id)]


@pytest.mark.parametrize(
    ("identity", "settings"),
    [
        (replace(ADA, verified_email=None), CREATING),
        (ADA, replace(SETTINGS, domains=frozenset())),
        (ADA, replace(SETTINGS, domains=frozenset({"other.example"}))),
        (replace(ADA, verified_email="bob@example.com"), SETTINGS),
    ],
)
async def test_no_user_is_found_otherwise(
    team: Team, identity: OidcIdentity, settings: OidcSettings
) -> None:
    await team.add("ada")

    assert await team.sign_in(identity, settings) is None
    assert await team.identities() == []


@pytest.mark.parametrize(("is_verified", "is_found"), [(False, False), (True, True)])
async def test_an_address_that_a_user_has_chosen_proves_nothing_until_it_is_verified(
    team: Team, is_verified: bool, is_found: bool
) -> None:
    """A user could otherwise wait under a colleague's address for the colleague's rights."""
    mallory = await team.add("mallory")
    chosen = {"email": "ada@example.com", "email_chosen_by_owner": True}
    async with team.records.write() as connection:
        await connection.execute(
            update(users)
            .where(users.c.id == mallory.user_id)
            .values(is_email_verified=is_verified, **chosen)
        )

    user_ids = [await team.sign_in(ADA, settings) for settings in (SETTINGS, CREATING)]

    assert user_ids == [mallory.user_id if is_found else None] * 2


async def test_an_address_that_passed_to_another_user_opens_no_account(team: Team) -> None:
    await team.add("ada")
    await team.sign_in()

    for settings in (SETTINGS, CREATING):
        assert await team.sign_in(replace(ADA, subject="somebody-else"), settings) is None


async def test_the_subject_of_another_provider_is_another_user(team: Team) -> None:
    ada = await team.add("ada")
    await team.sign_in()
    other = "https://other.example"

    by_subject = await team.sign_in(
        replace(ADA, issuer=other, verified_email=None), replace(SETTINGS, issuer=other)
    )
    by_address = await team.sign_in(replace(ADA, issuer=other), replace(SETTINGS, issuer=other))

    assert (by_subject, by_address) == (None, ada.user_id)


@pytest.mark.parametrize("creates", [False, True])
async def test_removed_and_inactive_users_stay_out(team: Team, creates: bool) -> None:
    settings = CREATING if creates else SETTINGS
    ada, bob = await team.add("ada"), await team.add("bob")
    bob_identity = OidcIdentity(ISSUER, "bob-1", "bob@example.com", "Bob", frozenset())
    await team.sign_in()
    async with team.records.write() as connection:
        await connection.execute(
            update(users).where(users.c.id == ada.user_id).values(is_active=False)
        )
        await connection.execute(delete(memberships).where(memberships.c.user_id == bob.user_id))

    assert await team.sign_in(ADA, settings) is None
    assert await team.sign_in(bob_identity, settings) is None


async def test_accounts_are_made_where_that_is_switched_on(team: Team) -> None:
    refused = await team.sign_in()

    user_id = await team.sign_in(ADA, CREATING)
    again = await team.sign_in(ADA, SETTINGS)

    rows = await team.records.fetch(select(users).where(users.c.id == user_id))
    assert refused is None
    assert user_id == again is not None
    shown = {name: rows[0]._mapping[name] for name in ("email", "first_name", "password_hash")}
    assert shown == {"email": "ada@example.com", "first_name": "Ada", "password_hash": ""}
    assert rows[0].is_email_verified and rows[0].is_active
    assert await team.level(user_id) == Level.MEMBER
    assert await team.activity() == [("OrganizationMembership", "created", "ada@example.com")]


async def test_of_first_sign_ins_at_the_same_time_one_makes_the_account(team: Team) -> None:
    user_ids = await asyncio.gather(*(team.sign_in(ADA, CREATING) for _ in range(4)))

    assert len(set(user_ids)) == 1 and user_ids[0] is not None
    assert len(await team.activity()) == 1


def with_groups(**mapping: GroupAccess) -> OidcSettings:
    return replace(SETTINGS, groups=mapping)


async def test_groups_give_and_take_a_level_at_each_sign_in(team: Team) -> None:
    settings = with_groups(leads=GroupAccess("admin"), guests=GroupAccess("viewer"))
    ada = await team.add("ada")
    levels = []

    for groups in (set(), {"leads", "guests"}, {"leads"}, {"guests"}, {"others"}):
        await team.sign_in(replace(ADA, groups=frozenset(groups)), settings)
        levels.append(await team.level(ada.user_id))

    assert levels == [Level.MEMBER, Level.ADMIN, Level.ADMIN, Level.VIEWER, Level.MEMBER]
    assert [kind for _, kind, _ in await team.activity()] == ["updated"] * 3


async def test_groups_change_no_owner_and_no_level_that_they_do_not_decide(team: Team) -> None:
    owner, admin = await team.add("ada", Level.OWNER), await team.add("bob", Level.ADMIN)
    bob = OidcIdentity(ISSUER, "bob-1", "bob@example.com", "Bob", frozenset())

    await team.sign_in(ADA, with_groups(staff=GroupAccess("member")))
    await team.sign_in(bob, with_groups(staff=GroupAccess(roles=("Web",))))

    assert await team.level(owner.user_id) == Level.OWNER
    assert await team.level(admin.user_id) == Level.ADMIN
    assert await team.activity() == []


async def test_groups_decide_about_the_roles_that_they_name(team: Team) -> None:
    ada = await team.add("ada")
    roles = RoleService(RoleStore(team.records), lambda *_: None)
    operator = OrganizationAuthor(team.organization_id, None, NOW)
    for name in ("Web", "Releases", "By hand"):
        await roles.create_role(operator, name, AccessLevel.EDIT)
    by_hand = await roles.store.find_by_name(team.organization_id, "By hand")
    rows = await team.records.fetch(select(users.c.uuid).where(users.c.id == ada.user_id))
    await roles.add_member(operator, by_hand.id, rows[0].uuid)
    settings = with_groups(
        staff=GroupAccess(roles=("web", "Unknown")), leads=GroupAccess(roles=("Releases",))
    )
    found = []

    for groups in ({"staff"}, {"staff", "leads"}, {"leads"}, set()):
        await team.sign_in(replace(ADA, groups=frozenset(groups)), settings)
        found.append(await roles_of(roles.store, team, "ada@example.com"))

    assert found == [
        {"By hand", "Web"},
        {"By hand", "Web", "Releases"},
        {"By hand", "Releases"},
        {"By hand"},
    ]
    changed = [name for scope, kind, name in await team.activity() if kind == "updated"]
    assert changed == ["By hand", "Web", "Releases", "Web", "Releases"]


async def roles_of(roles: RoleStore, team: Team, email: str) -> set[str]:
    known, _ = await roles.list_roles(team.organization_id, 100, 0)
    return {role.name for role in known if email in {member.user.email for member in role.members}}


async def test_without_an_organization_no_user_signs_in(records: Records) -> None:
    assert await IdentityStore(records, CREATING).user_of(ADA, NOW) is None
