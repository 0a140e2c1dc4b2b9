"""The tables of experiments, their holdouts and their saved metrics."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

# Persons who are kept out of experiments, by the hash of their distinct ids.
experiment_holdouts = Table(
    "experiment_holdouts",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("name", String(400), nullable=False),
    Column("description", Text, nullable=True),
    # [{properties, rollout_percentage, variant}], as the flags of its experiments have it
    Column("filters", Json, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index(None, "project_id"),
    sqlite_autoincrement=True,
)

# Metrics that several experiments share.
experiment_saved_metrics = Table(
    "experiment_saved_metrics",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("name", String(400), nullable=False),
    Column("description", Text, nullable=True),
    Column("query", Json, nullable=False),
    Column("tags", Json, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index(None, "project_id"),
    sqlite_autoincrement=True,
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    # Null once a deleted flag was replaced by another one with its key.
    Column(
        "feature_flag_id",
        ID,
        ForeignKey("feature_flags.id", ondelete="SET NULL"),
        nullable=True,
        index=True,
    ),
    Column("feature_flag_key", String(400), nullable=False),
    Column("name", String(400), nullable=False),
    Column("description", Text, nullable=True),
    Column("start_date", UtcDateTime, nullable=True),
    Column("end_date", UtcDateTime, nullable=True),
    Column("parameters", Json, nullable=True),
    # Metrics are kept as sent, each with a `uuid`.
    Column("metrics", Json, nullable=False),
    Column("metrics_secondary", Json, nullable=False),
    Column("guardrail_metrics", Json, nullable=False),
    Column("primary_metrics_ordered_uuids", Json, nullable=True),
    Column("secondary_metrics_ordered_uuids", Json, nullable=True),
    Column("exposure_criteria", Json, nullable=True),
    Column("stats_config", Json, nullable=True),
    Column("type", String(20), nullable=False),
    Column("conclusion", String(20), nullable=True),
    Column("conclusion_comment", Text, nullable=True),
    Column("archived", Boolean, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("only_count_matured_users", Boolean, nullable=False),
    Column("exposure_cohort_id", ID, ForeignKey("cohorts.id", ondelete="SET NULL"), nullable=True),
    Column(
        "holdout_id",
        ID,
        ForeignKey("experiment_holdouts.id", ondelete="SET NULL"),
        nullable=True,
        index=True,
    ),
    # The oldest form of metrics, which is kept and not calculated.
    Column("filters", Json, nullable=False),
    Column("secondary_metrics", Json, nullable=False),
    # [{started_at, variants: {key: percentage}}], the last one is the current one
    Column("phases", Json, nullable=False),
    # It increases with every change by a user.
    Column("version", Integer, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    # The verdict that webhooks were told last, and when it was calculated; null before.
    Column("verdict", String(30), nullable=True),
    Column("verdict_variant", String(400), nullable=True),
    Column("verdict_sentence", Text, nullable=True),
    Column("verdict_exposures", BigInteger, nullable=True),
    # When the results were last calculated in the background, or the experiment was created.
    Column("checked_at", UtcDateTime, nullable=True, index=True),
    Column("lease_until", UtcDateTime, nullable=True),
    Index(None, "project_id", "created_at"),
    sqlite_autoincrement=True,
)

# The saved metrics of an experiment.
experiment_metric_links = Table(
    "experiment_metric_links",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("experiment_id", ID, ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    Column(
        "saved_metric_id",
        ID,
        ForeignKey("experiment_saved_metrics.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    # {type: primary | secondary | guardrail}
    Column("metadata", Json, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("experiment_id", "saved_metric_id"),
    sqlite_autoincrement=True,
)

# Guarded releases of flags. One of a flag is active; those that have ended are its history.
guarded_releases = Table(
    "guarded_releases",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("flag_id", ID, ForeignKey("feature_flags.id", ondelete="CASCADE"), nullable=False),
    Column("condition_index", Integer, nullable=False),
    # [{rollout_percentage, hold_minutes}]
    Column("steps", Json, nullable=False),
    Column("metrics", Json, nullable=False),
    Column("alpha", Float, nullable=False),
    Column("minimum_exposures", Integer, nullable=False),
    Column("on_regression", String(20), nullable=False),
    Column("on_too_few", String(20), nullable=False),
    Column("state", String(20), nullable=False),
    Column("reason", String(40), nullable=True),
    # The index of the current step.
    Column("step", Integer, nullable=False),
    # Of the condition set before the release; null for everyone.
    Column("former_percentage", Float, nullable=True),
    Column("started_at", UtcDateTime, nullable=False),
    Column("step_started_at", UtcDateTime, nullable=False),
    Column("held_since", UtcDateTime, nullable=True),
    Column("checked_at", UtcDateTime, nullable=True),
    # What the last check said of each metric.
    Column("harms", Json, nullable=False),
    # The sums of each passed step, which are not asked again.
    Column("sums", Json, nullable=False),
    Column("history", Json, nullable=False),
    # The time of the next check; null when nothing is left to do. A change moves it, so that the
    # outcome of a check begun before it is not written.
    Column("due_at", UtcDateTime, nullable=True),
    Column("lease_until", UtcDateTime, nullable=True),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index(None, "due_at"),
    Index(None, "flag_id"),
    sqlite_autoincrement=True,
)
