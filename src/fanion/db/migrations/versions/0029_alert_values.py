"""Values of breakdowns that alerts follow."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json

revision = "0029"
down_revision = "0027"
oldest_program = "0005"


def upgrade() -> None:
    op.add_column("alerts", sa.Column("breakdown_value", Json(), nullable=True))
