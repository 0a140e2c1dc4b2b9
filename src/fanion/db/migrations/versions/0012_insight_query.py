"""Insights that are asked by a query."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json

revision = "0012"
down_revision = "0011"
oldest_program = "0005"


def upgrade() -> None:
    op.add_column("insights", sa.Column("query", Json(), nullable=True))
