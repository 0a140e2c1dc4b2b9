"""The tables of deleted and merged persons, and of changes to send to the event store."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    Uuid,
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

# The highest version that a deleted person of the project has had. A new or returning person starts
# above it, so that no older row wins in the event store.
person_floors = Table(
    "person_floors",
    metadata,
    Column("project_id", ID, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
)

# The source of the versions of persons, groups and overrides, one for each batch or edit. On
# PostgreSQL they come from the column's sequence, and the table has no row. SQLite, which one
# process writes, keeps one row: the greatest number that it has reserved.
mirror_versions = Table(
    "mirror_versions",
    metadata,
    Column("version", ID, primary_key=True, autoincrement=True),
    sqlite_autoincrement=True,
)

# The changes of persons, overrides and groups in a transaction that the event store may not have
# been told yet. `version` is that of all these rows, and unique. `persons` has their UUIDs, 16
# bytes each, including merged ones. `groups` has pairs of type index and key.
mirror_outbox = Table(
    "mirror_outbox",
    metadata,
    Column("version", ID, primary_key=True, autoincrement=False),
    Column("project_id", ID, nullable=False),
    Column("persons", LargeBinary, nullable=False),
    Column("groups", Json, nullable=False),
)

# Deletions that are not finished everywhere. The row is deleted with the last trace of the person.
person_erasures = Table(
    "person_erasures",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    # The person and those merged into it, as text.
    Column("persons", Json, nullable=False),
    Column("distinct_ids", Json, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("with_events", Boolean, nullable=False),
    # The deletion covers what was accepted up to this time.
    Column("requested_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime, nullable=True),
    Index(None, "project_id"),
    sqlite_autoincrement=True,
)

# What was merged into which person, the oldest first. `event_uuid` and what follows it are null
# for ids that were split off a person by request: `person` is then the one that they left.
person_merges = Table(
    "person_merges",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # As they were then: either may have been merged since.
    Column("person", Uuid, nullable=False),
    # The other person of the change; null if a distinct id came that had none.
    Column("other_person", Uuid, nullable=True),
    # The first distinct ids that changed their person, and the number of all.
    Column("distinct_ids", Json, nullable=False),
    Column("distinct_ids_count", Integer, nullable=False),
    # Who asked for a split; of a merge by request `merge_authors` names the user.
    Column("user_id", ID, nullable=True),
    Column("event_uuid", Uuid, nullable=True),
    Column("event", Text, nullable=True),
    Column("distinct_id", Text, nullable=True),
    Column("timestamp", UtcDateTime, nullable=True),
    Index(None, "project_id", "person"),
    # Only splits are looked for by it; an index of these alone would load PostgreSQL's dialect.
    Index(None, "project_id", "other_person"),
    sqlite_autoincrement=True,
)

# The users who asked for merges by request, by the event that makes the merge.
merge_authors = Table(
    "merge_authors",
    metadata,
    Column("project_id", ID, primary_key=True, autoincrement=False),
    Column("event_uuid", Uuid, primary_key=True),
    Column("user_id", ID, nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
)

# Events that are still to be given to persons that were split off, a row for each project. `moves`
# has the person, as text, of each distinct id; a later split of an id replaces the earlier one.
person_splits = Table(
    "person_splits",
    metadata,
    Column("project_id", ID, primary_key=True, autoincrement=False),
    Column("moves", Json, nullable=False),
    # That of the last split.
    Column("version", BigInteger, nullable=False),
)

# Distinct ids that were split off, as the UUIDs that persons created for them would have: those
# belong to others. If such an id is without a person, its next one gets `replaced_by`.
split_ids = Table(
    "split_ids",
    metadata,
    Column("project_id", ID, primary_key=True, autoincrement=False),
    Column("person", Uuid, primary_key=True),
    Column("replaced_by", Uuid, nullable=False),
)

# The person of each UUID. In SQLite this is a view of `persons`; in PostgreSQL it is a table, with
# the constraints that the partitions of `persons` cannot have (decision 20). So no migration
# compares it with this.
person_keys = Table(
    "person_keys",
    MetaData(),
    Column("person_id", ID, primary_key=True),
    Column("project_id", ID, nullable=False),
    Column("uuid", Uuid, nullable=False),
)
