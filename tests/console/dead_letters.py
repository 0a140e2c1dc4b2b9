"""Requests that were accepted and could not be ingested, put beside those of a running server."""

import json
from datetime import UTC, datetime
from itertools import count

from sqlalchemy import create_engine

from fanion.accept_log.port import Envelope, LogEntry
from fanion.ingest.ledger.dead_letters_store import insert_dead_letter
from tests.console.project import Json, Project

BUSY_S = 30
UNREADABLE = b'[{"event": "paid", "distinct_id": "bob"}, {"event":'
# Ids far above those of the accept log: ids of events derive from them.
_log_ids = count(1_000_000_000)


def put_aside(project: Project, error: str, *events: Json, body: bytes = b"") -> None:
    """Store a request as if a store had been down while it arrived.

    Args:
        body: Sent instead of events, such as a text that is not JSON.
    """
    now = datetime.now(UTC)
    sent = body or json.dumps(list(events)).encode()
    entry = LogEntry(
        next(_log_ids), Envelope(project.id, now, "192.0.2.1", "a client/1", None, sent)
    )
    engine = create_engine(
        f"sqlite:///{project.server.data}/records.db", connect_args={"timeout": BUSY_S}
    )
    with engine.begin() as connection:
        insert_dead_letter(connection, entry, max(1, len(events)), error, now)
    engine.dispose()
