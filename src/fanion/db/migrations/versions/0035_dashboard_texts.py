"""Store texts on dashboards, when dashboards were changed, and the dashboard on the home page."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0035"
down_revision = "0034"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"
# Columns that may now be null, and why older programs do not meet that.
relaxed = {
    "dashboard_tiles.insight_id": "They look for tiles by insights, and so see none without one."
}

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("dashboard_tiles", copy_from=_former_tiles()) as batch_op:
        batch_op.alter_column("insight_id", existing_type=Id, nullable=True)
        batch_op.add_column(sa.Column("body", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("last_modified_by_id", Id, nullable=True))
        batch_op.add_column(sa.Column("last_modified_at", UtcDateTime(), nullable=True))
        batch_op.create_foreign_key(
            op.f("fk_dashboard_tiles_last_modified_by_id"), "users", ["last_modified_by_id"], ["id"]
        )
    with op.batch_alter_table("dashboards") as batch_op:
        batch_op.add_column(sa.Column("last_modified_at", UtcDateTime(), nullable=True))
    with op.batch_alter_table("projects") as batch_op:
        batch_op.add_column(sa.Column("primary_dashboard", Id, nullable=True))


def _former_tiles() -> sa.Table:
    """Return the table as it is, which SQLite copies row by row to make a column nullable."""
    return sa.Table(
        "dashboard_tiles",
        sa.MetaData(),
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("dashboard_id", Id, nullable=False),
        sa.Column("insight_id", Id, nullable=False),
        sa.Column("layouts", Json(), nullable=False),
        sa.Column("color", sa.String(length=400), nullable=True),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dashboard_id"],
            ["dashboards.id"],
            name=op.f("fk_dashboard_tiles_dashboard_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["insight_id"],
            ["insights.id"],
            name=op.f("fk_dashboard_tiles_insight_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dashboard_tiles")),
        sa.UniqueConstraint(
            "dashboard_id", "insight_id", name=op.f("uq_dashboard_tiles_dashboard_id_insight_id")
        ),
        sa.Index(op.f("ix_dashboard_tiles_insight_id"), "insight_id"),
        sqlite_autoincrement=True,
    )
