"""Delays between attempts to sign in, for all servers of an installation."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
oldest_program = "0005"


def upgrade() -> None:
    op.create_table(
        "sign_in_attempts",
        sa.Column("kind", sa.String(length=100), nullable=False),
        sa.Column("account", sa.String(length=100), nullable=False),
        sa.Column("network", sa.String(length=200), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.Float(), nullable=False),
        sa.Column("until_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "account", "network", name=op.f("pk_sign_in_attempts")),
    )
    op.create_index(op.f("ix_sign_in_attempts_expires_at"), "sign_in_attempts", ["expires_at"])
