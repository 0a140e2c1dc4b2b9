"""Cached projects and keys of one process, when another process has changed them."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest
from sqlalchemy import update

from fanion.db.engine import Records
from fanion.db.schema.tables import projects
from fanion.errors import InvalidApiKey, InvalidPersonalApiKey
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.personal_keys_store import PersonalKeyStore
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.projects.store import ProjectStore
from fanion.runtime.change_bus import ChangeBus, Topic
from tests.projects.auth.test_authentication import SlowKeys
from tests.support.awaited import SOON_S
from tests.support.management import OWNER_KEY, PROJECT_TOKEN, Workspace, open_workspace

NEW_TOKEN = "phc_rotated"


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records) as opened:
        yield opened


class SlowProjects(ProjectStore):
    """A store that returns its first read only when it is released."""

    def __init__(self, records: Records) -> None:
        super().__init__(records)
        self.has_read, self.may_answer = asyncio.Event(), asyncio.Event()

    async def by_tokens(self, tokens: Sequence[str]) -> Mapping[str, Project]:
        projects = await super().by_tokens(tokens)
        if not self.has_read.is_set():
            self.has_read.set()
            await self.may_answer.wait()
        return projects


def projects_of(
    workspace: Workspace, store: ProjectStore | None = None, bus: ChangeBus | None = None
) -> Projects:
    """Return a cache whose timeouts suit a busy machine."""
    store = store or ProjectStore(workspace.records)
    return Projects(store, workspace.clock.seconds, bus=bus, store_wait_s=SOON_S)


async def rotate(workspace: Workspace) -> None:
    async with workspace.records.write() as connection:
        await connection.execute(update(projects).values(api_token=NEW_TOKEN, name="New"))


async def test_a_changed_project_is_read_again(workspace: Workspace) -> None:
    directory = projects_of(workspace)
    project = await directory.by_token(PROJECT_TOKEN)
    with pytest.raises(InvalidApiKey):
        await directory.by_token(NEW_TOKEN)
    await rotate(workspace)

    directory.forget(project.id)

    assert (await directory.by_token(NEW_TOKEN)).name == "New"
    assert directory.known.get(PROJECT_TOKEN) is None


async def test_a_read_under_way_brings_nothing_older_back(workspace: Workspace) -> None:
    store = SlowProjects(workspace.records)
    directory = projects_of(workspace, store)

    reading = asyncio.create_task(directory.by_token(PROJECT_TOKEN))
    await store.has_read.wait()
    await rotate(workspace)
    directory.forget(workspace.made.project.id)
    store.may_answer.set()

    with pytest.raises(InvalidApiKey):
        await reading
    assert directory.known.get(PROJECT_TOKEN) is None


async def test_a_read_under_way_is_repeated_when_another_server_has_changed_the_project(
    workspace: Workspace,
) -> None:
    store = SlowProjects(workspace.records)
    directory = projects_of(workspace, store)

    reading = asyncio.create_task(directory.by_token(PROJECT_TOKEN))
    await store.has_read.wait()
    await rotate(workspace)
    await directory.refresh({workspace.made.project.id})
    store.may_answer.set()

    with pytest.raises(InvalidApiKey):
        await reading
    assert directory.known.get(PROJECT_TOKEN) is None


async def test_only_the_projects_that_were_changed_are_read_again(workspace: Workspace) -> None:
    directory = projects_of(workspace)
    project = await directory.by_token(PROJECT_TOKEN)
    await rotate(workspace)

    await directory.refresh({project.id + 1})
    before = directory.known.get(NEW_TOKEN)
    await directory.refresh({project.id})

    assert before is None
    assert directory.known[NEW_TOKEN].name == "New"


async def test_each_change_of_a_project_is_published(workspace: Workspace) -> None:
    bus, reported = ChangeBus(), list[int]()
    bus.subscribe(Topic.PROJECT, reported.append)
    directory = projects_of(workspace, bus=bus)

    organization_id = workspace.made.project.organization_id
    made = await directory.create_project(organization_id, "Made", "UTC", workspace.clock.now())
    await directory.change_project(made.id, {"name": "Changed"}, workspace.clock.now())

    assert reported == [made.id, made.id]


async def test_a_key_that_another_process_revoked_is_looked_up_again(workspace: Workspace) -> None:
    store, clock = SlowKeys(workspace.records), workspace.clock
    bus = ChangeBus()
    revoking = Authentication(
        PersonalKeyStore(workspace.records), clock.now, clock.seconds, bus=bus
    )
    authentication = Authentication(store, clock.now, clock.seconds)
    bus.subscribe(Topic.PERSONAL_KEYS, lambda _: authentication.forget())
    user_id = workspace.made.user.id
    [key], _ = await store.list_keys(user_id, 1, 0)

    reading = asyncio.create_task(authentication.authenticate(OWNER_KEY, "body"))
    await store.has_read.wait()
    await revoking.revoke_key(user_id, key.id)
    store.may_answer.set()

    with pytest.raises(InvalidPersonalApiKey):
        await reading
    with pytest.raises(InvalidPersonalApiKey):
        await authentication.authenticate(OWNER_KEY, "body")
