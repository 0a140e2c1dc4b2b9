"""Tables about events and their properties, in addition to `event_definitions`."""

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

# Verified or hidden events; without a row it is neither.
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

# Which events carry which property. Rows stay when a definition is deleted, as its events do.
event_properties = Table(
    "event_properties",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("event", Text, nullable=False),
    Column("property", Text, nullable=False),
    PrimaryKeyConstraint("project_id", "event", "property"),
    Index(None, "project_id", "property"),
)


# Items by the minute in which they were accepted and by what became of them. Only what is done
# counts: an item that still waits in the accept log has no place here.
ingestion_ledger = Table(
    "ingestion_ledger",
    metadata,
    Column("project_id", ID, nullable=False),
    # Of the Unix epoch; old rows are summed up into the first minute of their hour.
    Column("minute", BigInteger, nullable=False, index=True),
    Column("outcome", String(40), nullable=False),
    Column("items", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "minute", "outcome"),
)

# The same, of several servers that ingest: each writes rows of its own, which are added to the
# ledger when their minute is over. slot: the first partition of a batch, which one server holds.
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

# The newest items of a project that met each outcome but being stored: a list, newest first.
ingestion_examples = Table(
    "ingestion_examples",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("outcome", String(40), nullable=False),
    Column("examples", Json, nullable=False),
    PrimaryKeyConstraint("project_id", "outcome"),
)
