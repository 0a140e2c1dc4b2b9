"""How far copies of other servers' events have come."""

from sqlalchemy import Boolean, Column, PrimaryKeyConstraint, String, Table

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import ID, metadata

SOURCE_CHARS_MAX = 500

# Everything of the source from `since` on, null for from the first event, and before
# `copied_upto` has been accepted here.
event_copies = Table(
    "event_copies",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("source", String(SOURCE_CHARS_MAX), nullable=False),
    Column("since", UtcDateTime, nullable=True),
    Column("copied_upto", UtcDateTime, nullable=False),
    Column("is_finished", Boolean, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("project_id", "source"),
)
