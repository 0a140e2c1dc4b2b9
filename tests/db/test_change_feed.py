"""The changes that are fed to servers, their order, and the cost of a poll."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator
from functools import partial
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Connection, event, make_url, text
from sqlalchemy.engine import Engine

from fanion.db.change_feed import ChangeFeed, FeedTopic
from fanion.db.drivers import RecordsUnavailable
from fanion.db.engine import Records
from fanion.flags.definitions.store import FlagStore
from fanion.flags.evaluation.cache import FlagSets
from fanion.projects.cache import Projects
from fanion.projects.store import ProjectStore
from tests.support.awaited import until_soon
from tests.support.management import Workspace, open_workspace

PROJECTS = 20_000
FLAG_SETS = 100

# Statements that change one project: its row, a former key, its flags.
RENAME = "UPDATE projects SET name = name || '!' WHERE id = :id"
RETIRE = (
    "INSERT INTO former_project_tokens (token, project_id, valid_until) "
    "VALUES ('phc_former', :id, '2034-03-01 12:00:00')"
)
END_FORMER = "DELETE FROM former_project_tokens WHERE project_id = :id"
FIRST_FLAG = "INSERT INTO flag_versions (project_id, version) VALUES (:id, 1)"
MOVE_FLAGS = "UPDATE flag_versions SET version = version + 1 WHERE project_id = :id"
FORGET_FLAGS = "DELETE FROM flag_versions WHERE project_id = :id"


class Loads:
    """The loads of a server: topic and ids, None for all; calls without ids are left out.

    Attributes:
        is_down: Whether loading fails.
    """

    def __init__(self) -> None:
        self.called: list[tuple[str, set[int] | None]] = []
        self.is_down = False

    async def load(self, topic: FeedTopic, ids: Collection[int] | None) -> None:
        if self.is_down:
            raise RecordsUnavailable("down")
        if ids is None or ids:
            self.called.append((topic.value, None if ids is None else set(ids)))

    def taken(self) -> list[tuple[str, set[int] | None]]:
        called, self.called = self.called, []
        return called


EVERYTHING: list[tuple[str, set[int] | None]] = [("project", None), ("flags", None)]


@pytest.fixture
def loads() -> Loads:
    return Loads()


@pytest.fixture
async def feed(records: Records, loads: Loads) -> ChangeFeed:
    """Return a feed that has read everything already."""
    feed = ChangeFeed(records, {topic: partial(loads.load, topic) for topic in FeedTopic})
    await feed.follow()
    assert loads.taken() == EVERYTHING
    return feed


@pytest.fixture
async def workspace(records: Records) -> AsyncIterator[Workspace]:
    async with open_workspace(records) as opened:
        yield opened


async def run(records: Records, *statements: str, **values: Any) -> None:
    async with records.write() as connection:
        for statement in statements:
            await connection.execute(text(statement), values if ":" in statement else {})


@pytest.mark.every_engine
async def test_each_kind_of_change_is_fed(
    workspace: Workspace, feed: ChangeFeed, loads: Loads
) -> None:
    project_id = workspace.made.project.id
    await feed.follow()
    loads.taken()
    fed: dict[str, object] = {}

    for statement in (RENAME, RETIRE, END_FORMER, FIRST_FLAG, MOVE_FLAGS, FORGET_FLAGS):
        await run(workspace.records, statement.replace(":id", str(project_id)))
        await feed.follow()
        fed[statement] = loads.taken()

    project, flags = [("project", {project_id})], [("flags", {project_id})]
    assert fed == {
        **dict.fromkeys((RENAME, RETIRE, END_FORMER), project),
        **dict.fromkeys((FIRST_FLAG, MOVE_FLAGS, FORGET_FLAGS), flags),
    }


@pytest.mark.every_engine
async def test_what_has_been_loaded_is_not_loaded_again(
    records: Records, feed: ChangeFeed, loads: Loads
) -> None:
    await run(records, FIRST_FLAG, id=7)
    await feed.follow()
    first = loads.taken()

    await feed.follow()

    assert (first, loads.taken()) == ([("flags", {7})], [])


@pytest.mark.every_engine
async def test_who_follows_is_told_of_each_change_and_of_nothing_else(
    records: Records, feed: ChangeFeed
) -> None:
    told: list[None] = []
    feed.tell(lambda: told.append(None))
    counts = []

    await feed.follow()
    counts.append(len(told))
    await run(records, FIRST_FLAG, id=7)
    for _ in range(2):
        await feed.follow()
        counts.append(len(told))

    assert counts == [0, 1, 1]


@pytest.mark.every_engine
async def test_a_failed_load_is_repeated(records: Records, feed: ChangeFeed, loads: Loads) -> None:
    await run(records, FIRST_FLAG, id=7)

    loads.is_down = True
    with pytest.raises(RecordsUnavailable):
        await feed.follow()
    loads.is_down = False
    await feed.follow()

    assert loads.taken() == [("flags", {7})]


@pytest.mark.every_engine
async def test_a_transaction_that_is_rolled_back_is_not_fed(
    records: Records, feed: ChangeFeed, loads: Loads
) -> None:
    with pytest.raises(ZeroDivisionError):
        async with records.write() as connection:
            await connection.execute(text(FIRST_FLAG), {"id": 7})
            raise ZeroDivisionError

    await feed.follow()

    assert loads.taken() == []


@pytest.mark.every_engine
async def test_the_oldest_changes_are_deleted_and_who_missed_them_reads_everything(
    records: Records, feed: ChangeFeed, loads: Loads
) -> None:
    await run(records, FIRST_FLAG, id=1)
    await feed.follow()
    loads.taken()
    many = (
        "WITH RECURSIVE n (id) AS (SELECT 2 UNION ALL SELECT id + 1 FROM n WHERE id <= 11000) "
        "INSERT INTO flag_versions (project_id, version) SELECT id, 1 FROM n"
    )

    await run(records, many)
    await feed.follow()

    [(remaining,)] = await records.fetch(text("SELECT count(*) FROM change_feed"))
    assert loads.taken() == EVERYTHING
    assert 10_000 <= remaining < 11_000


@pytest.mark.every_engine
async def test_a_feed_that_began_anew_is_read_as_a_whole(
    records: Records, feed: ChangeFeed, loads: Loads
) -> None:
    """This happens after a backup was restored."""
    await run(records, FIRST_FLAG, id=1)
    await feed.follow()
    loads.taken()

    await run(records, "DELETE FROM change_feed")
    await feed.follow()

    assert loads.taken() == EVERYTHING


@pytest.mark.postgresql
async def test_a_change_that_commits_late_is_not_missed(
    records: Records, postgres_url: str, feed: ChangeFeed, loads: Loads
) -> None:
    late = await asyncpg.connect(postgres_url)
    transaction = late.transaction()
    await transaction.start()
    await late.execute(FIRST_FLAG.replace(":id", "1"))

    await run(records, FIRST_FLAG, id=2)  # it waits for no other transaction
    await feed.follow()
    early = loads.taken()
    await transaction.commit()
    await feed.follow()
    await late.close()

    assert (early, loads.taken()) == ([("flags", {2})], [("flags", {1})])


@pytest.mark.postgresql
async def test_numbers_are_in_the_order_of_commits(
    records: Records, postgres_url: str, feed: ChangeFeed, loads: Loads
) -> None:
    """One transaction has its number and is not visible yet, and the next one waits for it."""
    first = await asyncpg.connect(postgres_url)
    transaction = first.transaction()
    await transaction.start()
    await first.execute(FIRST_FLAG.replace(":id", "1"))
    await first.execute("SET CONSTRAINTS ALL IMMEDIATE")

    second = asyncio.create_task(run(records, FIRST_FLAG, id=2))
    await until_soon(partial(_is_waiting, records), "it does not wait")
    await feed.follow()
    meanwhile = loads.taken()
    await transaction.commit()
    await second
    rows = await records.fetch(text("SELECT item_id FROM change_feed ORDER BY number"))
    await first.close()

    assert (meanwhile, [row.item_id for row in rows]) == ([], [1, 2])


async def _is_waiting(records: Records) -> bool:
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE wait_event = 'advisory' AND datname = current_database()"
    )
    [(count,)] = await records.fetch(waiting)
    return bool(count)


@pytest.fixture
def statements(records_url: str) -> Iterator[list[tuple[str, int]]]:
    """Yield each statement that is run from now on, with its number of rows.

    Statements of servers that run in this process for other tests are left out.
    """
    recorded: list[tuple[str, int]] = []
    database = make_url(records_url).database

    def ran(connection: Connection, cursor: Any, statement: str, *_: object) -> None:
        if connection.engine.url.database == database:
            recorded.append((statement, cursor.rowcount))

    event.listen(Engine, "after_cursor_execute", ran)
    try:
        yield recorded
    finally:
        event.remove(Engine, "after_cursor_execute", ran)


# It takes seconds: 20,000 projects are made and read.
@pytest.mark.postgresql
async def test_a_poll_costs_one_row_however_many_projects_there_are(
    workspace: Workspace, statements: list[tuple[str, int]]
) -> None:
    records, organization = workspace.records, workspace.made.project.organization_id
    await run(
        records,
        "INSERT INTO projects (uuid, organization_id, name, api_token, timezone, created_at) "
        f"SELECT gen_random_uuid(), '{organization}', 'p', 'phc_' || n, 'UTC', now() "
        f"FROM generate_series(2, {PROJECTS}) n",
    )
    projects, flag_sets = Projects(ProjectStore(records)), FlagSets(FlagStore(records))
    for project in (await ProjectStore(records).page([organization], PROJECTS, 0))[0]:
        projects.restore(project)
    for project in list(projects.known.values())[:FLAG_SETS]:
        await flag_sets.flag_set_of(project.id)
    loads = {FeedTopic.PROJECT: projects.refresh, FeedTopic.FLAGS: flag_sets.catch_up}
    feed = ChangeFeed(records, loads)
    everything = await _ran(feed, statements)

    idle = await _ran(feed, statements)
    await run(records, RENAME, id=workspace.made.project.id)
    one_change = await _ran(feed, statements)

    assert everything == (1 + PROJECTS // 500 + 1, 1 + PROJECTS)
    assert idle == (1, 1)
    assert one_change == (2, 2 + 1)
    renamed = await projects.by_id(workspace.made.project.id)
    assert renamed is not None
    assert renamed.name == f"{workspace.made.project.name}!"


async def _ran(feed: ChangeFeed, statements: list[tuple[str, int]]) -> tuple[int, int]:
    """Return how many statements a poll ran, and how many rows they read."""
    statements.clear()
    await feed.follow()
    return len(statements), sum(rows for _, rows in statements)
