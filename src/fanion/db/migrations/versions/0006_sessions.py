"""Sessions and sign-in links."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0006"
down_revision = "0005"
# Older programs leave these tables alone.
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("method", sa.String(length=20), nullable=False),
        sa.Column("rights", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("authenticated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("hash", name=op.f("uq_sessions_hash")),
    )
    for column in ("user_id", "last_used_at", "expires_at"):
        op.create_index(op.f(f"ix_sessions_{column}"), "sessions", [column], unique=False)
    op.create_table(
        "sign_in_links",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("purpose", sa.String(length=40), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sign_in_links_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_links")),
        sa.UniqueConstraint("hash", name=op.f("uq_sign_in_links_hash")),
    )
    op.create_index(
        op.f("ix_sign_in_links_expires_at"), "sign_in_links", ["expires_at"], unique=False
    )
    op.create_index(
        op.f("ix_sign_in_links_user_id_purpose"),
        "sign_in_links",
        ["user_id", "purpose"],
        unique=False,
    )
