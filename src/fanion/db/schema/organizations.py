"""The tables of roles, with members, access levels and the flags they may edit, and of invites."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import ID, metadata

ROLE_NAME_CHARS_MAX = 200
INVITE_HASH_CHARS_MAX = 100

roles = Table(
    "roles",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("organization_id", Uuid, ForeignKey("organizations.id"), nullable=False),
    Column("name", String(ROLE_NAME_CHARS_MAX), nullable=False),
    # The name used to compare, without regard to case. Folding may make it longer.
    Column("folded_name", String(3 * ROLE_NAME_CHARS_MAX), nullable=False),
    Column("feature_flags_access_level", Integer, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("organization_id", "folded_name"),
)

role_memberships = Table(
    "role_memberships",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("role_id", Uuid, ForeignKey("roles.id", ondelete="CASCADE"), nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    Column("joined_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("role_id", "user_id"),
)

# What an organization allows all members to do with a kind of resource. Without a row everything is
# allowed.
resource_access = Table(
    "resource_access",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("organization_id", Uuid, ForeignKey("organizations.id"), nullable=False),
    Column("resource", String(40), nullable=False),
    Column("access_level", Integer, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("organization_id", "resource"),
    sqlite_autoincrement=True,
)

# The rows of a flag are deleted with the flag, and those of a role with the role.
flag_role_access = Table(
    "flag_role_access",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("flag_id", ID, ForeignKey("feature_flags.id", ondelete="CASCADE"), nullable=False),
    Column("role_id", Uuid, ForeignKey("roles.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("added_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("flag_id", "role_id"),
    sqlite_autoincrement=True,
)

# Invites that can be accepted, and expired ones: an invite is deleted when it is accepted. Only the
# hash of its link is stored.
organization_invites = Table(
    "organization_invites",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column(
        "organization_id", Uuid, ForeignKey("organizations.id", ondelete="CASCADE"), nullable=False
    ),
    Column("hash", String(INVITE_HASH_CHARS_MAX), nullable=False, unique=True),
    Column("target_email", Text, nullable=False),
    Column("first_name", Text, nullable=False),
    Column("level", Integer, nullable=False),
    Column("message", Text, nullable=False),
    Column("emailing_attempt_made", Boolean, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    UniqueConstraint("organization_id", "target_email"),
)

# The roles that the invited person gets, without roles deleted since.
invite_roles = Table(
    "invite_roles",
    metadata,
    Column(
        "invite_id",
        Uuid,
        ForeignKey("organization_invites.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column(
        "role_id", Uuid, ForeignKey("roles.id", ondelete="CASCADE"), primary_key=True, index=True
    ),
)
