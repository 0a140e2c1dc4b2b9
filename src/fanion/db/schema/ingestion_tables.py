"""Tables that tell what became of every accepted item."""

from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, String, Table

from fanion.db.columns import Json
from fanion.db.schema.tables import ID, metadata

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

# The newest items of a project that met each outcome but being stored: a list, newest first.
ingestion_examples = Table(
    "ingestion_examples",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("outcome", String(40), nullable=False),
    Column("examples", Json, nullable=False),
    PrimaryKeyConstraint("project_id", "outcome"),
)
