"""Tables of flag evaluation: identities kept over a login, and keys that read definitions."""

from sqlalchemy import Column, ForeignKey, PrimaryKeyConstraint, String, Table, Text

from fanion.db.columns import UtcDateTime
from fanion.db.tables import ID, metadata

# The distinct id of before the login, which goes on deciding a flag. A person that is removed
# takes its records along.
flag_continuity = Table(
    "flag_continuity",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("person_id", ID, ForeignKey("persons.id", ondelete="CASCADE"), nullable=False),
    Column("flag_key", String(400), nullable=False),
    Column("hash_key", Text, nullable=False),
    PrimaryKeyConstraint("person_id", "flag_key"),
)

# At most one a project. Only its hash is kept; it reads flag definitions and nothing else.
project_secret_keys = Table(
    "project_secret_keys",
    metadata,
    Column("project_id", ID, ForeignKey("projects.id"), primary_key=True, autoincrement=False),
    Column("hash", String(100), nullable=False, unique=True),
    Column("mask_value", String(20), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)
