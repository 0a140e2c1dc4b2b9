"""The tables of the activity log, and of copies of events from another server."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    String,
    Table,
    Uuid,
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

# A row is written in the transaction of the change that it records.
activity_log = Table(
    "activity_log",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("organization_id", Uuid, nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=True),
    Column("scope", String(40), nullable=False),
    Column("item_id", String(72), nullable=False),
    Column("activity", String(40), nullable=False),
    # {name, changes, short_id, trigger}
    Column("detail", Json, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "project_id", "scope", "item_id", "created_at"),
    Index("ix_activity_log_project_id_created_at", "project_id", "created_at"),
    sqlite_autoincrement=True,
)


SOURCE_CHARS_MAX = 500

# The source's events from `since` (null: from the first event) up to, but not including,
# `copied_upto` have been accepted here.
event_copies = Table(
    "event_copies",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("source", String(SOURCE_CHARS_MAX), nullable=False),
    Column("since", UtcDateTime, nullable=True),
    Column("copied_upto", UtcDateTime, nullable=False),
    Column("is_finished", Boolean, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("copied_from", UtcDateTime, nullable=True),
    Column("events", BigInteger, nullable=True),  # null: copied by an older version
    PrimaryKeyConstraint("project_id", "source"),
)
