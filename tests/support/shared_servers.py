"""Applications shared by all tests of a session: one on SQLite and one on PostgreSQL."""

import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import delete

from fanion.db.engine import open_records
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.experiments import experiments
from fanion.events.storage.store import EventStore
from tests.support.application import AppServer, Tenant, open_app_server, open_tenant
from tests.support.management import NOW, Workspace, open_workspace
from tests.support.postgres import SQLITE, Postgres
from tests.support.team import postgres_team_server, sqlite_team_server, team, team_server

__all__ = [
    "app_server",
    "postgres_app_server",
    "postgres_team_server",
    "postgres_workspace",
    "shared_workspace",
    "sqlite_app_server",
    "sqlite_team_server",
    "sqlite_workspace",
    "team",
    "team_server",
    "tenant",
]


@pytest.fixture(scope="session")
async def sqlite_app_server(
    sqlite_template: Path, events: EventStore, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AppServer]:
    folder: Path = tmp_path_factory.mktemp("app_server")
    shutil.copyfile(sqlite_template, folder / "records.db")
    async with open_app_server(f"sqlite:///{folder}/records.db", events, folder) as app_server:
        yield app_server


@pytest.fixture(scope="session")
async def postgres_app_server(
    postgres: Postgres,
    postgres_template: str,
    events: EventStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[AppServer]:
    url = postgres.url(await postgres.create_database(postgres_template))
    async with open_app_server(url, events, tmp_path_factory.mktemp("app_server")) as app_server:
        yield app_server


@pytest.fixture(scope="session")
def app_server(request: pytest.FixtureRequest, engine: str, events: EventStore) -> AppServer:
    """Return the application on the test's engine.

    It is shared, because opening one takes longer than most tests; each test has its own `tenant`.
    Both applications stay open until the end of the session, because files alternate between the
    engines. `events` is named, because the applications are requested by name.
    """
    name = "sqlite_app_server" if engine == SQLITE else "postgres_app_server"
    app_server: AppServer = request.getfixturevalue(name)
    return app_server


@pytest.fixture
async def tenant(
    app_server: AppServer, events: EventStore, project_id: int
) -> AsyncIterator[Tenant]:
    """Yield an organization with a project of the test's own, at noon."""
    app_server.clock.time = NOW
    # All applications of the process share one event store, which reports its durations to the one
    # that was opened last.
    metrics = app_server.running.public.context.metrics
    events.observe(metrics.store_seconds.labels("events").observe)
    async with open_tenant(app_server, project_id) as tenant:
        yield tenant
    # Otherwise a later test that moves the clock by a week would calculate them too, and those of
    # other projects that this test has made.
    async with app_server.records.write() as connection:
        await connection.execute(delete(experiments))
        await connection.execute(delete(cohorts))


@pytest.fixture(scope="session")
async def sqlite_workspace(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Workspace]:
    path = tmp_path_factory.mktemp("workspace") / "records.db"
    shutil.copyfile(sqlite_template, path)
    async with shared(f"sqlite:///{path}") as workspace:
        yield workspace


@pytest.fixture(scope="session")
async def postgres_workspace(
    postgres: Postgres, postgres_template: str
) -> AsyncIterator[Workspace]:
    async with shared(postgres.url(await postgres.create_database(postgres_template))) as workspace:
        yield workspace


@pytest.fixture(scope="session")
def shared_workspace(request: pytest.FixtureRequest, engine: str) -> Workspace:
    """Return a workspace for tests that only read: an application takes half a second to build."""
    name = "sqlite_workspace" if engine == SQLITE else "postgres_workspace"
    workspace: Workspace = request.getfixturevalue(name)
    return workspace


@asynccontextmanager
async def shared(records_url: str) -> AsyncGenerator[Workspace]:
    records = await open_records(records_url)
    async with open_workspace(records) as workspace:
        yield workspace
    await records.close()
