"""Store links that show a dashboard to anyone with the link."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0033"
down_revision = "0032"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "dashboard_shares",
        sa.Column("dashboard_id", Id, autoincrement=False, nullable=False),
        sa.Column("token_hash", sa.String(length=100), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_dashboard_shares_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["dashboard_id"],
            ["dashboards.id"],
            name=op.f("fk_dashboard_shares_dashboard_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("dashboard_id", name=op.f("pk_dashboard_shares")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_dashboard_shares_token_hash")),
    )
