"""Store until when an alert is snoozed."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0039"
down_revision = "0038"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"


def upgrade() -> None:
    with op.batch_alter_table("alerts") as batch_op:
        batch_op.add_column(sa.Column("snoozed_until", UtcDateTime(), nullable=True))
