"""The tables of events and their properties, in addition to `event_definitions`."""

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
    UniqueConstraint,
    Uuid,
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

# What users say about an event: also verified or hidden. An event without a row is neither.
event_marks = Table(
    "event_marks",
    metadata,
    Column(
        "definition_id",
        Uuid,
        ForeignKey("event_definitions.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("hidden", Boolean, nullable=False),
    Column("verified", Boolean, nullable=False),
    Column("description", Text, nullable=True),
    Column("owner_id", ID, ForeignKey("users.id"), nullable=True),
    Column("verified_at", UtcDateTime, nullable=True),
    Column("verified_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("updated_by_id", ID, ForeignKey("users.id"), nullable=True),
)

property_definitions = Table(
    "property_definitions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("project_id", ID, nullable=False),
    Column("name", Text, nullable=False),
    # Null until the first value; never changed afterwards.
    Column("property_type", String(20), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("project_id", "name"),
)

# The properties of persons (with the index -1) and of the groups of a type.
actor_properties = Table(
    "actor_properties",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("project_id", ID, nullable=False),
    Column("group_type_index", Integer, nullable=False),
    Column("name", Text, nullable=False),
    # As in `property_definitions`.
    Column("property_type", String(20), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("project_id", "group_type_index", "name"),
)

# What users say about a property of events, persons or groups; most have no row.
property_marks = Table(
    "property_marks",
    metadata,
    # An id of `property_definitions` or of `actor_properties`.
    Column("definition_id", Uuid, primary_key=True),
    Column("project_id", ID, nullable=False, index=True),
    Column("description", Text, nullable=True),
    Column("tags", Json, nullable=True),
    Column("owner_id", ID, ForeignKey("users.id"), nullable=True),
    Column("hidden", Boolean, nullable=False),
    Column("verified", Boolean, nullable=False),
    Column("verified_at", UtcDateTime, nullable=True),
    Column("verified_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("updated_at", UtcDateTime, nullable=True),
    Column("updated_by_id", ID, ForeignKey("users.id"), nullable=True),
)

# The properties that occur in each event. Rows stay when a definition is deleted, as its events do.
event_properties = Table(
    "event_properties",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("event", Text, nullable=False),
    Column("property", Text, nullable=False),
    PrimaryKeyConstraint("project_id", "event", "property"),
    Index(None, "project_id", "property"),
)


# Named unions of events with conditions.
actions = Table(
    "actions",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("name", String(400), nullable=False),
    Column("description", Text, nullable=False),
    Column("tags", Json, nullable=False),
    Column("steps", Json, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index(None, "project_id", "name"),
    sqlite_autoincrement=True,
)

# Numbers of items by the minute in which they were accepted, and by outcome. Only finished items
# count: one that still waits in the accept log is not here.
ingestion_ledger = Table(
    "ingestion_ledger",
    metadata,
    Column("project_id", ID, nullable=False),
    # The minute of the Unix epoch. Old rows are summed up into the first minute of their hour.
    Column("minute", BigInteger, nullable=False, index=True),
    Column("outcome", String(40), nullable=False),
    Column("items", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "minute", "outcome"),
)

# The counts of several servers that ingest: each writes rows of its own, which are added to the
# ledger when their minute is over. `slot` is the first partition of a batch, which one server
# holds.
ingestion_counts = Table(
    "ingestion_counts",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("minute", BigInteger, nullable=False),
    Column("outcome", String(40), nullable=False),
    Column("slot", Integer, nullable=False),
    Column("items", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "minute", "outcome", "slot"),
)

# The newest items of a project for each outcome except being stored: a list, newest first.
ingestion_examples = Table(
    "ingestion_examples",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("outcome", String(40), nullable=False),
    Column("examples", Json, nullable=False),
    PrimaryKeyConstraint("project_id", "outcome"),
)
