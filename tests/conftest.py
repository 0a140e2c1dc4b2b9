"""Real stores for every suite: a separate migrated database for each test.

A test that uses the records store runs on SQLite. `@pytest.mark.every_engine`, for outcomes that
SQL decides, runs it on SQLite and on PostgreSQL; `@pytest.mark.postgresql` only on PostgreSQL.
"""

import gc
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from fanion.db.engine import Records, open_records
from fanion.db.migrate import migrate
from tests.support.database_pool import DatabasePool
from tests.support.events_engine import (
    AGAIN,
    EVERY_ENGINE,
    EVERY_LAYOUT,
    chdb_events,
    clickhouse_events,
    clickhouse_server,
    distributed_events,
    engines_for,
    events,
    every_events,
    every_layout,
    own_events_url,
    project_id,
    server_events,
)
from tests.support.examples import MANY
from tests.support.kafka.brokers import Kafka, private_kafka
from tests.support.memory_folder import write_to_memory
from tests.support.postgres import (
    POSTGRESQL,
    SQLITE,
    TEMPLATE,
    NoPostgres,
    Postgres,
    private_postgres,
)
from tests.support.releases import NO_HISTORY
from tests.support.shared_servers import (
    app_server,
    postgres_app_server,
    postgres_team_server,
    postgres_workspace,
    shared_workspace,
    sqlite_app_server,
    sqlite_team_server,
    sqlite_workspace,
    team,
    team_server,
    tenant,
)

# Fixtures of the whole session: the embedded event engine has one folder per process.
__all__ = [
    "app_server",
    "chdb_events",
    "clickhouse_events",
    "clickhouse_server",
    "distributed_events",
    "events",
    "every_events",
    "every_layout",
    "own_events_url",
    "postgres_app_server",
    "postgres_team_server",
    "postgres_workspace",
    "project_id",
    "server_events",
    "shared_workspace",
    "sqlite_app_server",
    "sqlite_team_server",
    "sqlite_workspace",
    "team",
    "team_server",
    "tenant",
]

HERE, BROWSER, PARTS = Path(__file__).parent, "browser", ("long", "quick")

# To shrink an example may take more minutes than a test has. A failure prints the one it has found,
# and keeps it: `pytest --hypothesis-profile=shrink` with the name of the test shrinks it.
settings.register_profile(
    "shrink",
    deadline=timedelta(seconds=60),  # of one example, on a machine that runs other tests too
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "tell",
    settings.get_profile("shrink"),
    phases=[phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)],
)
settings.load_profile("tell")
settings.register_profile(MANY, settings.get_profile("tell"))


def pytest_configure() -> None:
    write_to_memory()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-engine", action="store_true", help="run each test of the records store on both"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        is_every = metafunc.config.getoption("--every-engine")
        metafunc.parametrize("engine", engines_of(metafunc.definition, is_every), indirect=True)
    for name, stores in (("every_events", EVERY_ENGINE), ("every_layout", EVERY_LAYOUT)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, engines_for(metafunc.function, stores), indirect=True)


BOTH = (SQLITE, pytest.param(POSTGRESQL, marks=AGAIN))


def engines_of(item: pytest.Item, is_every: bool) -> Sequence[str | pytest.ParameterSet]:
    """Return a test's engines by its nearest mark; one for only PostgreSQL always decides."""
    for mark in item.iter_markers():
        if mark.name == "postgresql":
            return (POSTGRESQL,)
        if mark.name == "every_engine":
            return BOTH
    return BOTH if is_every else (SQLITE,)


# Files of few tests that take minutes together.
LONGEST = (
    "test_built_release",
    "test_move_crash",
    "test_backup_crash",
    "test_upgrade_crash",
    "test_released_versions_crash",
)

# The folders whose tests drive a browser, and those that they import.
IN_BROWSER = ("clients", "console", "support")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the other folders with `-m browser` alone.

    Importing them takes each process of the tests longer than ten of these tests.
    """
    is_other = collection_path.parent == HERE and collection_path.name not in IN_BROWSER
    return True if config.option.markexpr == BROWSER and is_other else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from looking through what is collected.

    These are millions of objects that stay until the end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def drives_processes(path: Path) -> bool:
    """Return whether a file has tests of real processes, of clients or of the console."""
    return path.stem.endswith("_crash") or path.parent.name in ("clients", "cluster", "console")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, then those that drive processes, then those with most tests.

    No worker is then left with one of them at the end.
    """
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if item.get_closest_marker(BROWSER) and folder not in IN_BROWSER:
            raise pytest.UsageError(f"{item.nodeid} is left out by `-m browser`: see IN_BROWSER")
        if item.get_closest_marker("cluster") and folder != "cluster":
            raise pytest.UsageError(
                f"{item.nodeid} is left out by `make`, which names tests/cluster"
            )
        if drives_processes(item.path) and not any(map(item.get_closest_marker, PARTS)):
            raise pytest.UsageError(f"{item.nodeid} is neither marked `long` nor `quick`")
    tests = Counter(item.path for item in items)
    items.sort(
        key=lambda item: (
            item.path.stem not in LONGEST,
            not drives_processes(item.path),
            -tests[item.path],
            str(item.path),
        )
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn skips into failures with the same reason, with FANION_TEST_NO_SKIPS=1.

    Only the missing history of a clone stays a skip, because it cannot be installed.
    """
    report = yield
    is_strict = os.environ.get("FANION_TEST_NO_SKIPS") == "1"
    if report.skipped and call.excinfo and is_strict and str(call.excinfo.value) != NO_HISTORY:
        report.outcome = "failed"
        report.longrepr = f"skipped: {call.excinfo.value}"
    return report


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Yield a server; with pytest-xdist each worker has its own."""
    try:
        with private_postgres() as server:
            yield server
    except NoPostgres as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    """Yield a cluster of one broker, which starts in 4 s; with pytest-xdist each worker has one."""
    with private_kafka() as cluster:
        yield cluster


@pytest.fixture(scope="session")
async def postgres_template(postgres: Postgres) -> str:
    await postgres.run(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
    await migrate(postgres.url(TEMPLATE))
    return TEMPLATE


@pytest.fixture(scope="session")
async def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "records.db"
    await migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_pool(postgres: Postgres, postgres_template: str) -> DatabasePool:
    return DatabasePool(postgres, postgres_template)


@pytest.fixture
async def postgres_url(postgres_pool: DatabasePool) -> AsyncIterator[str]:
    """Yield the URL of a migrated PostgreSQL database of the test's own."""
    name = await postgres_pool.acquire()
    yield postgres_pool.postgres.url(name)
    await postgres_pool.release(name)


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """Return the URL of a migrated SQLite file of the test's own."""
    path = tmp_path / "records.db"
    shutil.copyfile(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> str:
    """Return the records store's engine, `sqlite` or `postgresql`; see `engines_of`."""
    name: str = request.param
    return name


@pytest.fixture
def records_url(request: pytest.FixtureRequest, engine: str) -> str:
    name = "sqlite_url" if engine == SQLITE else "postgres_url"
    url: str = request.getfixturevalue(name)
    return url


@pytest.fixture
async def records(records_url: str) -> AsyncIterator[Records]:
    """Yield a migrated, open store."""
    store = await open_records(records_url)
    yield store
    await store.close()
