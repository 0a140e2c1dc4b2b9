"""The tables of batch exports and their runs."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

batch_exports = Table(
    "batch_exports",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False, index=True),
    Column("name", Text, nullable=False),
    # Bucket, region, prefix, endpoint and format, without the keys.
    Column("config", Json, nullable=False),
    # Signing needs them unhashed; no client reads them again.
    Column("aws_access_key_id", Text, nullable=False),
    Column("aws_secret_access_key", Text, nullable=False),
    Column("interval", String(10), nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("last_paused_at", UtcDateTime, nullable=True),
    # The start of the interval that is written next, which is due a moment after its end.
    Column("next_start", UtcDateTime, nullable=False),
    Column("due_at", UtcDateTime, nullable=False, index=True),
    Column("lease_until", UtcDateTime, nullable=True),
    # Why the interval could not be written; null since one was.
    Column("latest_error", Text, nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_updated_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

# The intervals that were written or tried, each once.
batch_export_runs = Table(
    "batch_export_runs",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("export_id", ID, ForeignKey("batch_exports.id", ondelete="CASCADE"), nullable=False),
    Column("data_interval_start", UtcDateTime, nullable=False),
    Column("data_interval_end", UtcDateTime, nullable=False),
    Column("status", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("records_completed", BigInteger, nullable=True),
    Column("bytes_exported", BigInteger, nullable=True),
    Column("latest_error", Text, nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_updated_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime, nullable=True),
    UniqueConstraint("export_id", "data_interval_start"),
    Index(None, "export_id", "id"),
    sqlite_autoincrement=True,
)
