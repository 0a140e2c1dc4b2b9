"""Tables of signing in: sessions, and links for one use."""

from sqlalchemy import Column, ForeignKey, Index, String, Table, Text, Uuid

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import ID, metadata

HASH_CHARS_MAX = 100
METHOD_CHARS_MAX = 20
PURPOSE_CHARS_MAX = 40

# The id is public, the cookie's value is stored hashed. `rights` are the owner's levels at sign-in:
# a session ends when they change.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("hash", String(HASH_CHARS_MAX), nullable=False, unique=True),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    Column("method", String(METHOD_CHARS_MAX), nullable=False),
    Column("rights", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime, nullable=False, index=True),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    # The last time at which the user proved to be there.
    Column("authenticated_at", UtcDateTime, nullable=False),
)

# Each works once: it is deleted when it is used.
sign_in_links = Table(
    "sign_in_links",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("hash", String(HASH_CHARS_MAX), nullable=False, unique=True),
    Column("purpose", String(PURPOSE_CHARS_MAX), nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Index(None, "user_id", "purpose"),
)
