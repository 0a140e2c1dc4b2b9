"""Alerts on a number of a saved insight."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0014"
down_revision = "0013"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("insight_id", Id, nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("series_index", sa.Integer(), nullable=False),
        sa.Column("condition", sa.String(length=30), nullable=False),
        sa.Column("threshold", sa.Float(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("last_checked_at", UtcDateTime(), nullable=True),
        sa.Column("due_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["insight_id"],
            ["insights.id"],
            name=op.f("fk_alerts_insight_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_alerts_created_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_alerts_project_id"), "alerts", ["project_id"])
    op.create_index(op.f("ix_alerts_due_at"), "alerts", ["due_at"])
