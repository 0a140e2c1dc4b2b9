"""The tables of cohorts, their members, and uploaded members that are still to be read."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

# The value of `removed` for a member that was not removed.
NEVER = 2**62
# The value of `added` for a member that joins with the cohort's next version, whatever its number.
AWAITED = NEVER - 1

# `version` is that of the current members, `requested` the highest that was ever begun or
# requested. `due_at` is when a calculation or import is due; its worker holds `lease`.
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
    # {started_at, seconds, rows_read, members} of the last successful calculation, and `runs` with
    # the latest calculations of all outcomes; see cohorts/model.py.
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

# A member counts while added <= version of the cohort < removed.
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

# Static cohorts that have lost members: persons that were deleted, or merged into other members.
# Rows are only added, so that no transaction that adds one waits for another.
cohort_recounts = Table(
    "cohort_recounts",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("cohort_id", ID, nullable=False),
    sqlite_autoincrement=True,
)

# The members still to be added to a static cohort: the ids of an uploaded file, which lie in parts,
# the members that another cohort had in a version, or the persons that a query finds. Without a
# cohort it is still being uploaded, or is no longer needed.
cohort_imports = Table(
    "cohort_imports",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("cohort_id", ID, ForeignKey("cohorts.id", ondelete="CASCADE"), nullable=True),
    # The kind of the ids in its parts (distinct_id, person_id, email), or of the single text there
    # (a flag, an insight or a query); NULL for the members of another cohort.
    Column("kind", String(20), nullable=True),
    Column("source_id", ID, nullable=True),
    Column("source_version", BigInteger, nullable=True),
    Column("written_at", UtcDateTime, nullable=False),
    Index(None, "cohort_id"),
    Index(None, "source_id"),
    sqlite_autoincrement=True,
)

cohort_import_parts = Table(
    "cohort_import_parts",
    metadata,
    Column("import_id", ID, ForeignKey("cohort_imports.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("ids", Json, nullable=False),
    PrimaryKeyConstraint("import_id", "number"),
)
