"""Every row of the event store arrives in another engine, and a difference is found."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest
from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import engine_at, open_clients
from fanion.events.storage.schema import ARRAY_DEPTH_MAX
from fanion.move.events_store import COPIED, NOT_COPIED, EventsCopy, EventsDiffer
from tests.support.clickhouse.server import ClickHouse

NOW: Final = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
DEEP: Final = "[" * (ARRAY_DEPTH_MAX + 5) + "]" * (ARRAY_DEPTH_MAX + 5)
# Few, so that several blocks are copied, and days are narrowed to minutes of acceptance.
BLOCK_ROWS: Final = 7
PERSON, OTHER = UUID(int=1), UUID(int=2)
TABLES: Final = tuple(copied.table for copied in COPIED)


def ignore(_: int) -> None:
    pass


@pytest.fixture
def copying(clickhouse_server: ClickHouse) -> Iterator[EventsCopy]:
    """Yield the copying between two new databases with all tables."""
    names = ("moved_from", "moved_to")
    with closing(clickhouse_server.client()) as admin:
        for name in names:
            admin.command(f"CREATE DATABASE {name}")
        clients = [opened(clickhouse_server.url(name)) for name in names]
        yield EventsCopy(clients[0], clients[1], BLOCK_ROWS)
        for name, client in zip(names, clients, strict=True):
            client.close()
            admin.command(f"DROP DATABASE {name}")


def opened(url: str) -> Client:
    [client], others = open_clients(engine_at(url), 1)
    for other in others:
        other.close()
    return client


def insert(client: Client, table: str, *rows: dict[str, Any]) -> None:
    lines = "\n".join(json.dumps(row) for row in rows)
    settings = {"date_time_input_format": "best_effort", "optimize_on_insert": 0}
    client.raw_insert(table, list(rows[0]), lines, settings, fmt="JSONEachRow")


def event(number: int, **changes: Any) -> dict[str, Any]:
    properties = {"n": number, "list": [1.5, None, {"a.b": "2026-01-01"}]}
    return {
        "project_id": 1 + number % 2,
        "uuid": str(UUID(int=number)),
        "event": f"event {number % 3}",
        "distinct_id": f"id {number % 5}",
        "person_id": str(PERSON),
        "timestamp": (NOW - timedelta(hours=number)).isoformat(),
        "received_at": (NOW + timedelta(minutes=number)).isoformat(),
        "properties": json.dumps(properties),
        "shallow": "",
        **changes,
    }


def fill(client: Client) -> None:
    deep = {"deep": json.loads(DEEP), "n": 7}
    shallow = json.dumps({"deep": DEEP, "n": 7})
    insert(client, "events", *(event(number) for number in range(60)))
    insert(client, "events", event(60, properties=json.dumps(deep), shallow=shallow))
    insert(client, "events", event(3, person_id=str(OTHER)))  # stored again, after a conflict
    entity = {"properties": '{"plan":"x"}', "created_at": NOW.isoformat(), "is_deleted": 0}
    for number in range(20):
        person = {"project_id": 1, "person_id": str(UUID(int=number)), "version": number, **entity}
        insert(client, "persons", person)
    insert(client, "persons", {**person, "version": 99, "is_deleted": 1})
    group = {"project_id": 1, "group_type_index": 2, "group_key": "g", "version": 5, **entity}
    insert(client, "groups", group)
    override = {
        "project_id": 1,
        "old_person": str(PERSON),
        "new_person": str(OTHER),
        "version": 600,
    }
    insert(client, "person_overrides", override)
    uses = {
        "day": datetime.now(UTC).date().isoformat(),
        "project_id": 1,
        "property": "plan",
        "uses": 3,
    }
    insert(client, "property_uses", uses)
    insert(client, "property_uses", uses)


def content(client: Client, table: str) -> list[Any]:
    """Return all that a table shows, with the columns that are made of properties."""
    has_attributes = table in ("events", "persons", "groups")
    more = ", toJSONString(attributes), JSONAllPathsWithTypes(attributes)" if has_attributes else ""
    final = "" if table == "property_uses" else "FINAL"
    rows = client.query(
        f"SELECT *{more} FROM {table} {final}", column_formats={"attributes": "str"}
    )
    return sorted(map(str, rows.result_rows))


def check_same(copying: EventsCopy) -> None:
    for table in TABLES:
        assert content(copying.target, table) == content(copying.source, table), table


def test_each_table_is_copied_or_named(copying: EventsCopy) -> None:
    tables = {row[0] for row in copying.source.query("SHOW TABLES").result_rows}

    views = {"copy_by_distinct_id"}
    assert tables == {*TABLES, *NOT_COPIED, "property_uses"} | views


def test_all_rows_arrive_and_later_changes_follow(copying: EventsCopy) -> None:
    fill(copying.source)

    assert not any(copying.copy_missing(ignore).values())
    check_same(copying)

    source = copying.source
    insert(source, "events", *(event(number) for number in range(100, 130)))
    for statement in (
        "ALTER TABLE events DELETE WHERE distinct_id = 'id 1'",
        "ALTER TABLE events_by_distinct_id DELETE WHERE distinct_id = 'id 1'",
        f"ALTER TABLE events UPDATE person_id = '{OTHER}' WHERE distinct_id = 'id 2'",
        f"ALTER TABLE events_by_distinct_id UPDATE person_id = '{OTHER}' "
        "WHERE distinct_id = 'id 2'",
        "ALTER TABLE persons DELETE WHERE version = 4",
    ):
        source.command(statement, settings={"mutations_sync": 2})
    held = copying.make_equal({}, ignore)

    check_same(copying)
    assert held["events"].rows == len(content(source, "events")) == 73
    assert copying.target.query("SELECT sum(uses) FROM property_uses").result_rows == [(6,)]


def test_rows_that_differ_after_copying_are_found(copying: EventsCopy) -> None:
    fill(copying.source)
    for statement in (  # too small for the version
        "DROP TABLE person_overrides",
        "CREATE TABLE person_overrides (project_id UInt64, old_person UUID, new_person UUID, "
        "version UInt8) ENGINE = ReplacingMergeTree(version) ORDER BY (project_id, old_person)",
    ):
        copying.target.command(statement)

    with pytest.raises(EventsDiffer, match=r"person_overrides differs in \d parts?: project 1"):
        copying.make_equal(copying.copy_missing(ignore), ignore)


def test_what_was_copied_wrong_is_replaced(copying: EventsCopy) -> None:
    fill(copying.source)
    insert(copying.target, "events", event(5, properties='{"n":"wrong"}'), event(500))

    doubts = copying.copy_missing(ignore)
    copying.make_equal(doubts, ignore)

    check_same(copying)
