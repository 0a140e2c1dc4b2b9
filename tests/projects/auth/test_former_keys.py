"""Replaced project keys and secret keys: accepted for a set time, on both engines."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from fanion.db.engine import Records
from fanion.db.schema.flags import former_secret_keys
from fanion.db.schema.tables import former_project_tokens
from fanion.errors import ExpiredPersonalApiKey, Invalid, InvalidApiKey, InvalidPersonalApiKey
from fanion.projects.admin_store import Installation, set_up
from fanion.projects.auth.secret_keys_service import SecretKeys
from fanion.projects.auth.secret_keys_store import SecretKeyStore
from fanion.projects.cache import Projects
from fanion.projects.model import FORMER_KEYS_MAX, FormerToken, Project
from fanion.projects.store import ProjectStore
from tests.support.management import NOW, Clock, quick_hash

pytestmark = pytest.mark.every_engine

HOUR_S = 3600


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(records: Records) -> ProjectStore:
    return ProjectStore(records)


@pytest.fixture
async def project(records: Records) -> Project:
    installation = Installation(email="a@example.com", first_name="A", password="p")
    return (await set_up(records, installation, NOW, quick_hash)).project


def directory(store: ProjectStore, clock: Clock) -> Projects:
    """Return the project cache of one server."""
    return Projects(store, clock.seconds, now=clock.now)


async def test_both_tokens_find_the_project(store: ProjectStore, project: Project) -> None:
    other = await store.create_project(project.organization_id, "Other", "UTC", NOW)

    changed = await store.reset_token(project.id, HOUR_S, NOW)

    assert changed is not None
    former = FormerToken(project.api_token, NOW + timedelta(hours=1))
    assert changed.former_tokens == (former,)
    assert changed.api_token not in {project.api_token, other.api_token}
    tokens = [project.api_token, changed.api_token, other.api_token, "phc_none"]
    assert await store.by_tokens(tokens) == {
        project.api_token: changed,
        changed.api_token: changed,
        other.api_token: other,
    }
    assert await store.by_ids([project.id]) == {project.id: changed}
    assert await store.page([project.organization_id], 10, 0) == ([changed, other], 2)
    assert await store.change_project(project.id, {}, NOW) == changed
    assert await store.reset_token(999, HOUR_S, NOW) is None


async def test_several_former_tokens_end_each_in_its_time(
    store: ProjectStore, project: Project
) -> None:
    second = await store.reset_token(project.id, 2 * HOUR_S, NOW)
    assert second is not None
    third = await store.reset_token(project.id, HOUR_S, NOW)
    assert third is not None
    later = NOW + timedelta(hours=1)
    fourth = await store.reset_token(project.id, HOUR_S, later)
    assert fourth is not None

    assert third.tokens(NOW) == (third.api_token, second.api_token, project.api_token)
    assert fourth.tokens(later) == (fourth.api_token, project.api_token, third.api_token)
    assert fourth.tokens(later + timedelta(hours=1)) == (fourth.api_token,)


async def test_former_tokens_have_a_limit_and_end_together_when_asked(
    records: Records, store: ProjectStore, project: Project
) -> None:
    for _ in range(FORMER_KEYS_MAX):
        await store.reset_token(project.id, HOUR_S, NOW)
    with pytest.raises(Invalid, match="5 former keys are still valid"):
        await store.reset_token(project.id, HOUR_S, NOW)
    stored = (await store.by_ids([project.id]))[project.id]

    ended = await store.reset_token(project.id, 0, NOW)

    assert ended is not None
    assert len(stored.tokens(NOW)) == FORMER_KEYS_MAX + 1
    assert ended.tokens(NOW) == (ended.api_token,)
    [(count,)] = await records.fetch(select(func.count()).select_from(former_project_tokens))
    assert count == 0


async def test_a_former_token_is_taken_until_it_ends_on_every_server(
    store: ProjectStore, project: Project, clock: Clock
) -> None:
    here, elsewhere, later = (directory(store, clock) for _ in range(3))
    for server in (here, elsewhere):
        await server.by_token(project.api_token)

    changed = await here.reset_token(project.id, HOUR_S, clock.now())
    await elsewhere.refresh()

    clock.move(minutes=59, seconds=59)
    for server in (here, elsewhere, later):
        server.end_former_tokens()
        for token in (project.api_token, changed.api_token):
            assert (await server.by_token(token)).id == project.id
            assert server.known.get(token) is not None
    clock.move(seconds=1)
    for server in (here, elsewhere, later, directory(store, clock)):
        server.end_former_tokens()
        assert server.known.get(project.api_token) is None
        with pytest.raises(InvalidApiKey):
            await server.by_token(project.api_token)
        assert (await server.by_token(changed.api_token)).id == project.id
        await server.refresh()
        assert server.known.get(project.api_token) is None
        assert server.known.get(changed.api_token) is not None


async def test_a_token_that_is_to_end_at_once_does(
    store: ProjectStore, project: Project, clock: Clock
) -> None:
    here, elsewhere = directory(store, clock), directory(store, clock)
    for server in (here, elsewhere):
        await server.by_token(project.api_token)
    first = await here.reset_token(project.id, HOUR_S, clock.now())
    await elsewhere.refresh()

    second = await here.reset_token(project.id, 0, clock.now())
    await elsewhere.refresh()

    for server in (here, elsewhere):
        for token in (project.api_token, first.api_token):
            with pytest.raises(InvalidApiKey):
                await server.by_token(token)
        assert (await server.by_token(second.api_token)).former_tokens == ()


async def test_a_former_secret_key_reads_until_it_ends(
    records: Records, project: Project, clock: Clock
) -> None:
    here, elsewhere = (
        SecretKeys(SecretKeyStore(records), clock.now, clock.seconds) for _ in range(2)
    )
    first = await here.rotate_key(project.id)
    assert await elsewhere.project_id(first, "body") == project.id

    second = await here.rotate_key(project.id, None, HOUR_S)

    clock.move(minutes=59, seconds=59)
    for server in (here, elsewhere):
        for key in (first, second):
            assert await server.project_id(key, "body") == project.id
    clock.move(seconds=1)
    for server in (here, elsewhere):
        with pytest.raises(ExpiredPersonalApiKey, match="found in request body has expired"):
            await server.project_id(first, "body")
        assert await server.project_id(second, "body") == project.id


async def test_secret_keys_end_together_when_asked(
    records: Records, project: Project, clock: Clock
) -> None:
    keys = SecretKeys(SecretKeyStore(records), clock.now, clock.seconds)
    made = [await keys.rotate_key(project.id, None, HOUR_S) for _ in range(FORMER_KEYS_MAX + 1)]
    with pytest.raises(Invalid, match="5 former keys are still valid"):
        await keys.rotate_key(project.id, None, HOUR_S)
    for key in made:
        assert await keys.project_id(key, "body") == project.id

    present = await keys.rotate_key(project.id)
    for key in made:
        with pytest.raises(InvalidPersonalApiKey):
            await keys.project_id(key, "body")
    await keys.rotate_key(project.id, None, HOUR_S)
    was_there, again = await keys.revoke_key(project.id), await keys.revoke_key(project.id)

    assert (was_there, again) == (True, False)
    with pytest.raises(InvalidPersonalApiKey):
        await keys.project_id(present, "body")
    [(count,)] = await records.fetch(select(func.count()).select_from(former_secret_keys))
    assert count == 0
