"""Events to be announced, which each server that ingests counts in rows of its own."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0024"
down_revision = "0023"
oldest_program = "0005"


def upgrade() -> None:
    op.create_table(
        "event_announcement_counts",
        sa.Column("definition_id", sa.Uuid(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["definition_id"],
            ["event_definitions.id"],
            name=op.f("fk_event_announcement_counts_definition_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("definition_id", "slot", name=op.f("pk_event_announcement_counts")),
    )
