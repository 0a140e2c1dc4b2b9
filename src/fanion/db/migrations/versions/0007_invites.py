"""Invites."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0007"
down_revision = "0006"
# Older programs take a viewer for a member, who may change things.
oldest_program = "0007"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "organization_invites",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("organization_id", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("target_email", sa.Text(), nullable=False),
        sa.Column("first_name", sa.Text(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("emailing_attempt_made", sa.Boolean(), nullable=False),
        sa.Column("created_by_id", Id, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_organization_invites_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_organization_invites_organization_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization_invites")),
        sa.UniqueConstraint("hash", name=op.f("uq_organization_invites_hash")),
        sa.UniqueConstraint(
            "organization_id",
            "target_email",
            name=op.f("uq_organization_invites_organization_id_target_email"),
        ),
    )
    op.create_index(
        op.f("ix_organization_invites_created_by_id"),
        "organization_invites",
        ["created_by_id"],
        unique=False,
    )
    op.create_table(
        "invite_roles",
        sa.Column("invite_id", sa.Uuid(), nullable=False),
        sa.Column("role_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["invite_id"],
            ["organization_invites.id"],
            name=op.f("fk_invite_roles_invite_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["role_id"], ["roles.id"], name=op.f("fk_invite_roles_role_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("invite_id", "role_id", name=op.f("pk_invite_roles")),
    )
    op.create_index(op.f("ix_invite_roles_role_id"), "invite_roles", ["role_id"], unique=False)
