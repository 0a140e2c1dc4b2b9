"""Store how many days a project keeps its events."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"


def upgrade() -> None:
    with op.batch_alter_table("projects") as batch_op:
        batch_op.add_column(sa.Column("events_kept_days", sa.Integer(), nullable=True))
