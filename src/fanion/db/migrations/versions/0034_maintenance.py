"""Store what a command makes the servers do: to pause, or to stay paused after a move."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0034"
down_revision = "0033"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"


def upgrade() -> None:
    op.create_table(
        "maintenance",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_maintenance")),
    )
