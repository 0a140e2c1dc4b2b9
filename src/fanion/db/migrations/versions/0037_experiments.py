"""Store experiments, with their holdouts and saved metrics."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0037"
down_revision = "0036"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "experiment_holdouts",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("filters", Json(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_experiment_holdouts_created_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment_holdouts")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("experiment_holdouts", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_experiment_holdouts_project_id"), ["project_id"], unique=False
        )

    op.create_table(
        "experiment_saved_metrics",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("query", Json(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_experiment_saved_metrics_created_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment_saved_metrics")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("experiment_saved_metrics", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_experiment_saved_metrics_project_id"), ["project_id"], unique=False
        )

    op.create_table(
        "experiments",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("feature_flag_id", Id, nullable=True),
        sa.Column("feature_flag_key", sa.String(length=400), nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("start_date", UtcDateTime(), nullable=True),
        sa.Column("end_date", UtcDateTime(), nullable=True),
        sa.Column("parameters", Json(), nullable=True),
        sa.Column("metrics", Json(), nullable=False),
        sa.Column("metrics_secondary", Json(), nullable=False),
        sa.Column("guardrail_metrics", Json(), nullable=False),
        sa.Column("primary_metrics_ordered_uuids", Json(), nullable=True),
        sa.Column("secondary_metrics_ordered_uuids", Json(), nullable=True),
        sa.Column("exposure_criteria", Json(), nullable=True),
        sa.Column("stats_config", Json(), nullable=True),
        sa.Column("type", sa.String(length=20), nullable=False),
        sa.Column("conclusion", sa.String(length=20), nullable=True),
        sa.Column("conclusion_comment", sa.Text(), nullable=True),
        sa.Column("archived", sa.Boolean(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("only_count_matured_users", sa.Boolean(), nullable=False),
        sa.Column("exposure_cohort_id", Id, nullable=True),
        sa.Column("holdout_id", Id, nullable=True),
        sa.Column("filters", Json(), nullable=False),
        sa.Column("secondary_metrics", Json(), nullable=False),
        sa.Column("phases", Json(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("verdict", sa.String(length=30), nullable=True),
        sa.Column("verdict_variant", sa.String(length=400), nullable=True),
        sa.Column("checked_at", UtcDateTime(), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_experiments_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["exposure_cohort_id"],
            ["cohorts.id"],
            name=op.f("fk_experiments_exposure_cohort_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["feature_flag_id"],
            ["feature_flags.id"],
            name=op.f("fk_experiments_feature_flag_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["holdout_id"],
            ["experiment_holdouts.id"],
            name=op.f("fk_experiments_holdout_id"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiments")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("experiments", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_experiments_checked_at"), ["checked_at"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_experiments_feature_flag_id"), ["feature_flag_id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_experiments_holdout_id"), ["holdout_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_experiments_project_id_created_at"),
            ["project_id", "created_at"],
            unique=False,
        )

    op.create_table(
        "experiment_metric_links",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("experiment_id", Id, nullable=False),
        sa.Column("saved_metric_id", Id, nullable=False),
        sa.Column("metadata", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"],
            ["experiments.id"],
            name=op.f("fk_experiment_metric_links_experiment_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["saved_metric_id"],
            ["experiment_saved_metrics.id"],
            name=op.f("fk_experiment_metric_links_saved_metric_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment_metric_links")),
        sa.UniqueConstraint(
            "experiment_id",
            "saved_metric_id",
            name=op.f("uq_experiment_metric_links_experiment_id_saved_metric_id"),
        ),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("experiment_metric_links", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_experiment_metric_links_saved_metric_id"),
            ["saved_metric_id"],
            unique=False,
        )
