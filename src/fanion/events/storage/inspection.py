"""What commands do with an event store: look at it without changing anything, and adopt it."""

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.events.ownership_store import Installation, Mark
from fanion.events.storage.client import check_schema, connect, engine_at, engine_version, failed
from fanion.events.storage.marks import check_mark, replace_mark


@dataclass(frozen=True, slots=True)
class Inspected:
    """version: of the engine; is_marked: False for a store that is nobody's yet; now: its time"""

    version: str
    is_marked: bool
    now: datetime


def inspect_event_store(url: str, installation: Installation | None) -> Inspected:
    """installation: the one that it must belong to, unless it is nobody's; None for any

    raises: EventStoreUnavailable, SchemaTooNew, StartRefused
    """
    engine = engine_at(url)
    with closing(connect(engine)) as client:
        try:
            check_schema(client)
            is_marked = check_mark(client, installation, engine.where)
            [(now,)] = client.query("SELECT now64(6)", tz_mode="aware").result_rows
        except (ClickHouseError, OSError) as error:
            raise failed(engine, error) from None
        return Inspected(engine_version(client), is_marked, now)


def adopt_event_store(url: str, installation: Installation) -> Mark:
    """Mark it as the installation's, whosever it was.

    raises: EventStoreUnavailable, StartRefused
    """
    engine = engine_at(url)
    with closing(connect(engine)) as client:
        try:
            return replace_mark(client, installation, engine.where)
        except (ClickHouseError, OSError) as error:
            raise failed(engine, error) from None
