"""Background loops that one server of an installation runs."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0015"
down_revision = "0014"
oldest_program = "0005"


def upgrade() -> None:
    op.create_table(
        "job_leases",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("holder", sa.String(length=40), nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_job_leases")),
    )
