"""The definitions of the events of a batch, created and updated by ingestion."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Dialect, text

from fanion.db.bulk import upsert
from fanion.db.schema.tables import event_definitions
from fanion.events.definitions.store import new_row

_UPDATE_FREE = text("""
  WITH named AS (
         SELECT definition.id, definition.project_id, definition.name
           FROM event_definitions AS definition
           JOIN UNNEST(CAST(:projects AS bigint[]), CAST(:names AS text[]))
                AS asked (project_id, name)
          USING (project_id, name)),
       free AS (
         SELECT id
           FROM event_definitions
          WHERE id IN (SELECT id FROM named)
            FOR UPDATE SKIP LOCKED),
       seen AS (
         UPDATE event_definitions
            SET last_seen_at = CAST(:now AS timestamptz)
          WHERE id IN (SELECT id FROM free))
SELECT project_id, name FROM named
""")


def record_seen(connection: Connection, names: Iterable[tuple[int, str]], now: datetime) -> None:
    """Create a definition for each new (project id, name); update last_seen_at of the others.

    Args:
        now: The server's clock, not the events' own times.

    Source: capture.md section 6.
    """
    seen = {"created_at": now, "last_seen_at": now}
    rows: list[Mapping[str, Any]] = [
        new_row(project_id, {"name": name, **seen})
        # Rows have one order, so that two consumers cannot deadlock.
        for project_id, name in sorted(set(names))
    ]
    if connection.dialect.name == "postgresql":
        rows = _update_free(connection, rows, now)
    if rows:
        connection.execute(_upsert(connection.dialect), rows)


def _update_free(
    connection: Connection, rows: Sequence[Mapping[str, Any]], now: datetime
) -> list[Mapping[str, Any]]:
    """Update the definitions that no other transaction has locked; return the rows that are new.

    A server that has locked a definition is storing events of it now, as this one does.
    """
    parameters = {
        "projects": [row["project_id"] for row in rows],
        "names": [row["name"] for row in rows],
        "now": now,
    }
    known = {(row.project_id, row.name) for row in connection.execute(_UPDATE_FREE, parameters)}
    return [row for row in rows if (row["project_id"], row["name"]) not in known]


def _upsert(dialect: Dialect) -> Any:
    statement = upsert(dialect, event_definitions)
    return statement.on_conflict_do_update(
        index_elements=["project_id", "name"],
        set_={"last_seen_at": statement.excluded.last_seen_at},
    )
