import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fanion.db.engine import open_records
from fanion.events.storage.store import EventStore
from tests.support.histories import Analyst


@pytest.fixture(scope="session")
async def analyst(
    every_layout: EventStore, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Analyst]:
    path = tmp_path_factory.mktemp("records") / "records.db"
    shutil.copyfile(sqlite_template, path)
    store = await open_records(f"sqlite:///{path}")
    yield Analyst(store, every_layout)
    await store.close()
