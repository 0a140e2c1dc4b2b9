"""The uses of an event store by commands: to inspect it without changing it, and to adopt it."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.events.ownership_store import Installation, Mark
from fanion.events.storage.client import (
    connect,
    engine_at,
    engine_version,
    open_error,
)
from fanion.events.storage.cluster_health import ClusterHealth, read_health
from fanion.events.storage.counts_query import ACCEPTED
from fanion.events.storage.marks import check_mark, replace_mark
from fanion.events.storage.migrate import check_schema, table_exists
from fanion.events.storage.native_format import micros
from fanion.events.storage.session_rows import read_facts
from fanion.events.storage.session_rows_sql import state_text
from fanion.events.storage.stored_columns import columns_text, read_stored


@dataclass(frozen=True, slots=True)
class Inspected:
    """The findings about an event store.

    Attributes:
        version: The version of the engine.
        is_marked: False if the store belongs to no installation yet.
        now: The engine's time.
        accepted: Number of events by project that were accepted in the given time; None if not
            all servers of a cluster can answer.
        session_rows: The state of the rows of sessions; empty in a store without them.
        property_columns: The properties with a dedicated column; empty in a store without them.
        cluster: The state of the cluster; None for a single server.
    """

    version: str
    is_marked: bool
    now: datetime
    accepted: Mapping[int, int] | None
    session_rows: str
    property_columns: str
    cluster: ClusterHealth | None = None


def inspect_event_store(
    url: str, installation: Installation | None, accepted: tuple[datetime, datetime]
) -> Inspected:
    """Inspect an event store without changing it.

    Args:
        installation: The installation to which it must belong, if to any; None for any.
        accepted: The start and exclusive end of the time of acceptance of the events to count.

    Raises:
        EventStoreUnavailable: The store does not answer.
        SchemaRefused: Another version has made the tables.
        StartRefused: The store cannot be used, or belongs to another installation.
    """
    engine = engine_at(url)
    with closing(connect(engine)) as client:
        try:
            health = read_health(engine, client)
            check_schema(client)
            is_marked = check_mark(client, installation, engine.where)
            [(now,)] = client.query("SELECT now64(6)", tz_mode="aware").result_rows
            can_ask = health is None or not (health.away or health.missing)
            counts = _accepted(client, *accepted) if is_marked and can_ask else None
            kept = ("", "")
            if can_ask:
                kept = _session_rows(client), _property_columns(client)
        except (ClickHouseError, OSError) as error:
            raise open_error(engine, error) from None
        return Inspected(engine_version(client), is_marked, now, counts, *kept, health)


def _session_rows(client: Client) -> str:
    if not table_exists(client, "session_rows_state"):
        return ""  # no server of this version has opened the store yet
    return state_text(*read_facts(client))


def _property_columns(client: Client) -> str:
    if not table_exists(client, "property_uses"):
        return ""  # no server of this version has opened the store yet
    return columns_text(read_stored(client).columns)


def _accepted(client: Client, start: datetime, end: datetime) -> Mapping[int, int]:
    if not table_exists(client, "events"):
        return {}  # adopted, but not opened by a server yet
    bound = {"start": micros(start), "end": micros(end)}
    rows = client.query(ACCEPTED, parameters=bound).result_rows
    return {int(project_id): int(number) for project_id, number in rows}


def adopt_event_store(url: str, installation: Installation) -> Mark:
    """Mark the store as the installation's, even if another one owned it.

    Raises:
        EventStoreUnavailable: The store does not answer.
        StartRefused: The store cannot be used.
    """
    engine = engine_at(url)
    with closing(connect(engine)) as client:
        try:
            return replace_mark(client, installation, engine.where, engine.on_cluster)
        except (ClickHouseError, OSError) as error:
            raise open_error(engine, error) from None
