"""The installation has an id, by which its event store and its accept log are known."""

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
oldest_program = "0005"


def upgrade() -> None:
    installation = op.create_table(
        "installation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("event_store", sa.Uuid(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
    )
    op.bulk_insert(installation, [{"id": uuid4(), "event_store": None}])
