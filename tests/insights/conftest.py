import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fanion.db.engine import open_records
from fanion.events.storage.store import EventStore
from tests.support.histories import Analyst
from tests.support.sql import OTHER, OWN, Asker


@pytest.fixture(scope="session")
async def analyst(
    every_layout: EventStore, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Analyst]:
    path = tmp_path_factory.mktemp("records") / "records.db"
    shutil.copyfile(sqlite_template, path)
    store = await open_records(f"sqlite:///{path}")
    yield Analyst(store, every_layout)
    await store.close()


@pytest.fixture(scope="session")
async def asker(analyst: Analyst) -> Asker:
    """Return an asker of a project beside which another one has events."""
    await analyst.store(OTHER)
    return Asker(analyst, await analyst.store(OWN))
