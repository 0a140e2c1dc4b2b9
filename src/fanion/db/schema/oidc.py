"""Tables of sign-in by OpenID Connect: identities of users, and sign-ins that are under way."""

from sqlalchemy import Column, ForeignKey, PrimaryKeyConstraint, String, Table, Text

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import ID, metadata

ISSUER_CHARS_MAX = 500
SUBJECT_CHARS_MAX = 255  # source: OpenID Connect Core section 2, `sub`

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

# `state` of an authorization request until its callback. Nonce and PKCE verifier derive from the
# secret in the browser's cookie, of which only the hash is stored.
oidc_states = Table(
    "oidc_states",
    metadata,
    Column("hash", String(100), primary_key=True),
    Column("browser_hash", String(100), nullable=False),
    Column("return_path", Text, nullable=False),
    # Whose fresh sign-in is asked for; null at an ordinary sign-in.
    Column("user_id", ID, ForeignKey("users.id"), nullable=True),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)
