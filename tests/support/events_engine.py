"""A real event store for the suites: chDB always, a ClickHouse server when one is named.

The embedded engine has one folder a process, so the store is shared by the whole session and
every test works in a project of its own.
"""

import os
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from fanion.events.storage.store import EventStore, open_events

SERVER_URL = os.environ.get("FANION_TEST_CLICKHOUSE_URL", "")
ENGINES = ("chdb", "clickhouse") if SERVER_URL else ("chdb",)

_projects = count(int.from_bytes(os.urandom(4)) << 16)


def next_project() -> int:
    """A project that no other test, and no earlier run on the same server, has used."""
    return next(_projects)


@pytest.fixture(scope="session", params=ENGINES)
async def events(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[EventStore]:
    store = await open_events(events_url(request.param, tmp_path_factory.mktemp("events")))
    yield store
    await store.close()


@pytest.fixture
def project_id() -> int:
    return next_project()


def events_url(engine: str, folder: Path) -> str:
    return SERVER_URL if engine == "clickhouse" else f"chdb://{folder}/store"
