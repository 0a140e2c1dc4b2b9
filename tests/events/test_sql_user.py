"""The user by whom SQL of people runs on a ClickHouse server: it sees one project and cannot write.

The stand-in plays this user; what a server refuses by itself is compared with its documentation.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from fanion.cli.doctor.stores import _check_sql_user, _run_check
from fanion.config import read_settings
from fanion.db.engine import Records
from fanion.errors import StartRefused
from fanion.events.ownership_store import Installation
from fanion.events.storage.compiled_query import QuestionLimits, TableLimits
from fanion.events.storage.marks import require_mark
from fanion.events.storage.sql_user import PROJECT, TABLES
from fanion.events.storage.store import EventStore, open_events
from tests.events.test_store import event, insert
from tests.support.clickhouse.policies import SQL_USER
from tests.support.clickhouse.server import DISTRIBUTED, SERVER, ClickHouse
from tests.support.events_engine import AGAIN, next_project

# A text as a guard with a hole would send it.
UNGUARDED = "SELECT count(), uniqExact(project_id) FROM events"
POLICIES = Path(__file__).parents[2] / "deploy" / "clickhouse" / "sql-user.sql"


def by(user: str, url: str) -> str:
    return url.replace("://", f"://{user}:secret@")


@pytest.fixture(params=[SERVER, pytest.param(DISTRIBUTED, marks=AGAIN)])
async def store(
    request: pytest.FixtureRequest, clickhouse_server: ClickHouse
) -> AsyncIterator[EventStore]:
    url = clickhouse_server.url(request.param)
    store = EventStore(url, sql_url=by(SQL_USER, url))
    await store.open()
    yield store
    await store.close()


async def test_sql_of_people_sees_their_project_whatever_its_text(store: EventStore) -> None:
    own, other = next_project(), next_project()
    await insert(store, [event(own), event(own), event(other)])
    limits = QuestionLimits(sql_of=own)

    table = await store.table(UNGUARDED, {}, TableLimits(limits, 10, 10_000, "UTC"))
    question = await store.question(UNGUARDED, {}, limits)
    whole = await store.question(UNGUARDED, {}, QuestionLimits())

    assert [list(row) for row in table.rows] == [[2, 1]]
    assert [list(column) for column in question.columns] == [[2], [1]]
    assert whole.columns[1][0] > 1


async def test_a_user_without_row_policies_is_refused(clickhouse_server: ClickHouse) -> None:
    url = clickhouse_server.url(SERVER)
    filled = await open_events(url)
    await insert(filled, [event(next_project())])
    await filled.close()
    careless = EventStore(url, sql_url=url)

    with pytest.raises(StartRefused) as refused:
        await careless.open()
    await careless.close()

    said = str(refused.value)
    assert said.startswith("FANION_EVENTS_SQL_URL: the user sees rows of every project in events; ")
    assert "; the user may write: see docs/sql.md" in said


async def test_a_user_of_another_event_store_is_refused(
    records: Records, clickhouse_server: ClickHouse, own_events_url: str
) -> None:
    name = f"other_{uuid4().hex}"
    client = clickhouse_server.client()
    client.command(f"CREATE DATABASE {name}")
    client.close()
    other = await open_events(clickhouse_server.url(name))
    require_mark(other._jobs._clients[0], Installation(uuid4(), None), "elsewhere")
    await other.close()
    store = EventStore(own_events_url, sql_url=by(SQL_USER, clickhouse_server.url(name)))

    with pytest.raises(StartRefused, match="it is another event store than that of"):
        await store.open(records)
    await store.close()


async def test_the_doctor_says_what_the_user_sees(clickhouse_server: ClickHouse) -> None:
    url = clickhouse_server.url(SERVER)
    stores = {"database_url": "postgresql://h/d", "events_url": url}
    kept = read_settings({}, {**stores, "events_sql_url": by(SQL_USER, url)})
    careless = read_settings({}, {**stores, "events_sql_url": url})

    [found] = await _run_check("SQL user", _check_sql_user, kept)
    [failed] = await _run_check("SQL user", _check_sql_user, careless)

    assert (found.ok, found.text) == (True, "sees one project, and cannot write")
    assert (failed.ok, failed.text.startswith("FANION_EVENTS_SQL_URL: the user ")) == (False, True)


def test_the_policies_for_operators_cover_each_table_with_projects() -> None:
    text = POLICIES.read_text()

    for table in TABLES:
        own = (
            f"ON fanion.{table} USING project_id = toUInt64(getSetting('{PROJECT}')) TO {SQL_USER};"
        )
        others = f"ON fanion.{table} USING 1 TO ALL EXCEPT {SQL_USER};"
        assert own in text and others in text, table
