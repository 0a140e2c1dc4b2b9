"""Store guarded releases of flags."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0038"
down_revision = "0037"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "guarded_releases",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("flag_id", Id, nullable=False),
        sa.Column("condition_index", sa.Integer(), nullable=False),
        sa.Column("steps", Json(), nullable=False),
        sa.Column("metrics", Json(), nullable=False),
        sa.Column("alpha", sa.Float(), nullable=False),
        sa.Column("minimum_exposures", sa.Integer(), nullable=False),
        sa.Column("on_regression", sa.String(length=20), nullable=False),
        sa.Column("on_too_few", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=True),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("former_percentage", sa.Float(), nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("step_started_at", UtcDateTime(), nullable=False),
        sa.Column("held_since", UtcDateTime(), nullable=True),
        sa.Column("checked_at", UtcDateTime(), nullable=True),
        sa.Column("harms", Json(), nullable=False),
        sa.Column("sums", Json(), nullable=False),
        sa.Column("history", Json(), nullable=False),
        sa.Column("due_at", UtcDateTime(), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_guarded_releases_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["flag_id"],
            ["feature_flags.id"],
            name=op.f("fk_guarded_releases_flag_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_guarded_releases")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("guarded_releases", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_guarded_releases_due_at"), ["due_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_guarded_releases_flag_id"), ["flag_id"], unique=False)
