"""Tables of cohorts, their members, and files of members that wait to be read."""

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
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.tables import ID, metadata

# `removed` of a member that was not removed.
NEVER = 2**62

# `version` is that of the members to be seen, `requested` the highest that was ever begun or
# asked for. `due_at` is when somebody has to calculate or import; whoever does holds `lease`.
cohorts = Table(
    "cohorts",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("name", String(400), nullable=True),
    Column("description", String(1000), nullable=False),
    Column("groups", Json, nullable=False),
    Column("filters", Json, nullable=True),
    Column("deleted", Boolean, nullable=False),
    Column("deleted_at", UtcDateTime, nullable=True),
    Column("is_static", Boolean, nullable=False),
    Column("is_calculating", Boolean, nullable=False),
    Column("count", BigInteger, nullable=True),
    Column("last_calculation", UtcDateTime, nullable=True),
    Column("errors_calculating", Integer, nullable=False),
    Column("last_error_message", Text, nullable=True),
    # {started_at, seconds, rows_read, members} of the last calculation that succeeded
    Column("last_run", Json, nullable=True),
    Column("version", BigInteger, nullable=False),
    Column("requested", BigInteger, nullable=False),
    Column("due_at", UtcDateTime, nullable=True),
    Column("lease", String(36), nullable=True),
    Column("lease_until", UtcDateTime, nullable=True),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "project_id", "created_at"),
    Index(None, "due_at"),
    Index(None, "deleted_at"),
    sqlite_autoincrement=True,
)

# A member is seen while added <= version of the cohort < removed.
cohort_people = Table(
    "cohort_people",
    metadata,
    Column("cohort_id", ID, ForeignKey("cohorts.id", ondelete="CASCADE"), nullable=False),
    Column("person_id", ID, ForeignKey("persons.id", ondelete="CASCADE"), nullable=False),
    Column("project_id", ID, nullable=False),
    Column("added", BigInteger, nullable=False),
    Column("removed", BigInteger, nullable=False),
    PrimaryKeyConstraint("cohort_id", "person_id"),
    Index(None, "person_id"),
)

# What a static cohort is still to be given: the text of an uploaded file, or another cohort's
# members. Removed in the transaction that shows them.
cohort_imports = Table(
    "cohort_imports",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("cohort_id", ID, ForeignKey("cohorts.id", ondelete="CASCADE"), nullable=False),
    Column("csv", LargeBinary, nullable=True),
    Column("source_id", ID, nullable=True),
    Index(None, "cohort_id"),
    sqlite_autoincrement=True,
)
