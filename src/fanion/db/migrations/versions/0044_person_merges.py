"""Store what was merged into which person, and who asked for it."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0044"
down_revision = "0043"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "person_merges",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("person", sa.Uuid(), nullable=False),
        sa.Column("other_person", sa.Uuid(), nullable=True),
        sa.Column("distinct_ids", Json(), nullable=False),
        sa.Column("distinct_ids_count", sa.Integer(), nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("event_uuid", sa.Uuid(), nullable=True),
        sa.Column("event", sa.Text(), nullable=True),
        sa.Column("distinct_id", sa.Text(), nullable=True),
        sa.Column("timestamp", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person_merges")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_person_merges_project_id_person"), "person_merges", ["project_id", "person"]
    )
    op.create_index(
        op.f("ix_person_merges_project_id_other_person"),
        "person_merges",
        ["project_id", "other_person"],
    )
    op.create_table(
        "merge_authors",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("event_uuid", sa.Uuid(), nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "event_uuid", name=op.f("pk_merge_authors")),
    )
