"""Counts of the ledger that each server which ingests writes into rows of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "ingestion_counts",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("items", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "minute", "outcome", "slot", name=op.f("pk_ingestion_counts")
        ),
    )
