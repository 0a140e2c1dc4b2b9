"""Real event stores for the suites: chDB, the stand-in for a ClickHouse server, and a named server.

The embedded engine has one folder per process, so each store is shared by the whole session, and
every test works in its own project.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from fanion.events.storage.store import EventStore, open_events
from tests.support.clickhouse.server import DISTRIBUTED, SERVER, ClickHouse, clickhouse

SERVER_URL = os.environ.get("FANION_TEST_CLICKHOUSE_URL", "")
CHDB = "chdb"
ENGINES = (CHDB, "clickhouse") if SERVER_URL else (CHDB,)
# The engines on which the statements of the store must work.
EVERY_ENGINE = (*ENGINES, SERVER, DISTRIBUTED)
# The engines on which the statements of analysis must work: a plan depends on the layout of the
# tables, not on the way to the engine.
EVERY_LAYOUT = (*ENGINES, DISTRIBUTED)

# What a test decides on one engine, it decides on the others.
AGAIN = pytest.mark.long("the same on another engine")

_projects = count(int.from_bytes(os.urandom(4)) << 16)


def next_project() -> int:
    """Return a project that no other test, and no earlier run on the same server, has used."""
    return next(_projects)


def engines_for(test: Callable[..., Any], engines: Sequence[str]) -> Sequence[pytest.ParameterSet]:
    """Return a test's engines, of which only chDB runs random examples; the others are long."""
    marks = getattr(test, "pytestmark", ())
    is_random = getattr(test, "is_hypothesis_test", False) or "random" in {m.name for m in marks}
    named = (CHDB,) if is_random else engines
    return [pytest.param(name, marks=() if name == CHDB else AGAIN) for name in named]


@pytest.fixture(scope="session", params=ENGINES)
def events(request: pytest.FixtureRequest) -> EventStore:
    return _store(request)


@pytest.fixture(scope="session")
def every_events(request: pytest.FixtureRequest) -> EventStore:
    """Return the store of each engine in turn, for outcomes that SQL decides; see `engines_for`."""
    return _store(request)


@pytest.fixture(scope="session")
def every_layout(request: pytest.FixtureRequest) -> EventStore:
    """Return stores with local and with Distributed tables, for statements that only read."""
    return _store(request)


@pytest.fixture(scope="session")
async def chdb_events(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EventStore]:
    store = await open_events(f"chdb://{tmp_path_factory.mktemp('events')}/store")
    yield store
    await store.close()


@pytest.fixture(scope="session")
async def clickhouse_events() -> AsyncIterator[EventStore]:
    """Yield the store on the server that FANION_TEST_CLICKHOUSE_URL names."""
    store = await open_events(SERVER_URL)
    yield store
    await store.close()


@pytest.fixture(scope="session")
def clickhouse_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    """Run the stand-in; tests/support/clickhouse/README.md describes its limits."""
    with clickhouse(tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


@pytest.fixture
def own_events_url(clickhouse_server: ClickHouse) -> str:
    """Return the URL of a database of the test's own, which several servers may share."""
    name = f"test_{uuid4().hex}"
    client = clickhouse_server.client()
    client.command(f"CREATE DATABASE {name}")
    client.close()
    return clickhouse_server.url(name)


@pytest.fixture(scope="session")
async def server_events(clickhouse_server: ClickHouse) -> AsyncIterator[EventStore]:
    store = await open_events(clickhouse_server.url(SERVER))
    yield store
    await store.close()


@pytest.fixture(scope="session")
async def distributed_events(clickhouse_server: ClickHouse) -> AsyncIterator[EventStore]:
    """Yield a store whose event tables are Distributed over two shards, both on this server."""
    store = await open_events(clickhouse_server.url(DISTRIBUTED))
    yield store
    await store.close()


@pytest.fixture
def project_id() -> int:
    return next_project()


def _store(request: pytest.FixtureRequest) -> EventStore:
    store: EventStore = request.getfixturevalue(f"{request.param}_events")
    return store
