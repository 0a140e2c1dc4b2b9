"""The management API of flags and roles in memory, with an organization of each test's own."""

import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import select

from fanion.accounts.sessions.service import SessionService
from fanion.accounts.sessions.store import SessionStore
from fanion.db.engine import Records, open_records
from fanion.db.schema.tables import users
from fanion.flags.automation.scheduled_api import ScheduledChangesApi
from fanion.flags.definitions.api import FlagsApi
from fanion.flags.definitions.role_access.api import RoleAccessApi
from fanion.flags.definitions.role_access.service import RoleAccessService
from fanion.flags.definitions.role_access.store import RoleAccessStore, revoke_flags_of_role
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import FlagStore
from fanion.flags.usage.api import FlagDashboardsApi
from fanion.projects.activity_api import ActivityApi
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.personal_keys_store import PersonalKeyStore
from fanion.projects.cache import Projects
from fanion.projects.invites.api import InvitesApi
from fanion.projects.invites.service import InviteService
from fanion.projects.invites.store import InviteStore
from fanion.projects.members.api import MembersApi
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore
from fanion.projects.model import Level
from fanion.projects.organizations.api import OrganizationsApi
from fanion.projects.organizations.service import OrganizationService
from fanion.projects.organizations.store import OrganizationStore
from fanion.projects.roles.api import RoleMembershipsApi, RolesApi
from fanion.projects.roles.service import RoleService
from fanion.projects.roles.store import RoleStore
from fanion.projects.store import ProjectStore
from fanion.runtime.change_bus import ChangeBus
from fanion.server.asgi_bridge import AsgiApp
from fanion.web.management import Management, management_app
from tests.support.awaited import SOON_S
from tests.support.exchange import management_transport
from tests.support.management import BASE_URL, MAIL_URL, NOW, Clock, add_member, insert_project
from tests.support.postgres import SQLITE, Postgres

ORGANIZATION = "/api/organizations/@current"
ROLES = f"{ORGANIZATION}/roles/"
ACCESS = f"{ORGANIZATION}/resource_access/"

Json = dict[str, Any]
_numbers = count(1)


@dataclass
class Mails:
    """The mails that were sent: recipient, subject and text.

    Attributes:
        works: Whether mails are accepted.
    """

    sent: list[tuple[str, str, str]] = field(default_factory=list)
    works: bool = True

    def send(self, kind: str, to: str, subject: str, text: str) -> bool:
        if self.works:
            self.sent.append((to, subject, text))
        return self.works


@dataclass(frozen=True)
class TeamServer:
    """The application that all tests of a session share; `open_team` adds a test's own objects."""

    records: Records
    clock: Clock
    app: AsgiApp
    mails: Mails

    def client(self, key: str | None) -> httpx.AsyncClient:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        transport = management_transport(self.app)
        return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)


@dataclass(frozen=True)
class Colleague:
    user_id: int
    uuid: str
    name: str
    client: httpx.AsyncClient

    async def get(self, path: str, **query: Any) -> Json:
        answer = await self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        result: Json = answer.json()
        return result

    async def post(self, path: str, **sent: Any) -> Json:
        """Create an object and return it."""
        answer = await self.client.post(path, json=sent)
        assert answer.status_code == 201, answer.text
        created: Json = answer.json()
        return created

    async def patch(self, path: str, **sent: Any) -> Json:
        answer = await self.client.patch(path, json=sent)
        assert answer.status_code == 200, answer.text
        changed: Json = answer.json()
        return changed


@dataclass(frozen=True)
class Team:
    """The organization of one test.

    Attributes:
        flags: The path of the project's flags.
    """

    server: TeamServer
    organization_id: UUID
    project_id: int
    flags: str
    _stack: AsyncExitStack
    _colleagues: dict[str, Colleague] = field(default_factory=dict)

    @property
    def owner(self) -> Colleague:
        return self._colleagues["olga"]

    async def add(
        self, name: str, level: Level = Level.MEMBER, scopes: Sequence[str] | None = None
    ) -> Colleague:
        records, unique = self.server.records, f"{name}-{next(_numbers)}"
        person = await add_member(records, unique, level, self.organization_id, scopes)
        client = await self._stack.enter_async_context(self.server.client(person.key))
        colleague = Colleague(
            person.user_id, await _user_uuid(records, person.user_id), unique, client
        )
        self._colleagues[name] = colleague
        return colleague

    async def role(self, name: str, level: int = 37, *members: Colleague) -> Json:
        """Return a role created by the owner, with these members."""
        role = await self.owner.post(ROLES, name=name, feature_flags_access_level=level)
        for member in members:
            await self.owner.post(f"{ROLES}{role['id']}/role_memberships/", user_uuid=member.uuid)
        return role

    async def allow_all_members(self, level: int) -> Json:
        return await self.owner.post(ACCESS, resource="feature flags", access_level=level)


@pytest.fixture(scope="session")
async def sqlite_team_server(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TeamServer]:
    path = tmp_path_factory.mktemp("team_server") / "records.db"
    shutil.copyfile(sqlite_template, path)
    async with open_team_server(f"sqlite:///{path}") as team_server:
        yield team_server


@pytest.fixture(scope="session")
async def postgres_team_server(
    postgres: Postgres, postgres_template: str
) -> AsyncIterator[TeamServer]:
    url = postgres.url(await postgres.create_database(postgres_template))
    async with open_team_server(url) as team_server:
        yield team_server


@pytest.fixture(scope="session")
def team_server(request: pytest.FixtureRequest, engine: str) -> TeamServer:
    """Return the server on the test's engine, which stays open until the end of the session."""
    name = "sqlite_team_server" if engine == SQLITE else "postgres_team_server"
    team_server: TeamServer = request.getfixturevalue(name)
    return team_server


@asynccontextmanager
async def open_team_server(records_url: str) -> AsyncGenerator[TeamServer]:
    records = await open_records(records_url)
    clock = Clock()
    mails = Mails()
    yield TeamServer(records, clock, _app(records, clock, mails), mails)
    await records.close()


@pytest.fixture
async def team(team_server: TeamServer) -> AsyncIterator[Team]:
    async with open_team(team_server) as team:
        yield team


@asynccontextmanager
async def open_team(team_server: TeamServer) -> AsyncGenerator[Team]:
    """Create an organization with an owner, Olga, and a project, at noon."""
    team_server.clock.time = NOW
    token = f"phc_team_{next(_numbers)}"
    async with team_server.records.write() as connection:
        organization_id, project_id = await insert_project(connection, "Team", "Project", token)
    async with AsyncExitStack() as stack:
        flags = f"/api/projects/{project_id}/feature_flags/"
        team = Team(team_server, organization_id, project_id, flags, stack)
        await team.add("olga", Level.OWNER)
        yield team


def _app(records: Records, clock: Clock, mails: Mails) -> AsgiApp:
    directory = Projects(ProjectStore(records), clock.seconds, store_wait_s=SOON_S)
    authentication = Authentication(PersonalKeyStore(records), clock.now, clock.seconds)
    sessions = SessionService(SessionStore(records), clock.now, clock.seconds)
    flags = FlagService(FlagStore(records), ChangeBus())

    def rights_changed(user_id: int) -> None:
        authentication.rights_changed(user_id)
        sessions.rights_changed(user_id)

    return management_app(
        Management(
            authentication=authentication,
            projects=directory,
            sessions=sessions,
            now=clock.now,
            controllers=(
                OrganizationsApi,
                MembersApi,
                InvitesApi,
                RolesApi,
                RoleMembershipsApi,
                FlagsApi,
                RoleAccessApi,
                FlagDashboardsApi,
                ScheduledChangesApi,
                ActivityApi,
            ),
            dependencies={
                "organizations": OrganizationService(
                    directory, OrganizationStore(records), rights_changed
                ),
                "organization_members": MemberService(MemberStore(records)),
                "roles": RoleService(RoleStore(records), revoke_flags_of_role),
                "invites": InviteService(InviteStore(records), mails.send, MAIL_URL),
                "flags": flags,
                "role_access": RoleAccessService(RoleAccessStore(records), flags),
                "records": records,
            },
        )
    )


async def _user_uuid(records: Records, user_id: int) -> str:
    async with records.read() as connection:
        return str(await connection.scalar(select(users.c.uuid).where(users.c.id == user_id)))
