"""SQL of people on a ClickHouse server, by the user with row policies: the same answers."""

import pytest

from fanion.db.engine import Records
from fanion.events.storage.store import EventStore
from tests.events.test_sql_user import by
from tests.insights.hogql.test_answers import ANSWERS
from tests.support.clickhouse.policies import SQL_USER
from tests.support.clickhouse.server import DISTRIBUTED, SERVER, ClickHouse
from tests.support.histories import Analyst
from tests.support.sql import OTHER, OWN, Asker


@pytest.mark.long("asks each question again by another user")
@pytest.mark.parametrize("database", [SERVER, DISTRIBUTED])
async def test_answers_are_those_of_the_other_user(
    records: Records, clickhouse_server: ClickHouse, database: str
) -> None:
    url = clickhouse_server.url(database)
    events = EventStore(url, sql_url=by(SQL_USER, url))
    await events.open()
    analyst = Analyst(records, events)
    await analyst.store(OTHER)
    asker = Asker(analyst, await analyst.store(OWN))

    answers = {text: await asker.rows(text) for text in ANSWERS}
    await events.close()

    assert answers == ANSWERS
