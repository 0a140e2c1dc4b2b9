"""Copies of events, with the number of events, to compare with what the source counts."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0027"
down_revision = "0026"
oldest_program = "0005"


def upgrade() -> None:
    op.add_column("event_copies", sa.Column("copied_from", UtcDateTime(), nullable=True))
    op.add_column("event_copies", sa.Column("events", sa.BigInteger(), nullable=True))
