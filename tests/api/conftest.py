"""The application of the whole session, once over SQLite and once over PostgreSQL."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fanion.events.store import EventStore
from tests.application import Home, Site, open_home, open_site
from tests.conftest import ENGINES
from tests.management import NOW
from tests.postgres import Postgres
from tests.team import office, team

__all__ = ["office", "team"]


@pytest.fixture(scope="session", params=ENGINES)
def site_template(request: pytest.FixtureRequest) -> Path | tuple[Postgres, str]:
    """A migrated SQLite file, or a server with the name of a migrated database."""
    if request.param == "sqlite":
        path: Path = request.getfixturevalue("sqlite_template")
        return path
    return request.getfixturevalue("postgres"), request.getfixturevalue("postgres_template")


@pytest.fixture(scope="session")
async def site(
    site_template: Path | tuple[Postgres, str],
    events: EventStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Site]:
    """Shared, because opening one costs more than most tests; each test has its own `home`."""
    folder: Path = tmp_path_factory.mktemp("site")
    if isinstance(site_template, Path):
        shutil.copyfile(site_template, folder / "records.db")
        url = f"sqlite:///{folder}/records.db"
    else:
        postgres, template = site_template
        url = postgres.url(await postgres.create_database(template))
    async with open_site(url, events, folder) as site:
        yield site


@pytest.fixture
async def home(site: Site, project_id: int) -> AsyncIterator[Home]:
    """An organization with a project that nobody else uses, at noon."""
    site.clock.time = NOW
    async with open_home(site, project_id) as home:
        yield home
