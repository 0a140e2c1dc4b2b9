"""The tables of organizations, users, projects, keys, persons, groups, flags and ingestion.

Each of the other modules here holds the tables of one domain. Each row of a project carries its
project_id.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)

from fanion.db.columns import Json, UtcDateTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite generates ids only for a column that is declared INTEGER.
ID = BigInteger().with_variant(Integer, "sqlite")

organizations = Table(
    "organizations",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # Whether members must have a second factor; null for no.
    Column("enforce_2fa", Boolean, nullable=True),
    # How long entries of the activity log are kept; null for ever.
    Column("activity_kept_days", Integer, nullable=True),
)

users = Table(
    "users",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("uuid", Uuid, nullable=False, unique=True),
    Column("distinct_id", Text, nullable=False, unique=True),
    Column("email", Text, nullable=False, unique=True),
    Column("first_name", Text, nullable=False),
    Column("password_hash", Text, nullable=False),
    Column("is_active", Boolean, nullable=False),
    Column("is_email_verified", Boolean, nullable=False),
    # True once the user has chosen the address, instead of an administrator: it then does not
    # prove who the user is. Null for no.
    Column("email_chosen_by_owner", Boolean, nullable=True),
    Column("current_project_id", ID, nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

memberships = Table(
    "memberships",
    metadata,
    Column("organization_id", Uuid, ForeignKey("organizations.id"), nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    Column("level", Integer, nullable=False),
    Column("joined_at", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("organization_id", "user_id"),
)

projects = Table(
    "projects",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("uuid", Uuid, nullable=False, unique=True),
    Column("organization_id", Uuid, ForeignKey("organizations.id"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("api_token", String(200), nullable=False, unique=True),
    Column("timezone", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # The settings that differ from the defaults of projects.model.IngestionSettings.
    Column("ingestion", Json, nullable=True),
    # The conditions as sent; null if there are none.
    Column("test_account_filters", Json, nullable=True),
    # 0 for Sunday, 1 for Monday; null for Sunday.
    Column("week_start_day", Integer, nullable=True),
    # The rules as sent; null if there are none.
    Column("path_cleaning_filters", Json, nullable=True),
    # The id of the dashboard on the home page, which may be deleted; null if none was chosen.
    Column("primary_dashboard", ID, nullable=True),
    # How many days events are kept; null for ever.
    Column("events_kept_days", Integer, nullable=True),
    sqlite_autoincrement=True,
)

# Replaced project keys, which are accepted until `valid_until`.
# A row stays for ever, so that late events of the project are left out.
project_deletions = Table(
    "project_deletions",
    metadata,
    Column("project_id", ID, primary_key=True, autoincrement=False),
    Column("organization_id", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    Column("requested_at", UtcDateTime, nullable=False),
    Column("swept_at", UtcDateTime, nullable=True),
    Column("finished_at", UtcDateTime, nullable=True),
)

former_project_tokens = Table(
    "former_project_tokens",
    metadata,
    Column("token", String(200), primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id"), nullable=False, index=True),
    Column("valid_until", UtcDateTime, nullable=False),
)

personal_api_keys = Table(
    "personal_api_keys",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    Column("label", String(40), nullable=False),
    Column("hash", String(100), nullable=False, unique=True),
    Column("mask_value", String(20), nullable=False),
    Column("scopes", Json, nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime, nullable=True),
    # Null for a key that stays valid until it is revoked.
    Column("expires_at", UtcDateTime, nullable=True),
)

persons = Table(
    "persons",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("uuid", Uuid, nullable=False),
    Column("properties", Json, nullable=False),
    Column("is_identified", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("version", BigInteger, nullable=False),
    # The property `email` in lower case, for searching.
    Column("email", Text, nullable=True),
    UniqueConstraint("project_id", "uuid"),
    Index(None, "project_id", "created_at"),
    Index(None, "project_id", "email"),
    sqlite_autoincrement=True,
)

person_distinct_ids = Table(
    "person_distinct_ids",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("distinct_id", Text, nullable=False),
    Column("person_id", ID, ForeignKey("persons.id"), nullable=False, index=True),
    PrimaryKeyConstraint("project_id", "distinct_id"),
)

# Every person that was merged away, with the person that its events count for now.
person_overrides = Table(
    "person_overrides",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("old_person", Uuid, nullable=False),
    Column("new_person", Uuid, nullable=False),
    Column("version", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "old_person"),
    Index(None, "project_id", "new_person"),
)

group_types = Table(
    "group_types",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("group_type_index", Integer, nullable=False),
    Column("group_type", Text, nullable=False),
    PrimaryKeyConstraint("project_id", "group_type_index"),
    UniqueConstraint("project_id", "group_type"),
)

groups = Table(
    "groups",
    metadata,
    Column("project_id", ID, nullable=False),
    Column("group_type_index", Integer, nullable=False),
    Column("group_key", Text, nullable=False),
    Column("properties", Json, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("version", BigInteger, nullable=False),
    PrimaryKeyConstraint("project_id", "group_type_index", "group_key"),
)

event_definitions = Table(
    "event_definitions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("project_id", ID, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=True),
    Column("last_seen_at", UtcDateTime, nullable=True),
    Column("last_updated_at", UtcDateTime, nullable=True),
    Column("tags", Json, nullable=False),
    Column("post_to_chat", Boolean, nullable=False),
    UniqueConstraint("project_id", "name"),
)

feature_flags = Table(
    "feature_flags",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    # Changes of these are recorded in this order (flags/definitions/changes_store.py).
    Column("key", String(400), nullable=False),
    Column("name", Text, nullable=False),
    # Exactly as sent; {} for a flag that was created without filters.
    Column("filters", Json, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("rollback_conditions", Json, nullable=True),
    Column("performed_rollback", Boolean, nullable=True),
    Column("ensure_experience_continuity", Boolean, nullable=True),
    Column("tags", Json, nullable=False),
    Column("analytics_dashboards", Json, nullable=False),
    Column("has_enriched_analytics", Boolean, nullable=False),
    # Null is the default: by distinct id, evaluated anywhere, in every context.
    Column("bucketing_identifier", String(20), nullable=True),
    Column("evaluation_runtime", String(20), nullable=True),
    Column("evaluation_contexts", Json, nullable=True),
    # Users do not set these.
    Column("rollout_percentage", Integer, nullable=True),
    Column("usage_dashboard", ID, nullable=True),
    Column("version", BigInteger, nullable=False),
    Column("created_by_id", ID, ForeignKey("users.id"), nullable=True),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("project_id", "key"),
    Index(None, "project_id", "created_at"),
    sqlite_autoincrement=True,
)

# The version grows with every change to the answers of a project's flags.
flag_versions = Table(
    "flag_versions",
    metadata,
    Column("project_id", ID, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
)

# What servers have to read again: triggers append a row for each change, in the order of commits,
# and delete the oldest rows.
change_feed = Table(
    "change_feed",
    metadata,
    Column("number", ID, primary_key=True, autoincrement=True),
    Column("topic", String(32), nullable=False),
    Column("item_id", ID, nullable=False),
    sqlite_autoincrement=True,
)

# For the revision of the last migration: the oldest program that may still use the schema. An older
# program that meets a newer schema reads it here.
schema_compatibility = Table(
    "schema_compatibility",
    metadata,
    Column("revision", String(32), primary_key=True),
    Column("oldest_program", String(32), nullable=False),
)

# How far ingestion has come in the accept log, written together with what it made of the entries.
# `claimed` is the last id of the current run: a repeat after a crash takes the same run. In
# PostgreSQL the worker `holder` ingests the partition; nothing reads `held_until`.
log_positions = Table(
    "log_positions",
    metadata,
    Column("consumer", String(64), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("claimed", BigInteger, nullable=False),
    Column("holder", String(64), nullable=False),
    Column("held_until", UtcDateTime, nullable=False),
    # 0 in SQLite. The epoch grows each time a worker takes the partition.
    Column("partition", Integer, nullable=False, server_default="0"),
    Column("epoch", BigInteger, nullable=False, server_default="0"),
)

# The processes that ingest the partitions of the accept log; times are the database's.
log_workers = Table(
    "log_workers",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("renewed_at", UtcDateTime, nullable=False),
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("log_id", BigInteger, nullable=False),
    Column("received_at", UtcDateTime, nullable=False),
    Column("failed_at", UtcDateTime, nullable=False),
    Column("client_ip", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("sent_at", UtcDateTime, nullable=True),
    Column("body", LargeBinary, nullable=False),
    Column("error", Text, nullable=False),
    # The count of the ledger; 1 for a body that cannot be read.
    Column("items", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    # Set by an operator; the ingesting server retries the marked ones.
    Column("retry_requested_at", UtcDateTime, nullable=True, index=True),
    Index(None, "project_id", "failed_at"),
    sqlite_autoincrement=True,
)

# Nothing writes or reads rows of it. The ids of `accept_log_entries` come from its sequence, and
# version 0.9.0 selects from it and from `accept_log_lanes`.
accept_log = Table(
    "accept_log",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("project_id", ID, nullable=False),
    Column("received_at", UtcDateTime, nullable=False),
    Column("client_ip", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("sent_at", UtcDateTime, nullable=True),
    Column("historical", Boolean, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "historical", "id"),
    sqlite_autoincrement=True,
)

# Two rows, which the baseline migration inserts so that version 0.9.0 appends to partitions.
accept_log_lanes = Table(
    "accept_log_lanes",
    metadata,
    Column("historical", Boolean, primary_key=True),
    Column("envelopes", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
)

# The accept log in PostgreSQL, in partitions; SQLite keeps it in its own file.
accept_log_entries = Table(
    "accept_log_entries",
    metadata,
    Column("historical", Boolean, primary_key=True),
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("project_id", ID, nullable=False),
    Column("received_at", UtcDateTime, nullable=False),
    Column("client_ip", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("sent_at", UtcDateTime, nullable=True),
    Column("body", LargeBinary, nullable=False),
)

# The partitions' contents are the sum of these rows. Each connection changes one row, so appends do
# not wait for one another.
accept_log_sizes = Table(
    "accept_log_sizes",
    metadata,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("historical", Boolean, primary_key=True),
    Column("envelopes", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
)
