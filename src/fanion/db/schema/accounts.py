"""The tables of sign-in: sessions, one-time links, second factors, OpenID Connect."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    Uuid,
)

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import ID, metadata

HASH_CHARS_MAX = 100
METHOD_CHARS_MAX = 20
PURPOSE_CHARS_MAX = 40

# The id is public; the cookie's value is stored only as a hash. `rights` are the owner's levels at
# sign-in: a session ends when they change.
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
    # When the user last proved who they are.
    Column("authenticated_at", UtcDateTime, nullable=False),
)

# A link works once: it is deleted when it is used.
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


# The secret is stored unhashed, because codes are computed from it.
second_factors = Table(
    "second_factors",
    metadata,
    Column("user_id", ID, ForeignKey("users.id"), primary_key=True, autoincrement=False),
    # Null until the first code has confirmed it.
    Column("secret", String(64), nullable=True),
    Column("confirmed_at", UtcDateTime, nullable=True),
    # The step of the last accepted code. Codes of this step and of earlier ones are used up.
    Column("last_step", BigInteger, nullable=False),
    # Wrong codes in a row, and the time of the last one.
    Column("failures", Integer, nullable=False),
    Column("failed_at", UtcDateTime, nullable=True),
    # A secret that is being set up; the confirmed one stays valid meanwhile.
    Column("pending_secret", String(64), nullable=True),
    Column("pending_until", UtcDateTime, nullable=True),
)

# A code is deleted when it is used.
recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("user_id", ID, ForeignKey("users.id"), nullable=False),
    Column("hash", String(100), nullable=False),
    PrimaryKeyConstraint("user_id", "hash"),
)

# Sign-ins whose first factor has been accepted and whose second has not. No session exists yet.
pending_sign_ins = Table(
    "pending_sign_ins",
    metadata,
    Column("hash", String(100), primary_key=True),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    # The method of the first factor, as in `sessions`.
    Column("method", String(20), nullable=False),
    # The number of wrong codes so far.
    Column("attempts", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)


ISSUER_CHARS_MAX = 500
SUBJECT_CHARS_MAX = 255  # OpenID Connect Core section 2, `sub`

oidc_identities = Table(
    "oidc_identities",
    metadata,
    Column("issuer", String(ISSUER_CHARS_MAX), nullable=False),
    Column("subject", String(SUBJECT_CHARS_MAX), nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("issuer", "subject"),
)

# The `state` of an authorization request until its callback. Nonce and PKCE verifier derive from
# the secret in the browser's cookie, of which only the hash is stored.
oidc_states = Table(
    "oidc_states",
    metadata,
    Column("hash", String(100), primary_key=True),
    Column("browser_hash", String(100), nullable=False),
    Column("return_path", Text, nullable=False),
    # The user whose fresh sign-in is requested; null for an ordinary sign-in.
    Column("user_id", ID, ForeignKey("users.id"), nullable=True),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)
