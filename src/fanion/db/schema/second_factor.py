"""Tables of the second factor: secrets of authenticator apps, recovery codes, and sign-ins that
wait for a code."""

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, PrimaryKeyConstraint, String, Table

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import ID, metadata

# A secret is stored as it is: codes are computed from it.
second_factors = Table(
    "second_factors",
    metadata,
    Column("user_id", ID, ForeignKey("users.id"), primary_key=True, autoincrement=False),
    # Null until the first code has confirmed it.
    Column("secret", String(64), nullable=True),
    Column("confirmed_at", UtcDateTime, nullable=True),
    # Of the code that was accepted last; codes of this step and earlier ones are used up.
    Column("last_step", BigInteger, nullable=False),
    # Wrong codes in a row, and the time of the last one.
    Column("failures", Integer, nullable=False),
    Column("failed_at", UtcDateTime, nullable=True),
    # A secret that is being set up; the confirmed one stays valid meanwhile.
    Column("pending_secret", String(64), nullable=True),
    Column("pending_until", UtcDateTime, nullable=True),
)

# A code that was used is deleted.
recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("user_id", ID, ForeignKey("users.id"), nullable=False),
    Column("hash", String(100), nullable=False),
    PrimaryKeyConstraint("user_id", "hash"),
)

# The first factor has been accepted, the second one not yet. No session exists.
pending_sign_ins = Table(
    "pending_sign_ins",
    metadata,
    Column("hash", String(100), primary_key=True),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    # Of the first factor, as sessions have it.
    Column("method", String(20), nullable=False),
    # Wrong codes so far.
    Column("attempts", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)
