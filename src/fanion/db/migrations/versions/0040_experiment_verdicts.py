"""Store the sentence and the exposures of an experiment's last verdict."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"


def upgrade() -> None:
    with op.batch_alter_table("experiments") as batch_op:
        batch_op.add_column(sa.Column("verdict_sentence", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("verdict_exposures", sa.BigInteger(), nullable=True))
