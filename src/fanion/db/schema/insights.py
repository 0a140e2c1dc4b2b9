"""The tables of insights, dashboards and calculated results, and of flags' evaluations."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Float,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from fanion.db.columns import Json, UtcDateTime
from fanion.db.schema.tables import ID, metadata

dashboards = Table(
    "dashboards",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("name", String(400), nullable=False),
    Column("description", Text, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("filters", Json, nullable=False),
    Column("tags", Json, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("restriction_level", Integer, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    # Null until the dashboard is changed; changes of its tiles do not count.
    Column("last_modified_at", UtcDateTime, nullable=True),
    Index(None, "project_id", "name"),
    sqlite_autoincrement=True,
)

insights = Table(
    "insights",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("short_id", String(12), nullable=False),
    Column("name", String(400), nullable=True),
    Column("derived_name", String(400), nullable=True),
    Column("description", Text, nullable=False),
    # Both are kept exactly as sent; one of them is empty.
    Column("filters", Json, nullable=False),
    Column("query", Json, nullable=True),
    Column("tags", Json, nullable=False),
    Column("favorited", Boolean, nullable=False),
    Column("saved", Boolean, nullable=False),
    Column("is_sample", Boolean, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_modified_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("last_modified_at", UtcDateTime, nullable=False),
    UniqueConstraint("project_id", "short_id"),
    Index(None, "project_id", "created_at"),
    sqlite_autoincrement=True,
)

# A tile shows an insight or a text.
dashboard_tiles = Table(
    "dashboard_tiles",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("dashboard_id", ID, ForeignKey("dashboards.id", ondelete="CASCADE"), nullable=False),
    Column("insight_id", ID, ForeignKey("insights.id", ondelete="CASCADE"), nullable=True),
    Column("layouts", Json, nullable=False),
    Column("color", String(400), nullable=True),
    Column("deleted", Boolean, nullable=False),
    Column("body", Text, nullable=True),
    # Of the text; null for tiles with insights.
    Column("last_modified_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("last_modified_at", UtcDateTime, nullable=True),
    UniqueConstraint("dashboard_id", "insight_id"),
    Index(None, "insight_id"),
    sqlite_autoincrement=True,
)

# Links that show a dashboard to anyone with the link.
dashboard_shares = Table(
    "dashboard_shares",
    metadata,
    Column(
        "dashboard_id",
        ID,
        ForeignKey("dashboards.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("token_hash", String(100), nullable=False, unique=True),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
)

# When dashboards were last looked at, and when they were calculated by schedule.
dashboard_refreshes = Table(
    "dashboard_refreshes",
    metadata,
    Column(
        "dashboard_id",
        ID,
        ForeignKey("dashboards.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("project_id", ID, nullable=False),
    Column("viewed_at", UtcDateTime, nullable=False),
    Column("refreshed_at", UtcDateTime, nullable=False),
    Column("lease_until", UtcDateTime, nullable=True),
    Index(None, "refreshed_at"),
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("insight_id", ID, ForeignKey("insights.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(400), nullable=False),
    Column("series_index", Integer, nullable=False),
    Column("breakdown_value", Json, nullable=True),
    Column("condition", String(30), nullable=False),
    Column("threshold", Float, nullable=False),
    Column("enabled", Boolean, nullable=False),
    # Ids of the users who get mails; null for none.
    Column("subscribed_users", Json, nullable=True),
    # It is not checked before; `due_at` is then the same time.
    Column("snoozed_until", UtcDateTime, nullable=True),
    Column("state", String(20), nullable=False),
    Column("value", Float, nullable=True),
    Column("error", Text, nullable=True),
    Column("last_checked_at", UtcDateTime, nullable=True),
    # A change moves this time, so that the outcome of a check begun before it is not written.
    Column("due_at", UtcDateTime, nullable=False),
    Column("lease_until", UtcDateTime, nullable=True),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index(None, "project_id"),
    Index(None, "due_at"),
    sqlite_autoincrement=True,
)

# The last checks of each alert.
alert_checks = Table(
    "alert_checks",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("alert_id", ID, ForeignKey("alerts.id", ondelete="CASCADE"), nullable=False),
    Column("checked_at", UtcDateTime, nullable=False),
    Column("state", String(20), nullable=False),
    Column("value", Float, nullable=True),
    Column("error", Text, nullable=True),
    # How many webhook deliveries and mails the check has caused.
    Column("webhooks", Integer, nullable=False),
    Column("mails", Integer, nullable=False),
    Index(None, "project_id"),
    Index(None, "alert_id", "id"),
    sqlite_autoincrement=True,
)

# Mails about alerts that are still to be sent. A row is deleted once its mail is sent or given up.
alert_mails = Table(
    "alert_mails",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("alert_id", ID, ForeignKey("alerts.id", ondelete="CASCADE"), nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("lease_until", UtcDateTime, nullable=True),
    Index(None, "project_id"),
    Index(None, "alert_id"),
    Index(None, "created_at"),
    sqlite_autoincrement=True,
)

# Notes about a moment, which charts show.
annotations = Table(
    "annotations",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("content", Text, nullable=False),
    Column("date_marker", UtcDateTime, nullable=False),
    # USR, GIT
    Column("creation_type", String(3), nullable=False),
    # dashboard_item, dashboard, project, organization
    Column("scope", String(24), nullable=False),
    # The insight, in the API's words.
    Column(
        "dashboard_item",
        ID,
        ForeignKey("insights.id", ondelete="SET NULL"),
        nullable=True,
        index=True,
    ),
    Column(
        "dashboard_id",
        ID,
        ForeignKey("dashboards.id", ondelete="SET NULL"),
        nullable=True,
        index=True,
    ),
    Column("deleted", Boolean, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index(None, "project_id", "date_marker"),
    sqlite_autoincrement=True,
)

# Named sets of conditions, which questions use by their ids.
segments = Table(
    "segments",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("name", String(400), nullable=False),
    Column("description", Text, nullable=False),
    # A group of conditions, in the words of the API.
    Column("properties", Json, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index(None, "project_id", "name"),
    sqlite_autoincrement=True,
)

# Results by query. The oldest are deleted to make room.
insight_results = Table(
    "insight_results",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("filters_hash", String(64), nullable=False),
    Column("result", Json, nullable=False),
    Column("calculated_at", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("project_id", "filters_hash"),
    Index(None, "calculated_at"),
    Index(None, "project_id", "calculated_at"),
)

# How often servers answered a flag with a value, by day of the project's time zone.
flag_evaluations = Table(
    "flag_evaluations",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("flag_key", String(400), nullable=False),
    Column("day", Date, nullable=False),
    Column("value", String(400), nullable=False),
    Column("evaluations", BigInteger, nullable=False),
    Column("last_at", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("project_id", "flag_key", "day", "value"),
    Index(None, "day"),
)
