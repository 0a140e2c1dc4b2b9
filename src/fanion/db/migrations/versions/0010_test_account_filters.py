"""Conditions that leave out test accounts."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json

revision = "0010"
down_revision = "0009"
oldest_program = "0005"


def upgrade() -> None:
    op.add_column("projects", sa.Column("test_account_filters", Json(), nullable=True))
