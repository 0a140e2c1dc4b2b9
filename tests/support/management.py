"""The management API in memory, set up with one organization, for tests to call."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import httpx
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from litestar import Controller
from sqlalchemy import insert, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.accounts.attempts_store import AttemptStore
from fanion.accounts.failed_logins_worker import FailedLogins
from fanion.accounts.links_store import LinkStore
from fanion.accounts.model import DEFAULT_OPTIONS, SignInOptions
from fanion.accounts.own_account.api import UsersApi
from fanion.accounts.own_account.service import OwnAccounts, PutMail, no_mail
from fanion.accounts.password_links.reset_worker import PasswordResets
from fanion.accounts.password_links.service import PasswordLinks
from fanion.accounts.passwords.hashing_service import PasswordHashing
from fanion.accounts.sessions.service import SessionService
from fanion.accounts.sessions.store import SessionStore
from fanion.accounts.sign_in.service import SignIn
from fanion.accounts.signup_service import Signup
from fanion.accounts.users_store import AccountStore
from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, organizations, personal_api_keys, projects, users
from fanion.flags.definitions.role_access.store import revoke_flags_of_role
from fanion.projects.admin_store import FIRST_ORGANIZATION, Installation, SetUp, set_up
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.keys import hash_key, mask
from fanion.projects.auth.personal_keys_store import PersonalKeyStore
from fanion.projects.cache import Projects
from fanion.projects.invites.service import InviteService
from fanion.projects.invites.store import InviteStore
from fanion.projects.members.invite_acceptance_service import InviteAcceptance
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore
from fanion.projects.model import Level
from fanion.projects.organizations.service import OrganizationService
from fanion.projects.organizations.store import OrganizationStore
from fanion.projects.roles.service import RoleService
from fanion.projects.roles.store import RoleStore
from fanion.projects.store import ProjectStore
from fanion.server.asgi_bridge import AsgiApp
from fanion.web.link_pages import InvitePage, LinkPage
from fanion.web.management import Management, management_app
from tests.support.awaited import SOON_S
from tests.support.exchange import management_transport
from tests.support.reused_routes import with_reused_routes

NOW = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)
BASE_URL = "http://fanion.test"
# The start of links in mails, whatever a request says.
MAIL_URL = "https://fanion.example.com"
OWNER_KEY = "phx_owner-of-the-first-organization"
PROJECT_TOKEN = "phc_first-project"
OWNER_EMAIL, OWNER_PASSWORD = "owner@example.com", "a long password"
QUICK_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
# The headers that our own pages send.
CONSOLE = {"sec-fetch-site": "same-origin", "x-fanion-console": "1"}
# The `ingestion` of a project by default.
NO_WISHES: dict[str, Any] = {
    "anonymize_ips": False,
    "dropped_user_agents": [],
    "removed_properties": [],
    "items_per_second": None,
    "bytes_per_second": None,
    "burst_seconds": 10.0,
}


def password_matches(password_hash: str, password: str) -> bool:
    try:
        return PasswordHasher().verify(password_hash, password)
    except (InvalidHashError, VerificationError):
        return False


async def quick_hash(password: str) -> str:
    """Hash a password without the third of a second that guessing has to cost."""
    return QUICK_HASHER.hash(password)


class Clock:
    """The time of day and the seconds of a stopwatch, moved by hand."""

    def __init__(self, start: datetime = NOW) -> None:
        self.time = start

    def now(self) -> datetime:
        return self.time

    def seconds(self) -> float:
        return self.time.timestamp()

    def move(self, **duration: float) -> None:
        self.time += timedelta(**duration)


@dataclass(frozen=True)
class Workspace:
    """The management API with the first organization.

    Attributes:
        client: Calls with OWNER_KEY; `client_with` calls with another key, or none.
    """

    records: Records
    clock: Clock
    projects: Projects
    authentication: Authentication
    sign_in: SignIn
    made: SetUp
    app: AsgiApp
    client: httpx.AsyncClient
    resets: PasswordResets
    own_accounts: OwnAccounts

    def client_with(self, key: str | None) -> httpx.AsyncClient:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        transport = management_transport(self.app)
        return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)

    def browser(self, address: str = "192.0.2.1") -> httpx.AsyncClient:
        """Return a client that acts as one of our own pages and keeps cookies."""
        transport = management_transport(self.app, address)
        return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=CONSOLE)


@asynccontextmanager
async def open_workspace(
    records: Records,
    controllers: Sequence[type[Controller]] = (),
    dependencies: Mapping[str, object] | None = None,
    first: Workspace | None = None,
    put_mail: PutMail | None = None,
    options: SignInOptions = DEFAULT_OPTIONS,
    **settings: Any,
) -> AsyncGenerator[Workspace]:
    """Open the management API.

    Args:
        first: Another server on the same store, with the same clock.
        settings: Further fields of `Management`.
    """
    clock = Clock() if first is None else first.clock
    projects = Projects(ProjectStore(records), clock.seconds, store_wait_s=SOON_S)
    authentication = Authentication(PersonalKeyStore(records), clock.now, clock.seconds)
    sign_in = SignIn(
        AccountStore(records),
        LinkStore(records),
        SessionService(SessionStore(records), clock.now, clock.seconds),
        PasswordHashing(QUICK_HASHER),
        AttemptStore(records, clock.now, clock.seconds),
        FailedLogins(records, clock.now, clock.seconds),
        options,
    )
    own_accounts = OwnAccounts(
        records, sign_in, authentication, clock.now, MAIL_URL, put_mail or no_mail
    )
    resets = PasswordResets(records, put_mail, MAIL_URL, clock.now, clock.seconds)
    installation = await _set_up(records) if first is None else first.made
    projects.remember(installation.project)
    config = Management(
        authentication=authentication,
        projects=projects,
        sessions=sign_in.sessions,
        now=clock.now,
        controllers=(UsersApi, *controllers),
        dependencies={
            "sign_in": sign_in,
            "own_accounts": own_accounts,
            "password_links": PasswordLinks(own_accounts),
            "password_resets": resets,
            "link_pages": LinkPage(),
            "records": records,
            **_of_members(records, clock, projects, authentication, sign_in),
            **(dependencies or {}),
        },
        **settings,
    )
    headers = {"authorization": f"Bearer {OWNER_KEY}"}
    async with AsyncExitStack() as closing:
        app = with_reused_routes(partial(management_app, config), closing)
        client = httpx.AsyncClient(
            transport=management_transport(app), base_url=BASE_URL, headers=headers
        )
        await closing.enter_async_context(client)
        yield Workspace(
            records,
            clock,
            projects,
            authentication,
            sign_in,
            installation,
            app,
            client,
            resets,
            own_accounts,
        )


def _of_members(
    records: Records,
    clock: Clock,
    projects: Projects,
    authentication: Authentication,
    sign_in: SignIn,
) -> dict[str, object]:
    def rights_changed(user_id: int) -> None:
        authentication.rights_changed(user_id)
        sign_in.sessions.rights_changed(user_id)

    return {
        "organizations": OrganizationService(projects, OrganizationStore(records), rights_changed),
        "organization_members": MemberService(MemberStore(records)),
        "roles": RoleService(RoleStore(records), revoke_flags_of_role),
        "invites": InviteService(InviteStore(records)),
        "signup": Signup(
            InviteAcceptance(records),
            sign_in,
            authentication.failures,
            clock.now,
            rights_changed,
        ),
        "invite_pages": InvitePage(),
    }


async def _set_up(records: Records) -> SetUp:
    installation = Installation(
        email=OWNER_EMAIL,
        first_name="Olga",
        password=OWNER_PASSWORD,
        project_token=PROJECT_TOKEN,
        personal_key=OWNER_KEY,
    )
    return await set_up(records, installation, NOW, quick_hash)


@dataclass(frozen=True)
class Person:
    user_id: int
    key: str


async def add_member(
    records: Records,
    name: str,
    level: Level = Level.MEMBER,
    organization_id: UUID = FIRST_ORGANIZATION,
    scopes: Sequence[str] | None = None,
) -> Person:
    """Add a user with a personal key to an organization."""
    async with records.write() as connection:
        added = await connection.execute(
            insert(users)
            .values(
                uuid=uuid4(),
                distinct_id=f"distinct-{name}",
                email=f"{name}@example.com",
                first_name=name,
                password_hash="",
                is_active=True,
                is_email_verified=True,
                current_project_id=None,
                created_at=NOW,
            )
            .returning(users.c.id)
        )
        user_id = added.scalar_one()
        await connection.execute(
            insert(memberships).values(
                organization_id=organization_id, user_id=user_id, level=level, joined_at=NOW
            )
        )
    return Person(user_id, await add_key(records, user_id, f"phx_{name}", scopes))


async def add_key(
    records: Records,
    user_id: int,
    key: str,
    scopes: Sequence[str] | None = None,
    expires_at: datetime | None = None,
) -> str:
    async with records.write() as connection:
        await insert_key(connection, user_id, key, scopes, expires_at)
    return key


async def insert_key(
    connection: AsyncConnection,
    user_id: int,
    key: str,
    scopes: Sequence[str] | None = None,
    expires_at: datetime | None = None,
) -> None:
    await connection.execute(
        insert(personal_api_keys).values(
            id=uuid4(),
            user_id=user_id,
            label=key[:40],
            hash=hash_key(key),
            mask_value=mask(key),
            scopes=scopes,
            created_at=NOW,
            last_used_at=None,
            expires_at=expires_at,
        )
    )


async def insert_project(
    connection: AsyncConnection, organization: str, name: str, token: str, **columns: Any
) -> tuple[UUID, int]:
    """Insert a project in a new organization.

    Args:
        columns: Further columns, such as the id.

    Returns:
        The ids of the organization and of the project.
    """
    organization_id = uuid4()
    await connection.execute(
        insert(organizations).values(id=organization_id, name=organization, created_at=NOW)
    )
    added = await connection.execute(
        insert(projects)
        .values(
            uuid=uuid4(),
            organization_id=organization_id,
            name=name,
            api_token=token,
            timezone="UTC",
            created_at=NOW,
            **columns,
        )
        .returning(projects.c.id)
    )
    return organization_id, added.scalar_one()


@dataclass(frozen=True)
class Neighbour:
    """Another organization, with an owner and a project."""

    organization_id: UUID
    owner: Person
    project_id: int
    project_token: str


async def add_neighbour(records: Records) -> Neighbour:
    token = "phc_neighbour"
    async with records.write() as connection:
        project = await insert_project(connection, "Neighbour", "Next door", token)
    organization_id, project_id = project
    owner = await add_member(records, "neighbour", Level.OWNER, organization_id)
    async with records.write() as connection:
        await connection.execute(
            update(users).where(users.c.id == owner.user_id).values(current_project_id=project_id)
        )
    return Neighbour(organization_id, owner, project_id, token)


def error(status_type: str, code: str, detail: str, attr: str | None = None) -> dict[str, Any]:
    """Return the whole body of a failure."""
    return {"type": status_type, "code": code, "detail": detail, "attr": attr}


def invalid(code: str, detail: str, attr: str | None = None) -> dict[str, Any]:
    return error("validation_error", code, detail, attr)
