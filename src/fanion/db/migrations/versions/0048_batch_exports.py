"""Store batch exports to S3, and the intervals that they have written."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0048"
down_revision = "0047"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "batch_exports",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", Json(), nullable=False),
        sa.Column("aws_access_key_id", sa.Text(), nullable=False),
        sa.Column("aws_secret_access_key", sa.Text(), nullable=False),
        sa.Column("interval", sa.String(length=10), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("last_paused_at", UtcDateTime(), nullable=True),
        sa.Column("next_start", UtcDateTime(), nullable=False),
        sa.Column("due_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("latest_error", sa.Text(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch_exports")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_batch_exports_project_id"), "batch_exports", ["project_id"])
    op.create_index(op.f("ix_batch_exports_due_at"), "batch_exports", ["due_at"])
    _create_runs()


def _create_runs() -> None:
    op.create_table(
        "batch_export_runs",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("export_id", Id, nullable=False),
        sa.Column("data_interval_start", UtcDateTime(), nullable=False),
        sa.Column("data_interval_end", UtcDateTime(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("records_completed", sa.BigInteger(), nullable=True),
        sa.Column("bytes_exported", sa.BigInteger(), nullable=True),
        sa.Column("latest_error", sa.Text(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_updated_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["export_id"],
            ["batch_exports.id"],
            name=op.f("fk_batch_export_runs_export_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch_export_runs")),
        sa.UniqueConstraint(
            "export_id",
            "data_interval_start",
            name=op.f("uq_batch_export_runs_export_id_data_interval_start"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_batch_export_runs_export_id_id"), "batch_export_runs", ["export_id", "id"]
    )
