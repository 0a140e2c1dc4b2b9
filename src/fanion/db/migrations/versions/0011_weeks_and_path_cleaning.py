"""The day on which weeks begin, and rules that shorten the paths of pages."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json

revision = "0011"
down_revision = "0010"
oldest_program = "0005"


def upgrade() -> None:
    op.add_column("projects", sa.Column("week_start_day", sa.Integer(), nullable=True))
    op.add_column("projects", sa.Column("path_cleaning_filters", Json(), nullable=True))
