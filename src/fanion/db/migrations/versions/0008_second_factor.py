"""Second factor."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0008"
down_revision = "0007"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "second_factors",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=True),
        sa.Column("confirmed_at", UtcDateTime(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", UtcDateTime(), nullable=True),
        sa.Column("pending_secret", sa.String(length=64), nullable=True),
        sa.Column("pending_until", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_second_factors_user_id")),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_second_factors")),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("user_id", Id, nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_recovery_codes_user_id")),
        sa.PrimaryKeyConstraint("user_id", "hash", name=op.f("pk_recovery_codes")),
    )
    op.create_table(
        "pending_sign_ins",
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("method", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_pending_sign_ins_user_id")
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_pending_sign_ins")),
    )
    op.create_index(
        op.f("ix_pending_sign_ins_user_id"), "pending_sign_ins", ["user_id"], unique=False
    )
    op.create_index(
        op.f("ix_pending_sign_ins_expires_at"), "pending_sign_ins", ["expires_at"], unique=False
    )
    op.add_column("organizations", sa.Column("enforce_2fa", sa.Boolean(), nullable=True))
