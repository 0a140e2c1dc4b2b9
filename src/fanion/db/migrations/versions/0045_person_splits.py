"""Store which distinct ids were split off persons, and whose events are still to follow."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json

revision = "0045"
down_revision = "0044"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "person_splits",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("moves", Json(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_person_splits")),
    )
    op.create_table(
        "split_ids",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("person", sa.Uuid(), nullable=False),
        sa.Column("replaced_by", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "person", name=op.f("pk_split_ids")),
    )
