"""Reads of several servers wait in order, with a share of each user."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0031"
down_revision = "0029"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column(
        "question_places", sa.Column("user_id", Id, nullable=False, server_default=sa.text("0"))
    )
    # Rows of earlier programs are those of reads that run.
    op.add_column(
        "question_places",
        sa.Column("is_waiting", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.add_column("question_places", sa.Column("since", UtcDateTime(), nullable=True))
