"""Tables by which servers on one records store take turns. Their rows expire."""

from sqlalchemy import Column, String, Table

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import metadata

NAME_CHARS_MAX = 100
HOLDER_CHARS_MAX = 40

# Of background loops that one server runs.
job_leases = Table(
    "job_leases",
    metadata,
    Column("name", String(NAME_CHARS_MAX), primary_key=True),
    Column("holder", String(HOLDER_CHARS_MAX), nullable=False),
    Column("held_until", UtcDateTime, nullable=False),
)
