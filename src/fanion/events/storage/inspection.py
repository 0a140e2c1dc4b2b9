"""What commands do with an event store: look at it without changing anything, and adopt it."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.events.ownership_store import Installation, Mark
from fanion.events.storage.client import check_schema, connect, engine_at, engine_version, failed
from fanion.events.storage.marks import check_mark, replace_mark
from fanion.events.storage.native_format import micros

# Rows, of which an event may have more than one until parts are merged.
_ACCEPTED = """
  SELECT project_id, count()
    FROM events
   WHERE received_at >= fromUnixTimestamp64Micro({start:Int64})
     AND received_at < fromUnixTimestamp64Micro({end:Int64})
GROUP BY project_id
"""


@dataclass(frozen=True, slots=True)
class Inspected:
    """version:  of the engine; is_marked: False for a store that is nobody's yet; now: its time
    accepted: number of events by project that were accepted in the given time
    """

    version: str
    is_marked: bool
    now: datetime
    accepted: Mapping[int, int]


def inspect_event_store(
    url: str, installation: Installation | None, accepted: tuple[datetime, datetime]
) -> Inspected:
    """installation: the one that it must belong to, unless it is nobody's; None for any
    accepted:     from when, and before when, the events were accepted that are counted

    raises: EventStoreUnavailable, SchemaTooNew, StartRefused
    """
    engine = engine_at(url)
    with closing(connect(engine)) as client:
        try:
            check_schema(client)
            is_marked = check_mark(client, installation, engine.where)
            [(now,)] = client.query("SELECT now64(6)", tz_mode="aware").result_rows
            counts = _accepted(client, *accepted) if is_marked else {}
        except (ClickHouseError, OSError) as error:
            raise failed(engine, error) from None
        return Inspected(engine_version(client), is_marked, now, counts)


def _accepted(client: Client, start: datetime, end: datetime) -> Mapping[int, int]:
    if not client.command("EXISTS TABLE events"):
        return {}  # adopted, and not opened by a server yet
    bound = {"start": micros(start), "end": micros(end)}
    rows = client.query(_ACCEPTED, parameters=bound).result_rows
    return {int(project_id): int(number) for project_id, number in rows}


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
