"""Store annotations."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0042"
down_revision = "0041"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "annotations",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("date_marker", UtcDateTime(), nullable=False),
        sa.Column("creation_type", sa.String(length=3), nullable=False),
        sa.Column("scope", sa.String(length=24), nullable=False),
        sa.Column("dashboard_item", Id, nullable=True),
        sa.Column("dashboard_id", Id, nullable=True),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_annotations_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["dashboard_id"],
            ["dashboards.id"],
            name=op.f("fk_annotations_dashboard_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["dashboard_item"],
            ["insights.id"],
            name=op.f("fk_annotations_dashboard_item"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotations")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("annotations", schema=None) as batch_op:
        for columns in (["project_id", "date_marker"], ["dashboard_item"], ["dashboard_id"]):
            name = batch_op.f(f"ix_annotations_{'_'.join(columns)}")
            batch_op.create_index(name, columns, unique=False)
