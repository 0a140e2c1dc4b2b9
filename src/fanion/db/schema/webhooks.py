"""The tables of webhooks, their deliveries, and the events to announce."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    Uuid,
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False, index=True),
    Column("url", Text, nullable=False),
    # Signing needs it unhashed; clients see it once.
    Column("secret", String(100), nullable=False),
    # [{secret, valid_until}]: replaced secrets, which also sign until `valid_until`.
    Column("former_secrets", Json, nullable=True),
    # The types of events that are sent to it.
    Column("events", Json, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

# A row is written in the transaction of the change that it announces. The server that sends it
# moves `due_at` to when another server may take over; null when nothing is left to do.
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("webhook_id", ID, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("uuid", Uuid, nullable=False),
    Column("event", String(40), nullable=False),
    # Empty once the delivery has succeeded or was given up.
    Column("body", LargeBinary, nullable=False),
    Column("status", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("response_code", Integer, nullable=True),
    Column("error", Text, nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("due_at", UtcDateTime, nullable=True),
    Column("finished_at", UtcDateTime, nullable=True),
    Index(None, "due_at"),
    Index(None, "webhook_id", "id"),
    sqlite_autoincrement=True,
)

# Definitions with `post_to_chat` whose events were announced: the next message is sent at `due_at`
# or later. A row is deleted when nothing more came until then. Nothing reads `count`, `since` and
# `until`.
event_announcements = Table(
    "event_announcements",
    metadata,
    Column(
        "definition_id",
        Uuid,
        ForeignKey("event_definitions.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("project_id", ID, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Column("until", UtcDateTime, nullable=False),
    Column("due_at", UtcDateTime, nullable=False, index=True),
)

# Their events that are still to be announced. `since` and `until` are when the first and the last
# of them were stored. `slot` is the first partition of a batch, which one server holds.
event_announcement_counts = Table(
    "event_announcement_counts",
    metadata,
    Column(
        "definition_id",
        Uuid,
        ForeignKey("event_definitions.id", ondelete="CASCADE"),
        nullable=False,
    ),
    Column("slot", Integer, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Column("until", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("definition_id", "slot"),
)
