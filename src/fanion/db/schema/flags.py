"""Further tables of flags.

They hold identities kept across a login, keys that read definitions, scheduled changes, and checks
of rollback conditions.
"""

from sqlalchemy import Column, ForeignKey, Index, Integer, PrimaryKeyConstraint, String, Table, Text

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

# The distinct id from before the login, which continues to decide a flag. The rows of a person are
# deleted with the person.
flag_continuity = Table(
    "flag_continuity",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("person_id", ID, ForeignKey("persons.id", ondelete="CASCADE"), nullable=False),
    Column("flag_key", String(400), nullable=False),
    Column("hash_key", Text, nullable=False),
    PrimaryKeyConstraint("person_id", "flag_key"),
)

# Identities of distinct ids that no person owns yet. `hash_keys` maps a flag's key to the distinct
# id whose hash decides it. `size_bytes` is the row's, for the limit of a project.
waiting_identities = Table(
    "waiting_identities",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("distinct_id", Text, nullable=False),
    Column("hash_keys", Json, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("project_id", "distinct_id"),
)

# At most one key per project, stored only as a hash. It reads flag definitions and nothing else.
project_secret_keys = Table(
    "project_secret_keys",
    metadata,
    Column("project_id", ID, ForeignKey("projects.id"), primary_key=True, autoincrement=False),
    Column("hash", String(100), nullable=False, unique=True),
    Column("mask_value", String(20), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

# Replaced secret keys, which are accepted until `valid_until`.
former_secret_keys = Table(
    "former_secret_keys",
    metadata,
    Column("hash", String(100), primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id"), nullable=False, index=True),
    Column("mask_value", String(20), nullable=False),
    Column("valid_until", UtcDateTime, nullable=False),
)

# The changes of a flag are deleted with the flag.
scheduled_changes = Table(
    "scheduled_changes",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("flag_id", ID, ForeignKey("feature_flags.id", ondelete="CASCADE"), nullable=False),
    Column("payload", Json, nullable=False),
    # [{scheduled_at, value, executed_at}], by time
    Column("steps", Json, nullable=False),
    # The time of the next step; null when nothing is left to do.
    Column("due_at", UtcDateTime, nullable=True),
    # When the last step was executed.
    Column("executed_at", UtcDateTime, nullable=True),
    Column("failure_reason", Text, nullable=True),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "due_at"),
    Index(None, "flag_id"),
    sqlite_autoincrement=True,
)

# Flags that are switched on and have rollback conditions. `checked_at` is when these were last
# checked, or began to be watched; the server that checks them holds the lease.
flag_rollback_checks = Table(
    "flag_rollback_checks",
    metadata,
    Column(
        "flag_id",
        ID,
        ForeignKey("feature_flags.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("project_id", ID, nullable=False),
    Column("checked_at", UtcDateTime, nullable=False, index=True),
    Column("lease_until", UtcDateTime, nullable=True),
)
