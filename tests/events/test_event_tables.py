"""The tables that erasure and squashing change."""

from fanion.events.storage.event_tables import EventTable, event_tables
from fanion.events.storage.schema import EVENT_TABLES
from fanion.events.storage.store import EventStore
from tests.support.clickhouse.server import DISTRIBUTED


async def test_rows_are_where_they_are_asked_for(chdb_events: EventStore) -> None:
    tables = await chdb_events._jobs.run(event_tables)

    assert tables == [EventTable("default", name) for name in EVENT_TABLES]
    assert [table.altered for table in tables] == [
        "`default`.`events`",
        "`default`.`events_by_distinct_id`",
    ]


async def test_rows_behind_a_distributed_table_are_in_local_ones(
    distributed_events: EventStore,
) -> None:
    tables = await distributed_events._jobs.run(event_tables)

    assert tables == [
        EventTable(DISTRIBUTED, f"{name}_local", "shards", is_remote=False) for name in EVENT_TABLES
    ]
    assert tables[0].altered == "`distributed`.`events_local`"


def test_rows_of_other_hosts_are_changed_on_the_cluster() -> None:
    table = EventTable("fanion", "events_local", "two`s", is_remote=True)

    assert table.altered == "`fanion`.`events_local` ON CLUSTER `two\\`s`"
    assert table.on_hosts == "ON CLUSTER `two\\`s`"
