"""Schema compatibility."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
oldest_program = "0005"


def upgrade() -> None:
    op.create_table(
        "schema_compatibility",
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("oldest_program", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_schema_compatibility")),
    )
