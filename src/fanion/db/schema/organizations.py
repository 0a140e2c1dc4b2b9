"""Tables of roles: members, access levels, and the flags that a role may edit."""

from sqlalchemy import (
    Column,
    ForeignKey,
    Integer,
    String,
    Table,
    UniqueConstraint,
    Uuid,
)

from fanion.db.columns import UtcDateTime
from fanion.db.schema.tables import ID, metadata

ROLE_NAME_CHARS_MAX = 200

roles = Table(
    "roles",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("organization_id", Uuid, ForeignKey("organizations.id"), nullable=False),
    Column("name", String(ROLE_NAME_CHARS_MAX), nullable=False),
    # The name as it is compared: without regard to case. Folding may make it longer.
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

# What an organization allows all members to do with a kind of resource. No row: everything.
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

# A flag that is removed for good, and a role, take their records along.
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
