"""Dashboards are calculated again by schedule while they are looked at."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0013"
down_revision = "0012"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "dashboard_refreshes",
        sa.Column("dashboard_id", Id, autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("viewed_at", UtcDateTime(), nullable=False),
        sa.Column("refreshed_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["dashboard_id"],
            ["dashboards.id"],
            name=op.f("fk_dashboard_refreshes_dashboard_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("dashboard_id", name=op.f("pk_dashboard_refreshes")),
    )
    op.create_index(
        op.f("ix_dashboard_refreshes_refreshed_at"), "dashboard_refreshes", ["refreshed_at"]
    )
