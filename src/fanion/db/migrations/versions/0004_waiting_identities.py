"""Waiting identities."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0004"
down_revision = "0003"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "waiting_identities",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("distinct_id", sa.Text(), nullable=False),
        sa.Column("hash_keys", Json(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "distinct_id", name=op.f("pk_waiting_identities")),
    )
