"""The ledger's side of its comparison with the stored events."""

from collections import Counter
from datetime import datetime, timedelta

from sqlalchemy import and_, or_, select

from fanion.db.engine import Records
from fanion.db.schema.activity import activity_log
from fanion.ingest.ledger.comparison import Counted, counted_time
from fanion.ingest.ledger.model import STORED
from fanion.ingest.ledger.store import Ledger
from fanion.projects.retention.model import EXPIRED


async def read_ledger(records: Records, now: datetime) -> Counted:
    """Read what the ledger counts as stored, by project.

    Raises:
        RecordsUnavailable: The records store does not answer.
    """
    start, end = counted_time(now)
    stored: Counter[int] = Counter()
    for row in await Ledger(records, lambda: now).counts(start, end - timedelta(minutes=1)):
        if row.outcome == STORED:
            stored[row.project_id] += row.items
    entry = activity_log.c
    deleted = select(entry.project_id).where(
        or_(
            and_(entry.scope == "Person", entry.activity == "deleted"),
            and_(entry.scope == "Project", entry.activity == EXPIRED),
        ),
        entry.created_at >= start,
    )
    return Counted(
        start, end, stored, {row.project_id for row in await records.fetch(deleted.distinct())}
    )
