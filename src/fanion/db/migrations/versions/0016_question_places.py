"""Limits on questions and their cancellation, for all servers of an installation."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0016"
down_revision = "0015"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "question_places",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=100), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_question_places")),
    )
    op.create_index(op.f("ix_question_places_kind"), "question_places", ["kind"])
    op.create_table(
        "query_cancellations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("requested_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_query_cancellations")),
    )
    op.create_index(
        op.f("ix_query_cancellations_requested_at"), "query_cancellations", ["requested_at"]
    )
