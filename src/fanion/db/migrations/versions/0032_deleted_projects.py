"""Note deleted projects until nothing is left of them, and how long activity is kept."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0032"
down_revision = "0031"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "project_deletions",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("organization_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("requested_at", UtcDateTime(), nullable=False),
        sa.Column("swept_at", UtcDateTime(), nullable=True),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_project_deletions")),
    )
    with op.batch_alter_table("organizations") as batch_op:
        batch_op.add_column(sa.Column("activity_kept_days", sa.Integer(), nullable=True))
