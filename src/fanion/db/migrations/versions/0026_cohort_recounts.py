"""Static cohorts whose members are to be counted again; all of them once, after this migration."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0024"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "cohort_recounts",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("cohort_id", Id, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohort_recounts")),
        sqlite_autoincrement=True,
    )
    op.execute(
        "INSERT INTO cohort_recounts (cohort_id) SELECT id FROM cohorts WHERE is_static ORDER BY id"
    )
