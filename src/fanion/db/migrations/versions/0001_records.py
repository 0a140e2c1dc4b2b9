"""Records."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0001"
down_revision = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "accept_log",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("received_at", UtcDateTime(), nullable=False),
        sa.Column("client_ip", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("sent_at", UtcDateTime(), nullable=True),
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accept_log")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_accept_log_historical_id"), "accept_log", ["historical", "id"], unique=False
    )
    op.create_table(
        "accept_log_lanes",
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("envelopes", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("historical", name=op.f("pk_accept_log_lanes")),
    )
    op.create_table(
        "dead_letters",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("log_id", sa.BigInteger(), nullable=False),
        sa.Column("received_at", UtcDateTime(), nullable=False),
        sa.Column("failed_at", UtcDateTime(), nullable=False),
        sa.Column("client_ip", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("sent_at", UtcDateTime(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("retry_requested_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letters")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_dead_letters_project_id_failed_at"),
        "dead_letters",
        ["project_id", "failed_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_dead_letters_retry_requested_at"),
        "dead_letters",
        ["retry_requested_at"],
        unique=False,
    )
    op.create_table(
        "event_copies",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("source", sa.String(length=500), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=True),
        sa.Column("copied_upto", UtcDateTime(), nullable=False),
        sa.Column("is_finished", sa.Boolean(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "source", name=op.f("pk_event_copies")),
    )
    op.create_table(
        "event_definitions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=True),
        sa.Column("last_seen_at", UtcDateTime(), nullable=True),
        sa.Column("last_updated_at", UtcDateTime(), nullable=True),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("post_to_chat", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_definitions")),
        sa.UniqueConstraint(
            "project_id", "name", name=op.f("uq_event_definitions_project_id_name")
        ),
    )
    op.create_table(
        "event_properties",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "event", "property", name=op.f("pk_event_properties")
        ),
    )
    op.create_index(
        op.f("ix_event_properties_project_id_property"),
        "event_properties",
        ["project_id", "property"],
        unique=False,
    )
    op.create_table(
        "flag_evaluations",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("flag_key", sa.String(length=400), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("value", sa.String(length=400), nullable=False),
        sa.Column("evaluations", sa.BigInteger(), nullable=False),
        sa.Column("last_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "flag_key", "day", "value", name=op.f("pk_flag_evaluations")
        ),
    )
    op.create_index(op.f("ix_flag_evaluations_day"), "flag_evaluations", ["day"], unique=False)
    op.create_table(
        "flag_versions",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_flag_versions")),
    )
    op.create_table(
        "group_types",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("group_type_index", sa.Integer(), nullable=False),
        sa.Column("group_type", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "group_type_index", name=op.f("pk_group_types")),
        sa.UniqueConstraint(
            "project_id", "group_type", name=op.f("uq_group_types_project_id_group_type")
        ),
    )
    op.create_table(
        "groups",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("group_type_index", sa.Integer(), nullable=False),
        sa.Column("group_key", sa.Text(), nullable=False),
        sa.Column("properties", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "group_type_index", "group_key", name=op.f("pk_groups")
        ),
    )
    op.create_table(
        "ingestion_examples",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("examples", Json(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "outcome", name=op.f("pk_ingestion_examples")),
    )
    op.create_table(
        "ingestion_ledger",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("items", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "minute", "outcome", name=op.f("pk_ingestion_ledger")
        ),
    )
    op.create_index(
        op.f("ix_ingestion_ledger_minute"), "ingestion_ledger", ["minute"], unique=False
    )
    op.create_table(
        "insight_results",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("filters_hash", sa.String(length=64), nullable=False),
        sa.Column("result", Json(), nullable=False),
        sa.Column("calculated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "filters_hash", name=op.f("pk_insight_results")),
    )
    op.create_index(
        op.f("ix_insight_results_calculated_at"), "insight_results", ["calculated_at"], unique=False
    )
    op.create_index(
        op.f("ix_insight_results_project_id_calculated_at"),
        "insight_results",
        ["project_id", "calculated_at"],
        unique=False,
    )
    op.create_table(
        "log_positions",
        sa.Column("consumer", sa.String(length=64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("claimed", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.String(length=64), nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("consumer", name=op.f("pk_log_positions")),
    )
    op.create_table(
        "organizations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizations")),
    )
    op.create_table(
        "person_erasures",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("persons", Json(), nullable=False),
        sa.Column("distinct_ids", Json(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("with_events", sa.Boolean(), nullable=False),
        sa.Column("requested_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person_erasures")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_person_erasures_project_id"), "person_erasures", ["project_id"], unique=False
    )
    op.create_table(
        "person_floors",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_person_floors")),
    )
    op.create_table(
        "person_overrides",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("old_person", sa.Uuid(), nullable=False),
        sa.Column("new_person", sa.Uuid(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "old_person", name=op.f("pk_person_overrides")),
    )
    op.create_index(
        op.f("ix_person_overrides_project_id_new_person"),
        "person_overrides",
        ["project_id", "new_person"],
        unique=False,
    )
    op.create_table(
        "persons",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.Column("properties", Json(), nullable=False),
        sa.Column("is_identified", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_persons")),
        sa.UniqueConstraint("project_id", "uuid", name=op.f("uq_persons_project_id_uuid")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_persons_project_id_created_at"),
        "persons",
        ["project_id", "created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_persons_project_id_email"), "persons", ["project_id", "email"], unique=False
    )
    op.create_table(
        "property_definitions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("property_type", sa.String(length=20), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_property_definitions")),
        sa.UniqueConstraint(
            "project_id", "name", name=op.f("uq_property_definitions_project_id_name")
        ),
    )
    op.create_table(
        "users",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.Column("distinct_id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("first_name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("is_email_verified", sa.Boolean(), nullable=False),
        sa.Column("current_project_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("distinct_id", name=op.f("uq_users_distinct_id")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
        sa.UniqueConstraint("uuid", name=op.f("uq_users_uuid")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "activity_log",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("organization_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("scope", sa.String(length=40), nullable=False),
        sa.Column("item_id", sa.String(length=72), nullable=False),
        sa.Column("activity", sa.String(length=40), nullable=False),
        sa.Column("detail", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_activity_log_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_activity_log")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_activity_log_project_id_created_at",
        "activity_log",
        ["project_id", "created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_activity_log_project_id_scope_item_id_created_at"),
        "activity_log",
        ["project_id", "scope", "item_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "cohorts",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("name", sa.String(length=400), nullable=True),
        sa.Column("description", sa.String(length=1000), nullable=False),
        sa.Column("groups", Json(), nullable=False),
        sa.Column("filters", Json(), nullable=True),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.Column("is_static", sa.Boolean(), nullable=False),
        sa.Column("is_calculating", sa.Boolean(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=True),
        sa.Column("last_calculation", UtcDateTime(), nullable=True),
        sa.Column("errors_calculating", sa.Integer(), nullable=False),
        sa.Column("last_error_message", sa.Text(), nullable=True),
        sa.Column("last_run", Json(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("requested", sa.BigInteger(), nullable=False),
        sa.Column("due_at", UtcDateTime(), nullable=True),
        sa.Column("lease", sa.String(length=36), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_cohorts_created_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohorts")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_cohorts_deleted_at"), "cohorts", ["deleted_at"], unique=False)
    op.create_index(op.f("ix_cohorts_due_at"), "cohorts", ["due_at"], unique=False)
    op.create_index(
        op.f("ix_cohorts_project_id_created_at"),
        "cohorts",
        ["project_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "dashboards",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("pinned", sa.Boolean(), nullable=False),
        sa.Column("filters", Json(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("restriction_level", sa.Integer(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_dashboards_created_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dashboards")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_dashboards_project_id_name"), "dashboards", ["project_id", "name"], unique=False
    )
    op.create_table(
        "event_announcements",
        sa.Column("definition_id", sa.Uuid(), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.Column("due_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["definition_id"],
            ["event_definitions.id"],
            name=op.f("fk_event_announcements_definition_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("definition_id", name=op.f("pk_event_announcements")),
    )
    op.create_index(
        op.f("ix_event_announcements_due_at"), "event_announcements", ["due_at"], unique=False
    )
    op.create_table(
        "event_marks",
        sa.Column("definition_id", sa.Uuid(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["definition_id"],
            ["event_definitions.id"],
            name=op.f("fk_event_marks_definition_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("definition_id", name=op.f("pk_event_marks")),
    )
    op.create_table(
        "feature_flags",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("filters", Json(), nullable=False),
        sa.Column("rollout_percentage", sa.Integer(), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("ensure_experience_continuity", sa.Boolean(), nullable=True),
        sa.Column("rollback_conditions", Json(), nullable=True),
        sa.Column("performed_rollback", sa.Boolean(), nullable=True),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("bucketing_identifier", sa.String(length=20), nullable=True),
        sa.Column("evaluation_runtime", sa.String(length=20), nullable=True),
        sa.Column("evaluation_contexts", Json(), nullable=True),
        sa.Column("usage_dashboard", Id, nullable=True),
        sa.Column("analytics_dashboards", Json(), nullable=False),
        sa.Column("has_enriched_analytics", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_feature_flags_created_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feature_flags")),
        sa.UniqueConstraint("project_id", "key", name=op.f("uq_feature_flags_project_id_key")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_feature_flags_project_id_created_at"),
        "feature_flags",
        ["project_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "flag_continuity",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("person_id", Id, nullable=False),
        sa.Column("flag_key", sa.String(length=400), nullable=False),
        sa.Column("hash_key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["persons.id"],
            name=op.f("fk_flag_continuity_person_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("person_id", "flag_key", name=op.f("pk_flag_continuity")),
    )
    op.create_table(
        "insights",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("short_id", sa.String(length=12), nullable=False),
        sa.Column("name", sa.String(length=400), nullable=True),
        sa.Column("derived_name", sa.String(length=400), nullable=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("filters", Json(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("favorited", sa.Boolean(), nullable=False),
        sa.Column("saved", sa.Boolean(), nullable=False),
        sa.Column("is_sample", sa.Boolean(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_modified_by_id", Id, nullable=True),
        sa.Column("last_modified_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_insights_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["last_modified_by_id"], ["users.id"], name=op.f("fk_insights_last_modified_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_insights")),
        sa.UniqueConstraint("project_id", "short_id", name=op.f("uq_insights_project_id_short_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_insights_project_id_created_at"),
        "insights",
        ["project_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "memberships",
        sa.Column("organization_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("joined_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name=op.f("fk_memberships_organization_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_memberships_user_id")),
        sa.PrimaryKeyConstraint("organization_id", "user_id", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_user_id"), "memberships", ["user_id"], unique=False)
    op.create_table(
        "person_distinct_ids",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("distinct_id", sa.Text(), nullable=False),
        sa.Column("person_id", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], ["persons.id"], name=op.f("fk_person_distinct_ids_person_id")
        ),
        sa.PrimaryKeyConstraint("project_id", "distinct_id", name=op.f("pk_person_distinct_ids")),
    )
    op.create_index(
        op.f("ix_person_distinct_ids_person_id"), "person_distinct_ids", ["person_id"], unique=False
    )
    op.create_table(
        "personal_api_keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("label", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("mask_value", sa.String(length=20), nullable=False),
        sa.Column("scopes", Json(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_personal_api_keys_user_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_personal_api_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_personal_api_keys_hash")),
    )
    op.create_index(
        op.f("ix_personal_api_keys_user_id"), "personal_api_keys", ["user_id"], unique=False
    )
    op.create_table(
        "projects",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.Column("organization_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("api_token", sa.String(length=200), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("ingestion", Json(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name=op.f("fk_projects_organization_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sa.UniqueConstraint("api_token", name=op.f("uq_projects_api_token")),
        sa.UniqueConstraint("uuid", name=op.f("uq_projects_uuid")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_projects_organization_id"), "projects", ["organization_id"], unique=False
    )
    op.create_table(
        "resource_access",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("organization_id", sa.Uuid(), nullable=False),
        sa.Column("resource", sa.String(length=40), nullable=False),
        sa.Column("access_level", sa.Integer(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_resource_access_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_resource_access_organization_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resource_access")),
        sa.UniqueConstraint(
            "organization_id", "resource", name=op.f("uq_resource_access_organization_id_resource")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "roles",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("organization_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("folded_name", sa.String(length=600), nullable=False),
        sa.Column("feature_flags_access_level", sa.Integer(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_roles_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name=op.f("fk_roles_organization_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_roles")),
        sa.UniqueConstraint(
            "organization_id", "folded_name", name=op.f("uq_roles_organization_id_folded_name")
        ),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(length=100), nullable=False),
        sa.Column("events", Json(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_webhooks_created_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_webhooks_project_id"), "webhooks", ["project_id"], unique=False)
    op.create_table(
        "cohort_imports",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("cohort_id", Id, nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=True),
        sa.Column("source_id", Id, nullable=True),
        sa.Column("source_version", sa.BigInteger(), nullable=True),
        sa.Column("written_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cohort_id"],
            ["cohorts.id"],
            name=op.f("fk_cohort_imports_cohort_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohort_imports")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_cohort_imports_cohort_id"), "cohort_imports", ["cohort_id"], unique=False
    )
    op.create_index(
        op.f("ix_cohort_imports_source_id"), "cohort_imports", ["source_id"], unique=False
    )
    op.create_table(
        "cohort_people",
        sa.Column("cohort_id", Id, nullable=False),
        sa.Column("person_id", Id, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("added", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cohort_id"],
            ["cohorts.id"],
            name=op.f("fk_cohort_people_cohort_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["persons.id"],
            name=op.f("fk_cohort_people_person_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("cohort_id", "person_id", name=op.f("pk_cohort_people")),
    )
    op.create_index(
        op.f("ix_cohort_people_person_id"), "cohort_people", ["person_id"], unique=False
    )
    op.create_table(
        "dashboard_tiles",
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
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_dashboard_tiles_insight_id"), "dashboard_tiles", ["insight_id"], unique=False
    )
    op.create_table(
        "flag_role_access",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("flag_id", Id, nullable=False),
        sa.Column("role_id", sa.Uuid(), nullable=False),
        sa.Column("added_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["flag_id"],
            ["feature_flags.id"],
            name=op.f("fk_flag_role_access_flag_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["role_id"], ["roles.id"], name=op.f("fk_flag_role_access_role_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flag_role_access")),
        sa.UniqueConstraint("flag_id", "role_id", name=op.f("uq_flag_role_access_flag_id_role_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_flag_role_access_role_id"), "flag_role_access", ["role_id"], unique=False
    )
    op.create_table(
        "flag_rollback_checks",
        sa.Column("flag_id", Id, autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("checked_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["flag_id"],
            ["feature_flags.id"],
            name=op.f("fk_flag_rollback_checks_flag_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("flag_id", name=op.f("pk_flag_rollback_checks")),
    )
    op.create_index(
        op.f("ix_flag_rollback_checks_checked_at"),
        "flag_rollback_checks",
        ["checked_at"],
        unique=False,
    )
    op.create_table(
        "project_secret_keys",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("mask_value", sa.String(length=20), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_project_secret_keys_project_id")
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_project_secret_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_project_secret_keys_hash")),
    )
    op.create_table(
        "role_memberships",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("role_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("joined_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["role_id"], ["roles.id"], name=op.f("fk_role_memberships_role_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_role_memberships_user_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_role_memberships")),
        sa.UniqueConstraint("role_id", "user_id", name=op.f("uq_role_memberships_role_id_user_id")),
    )
    op.create_index(
        op.f("ix_role_memberships_user_id"), "role_memberships", ["user_id"], unique=False
    )
    op.create_table(
        "scheduled_changes",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("flag_id", Id, nullable=False),
        sa.Column("payload", Json(), nullable=False),
        sa.Column("steps", Json(), nullable=False),
        sa.Column("due_at", UtcDateTime(), nullable=True),
        sa.Column("executed_at", UtcDateTime(), nullable=True),
        sa.Column("failure_reason", sa.Text(), nullable=True),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_scheduled_changes_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["flag_id"],
            ["feature_flags.id"],
            name=op.f("fk_scheduled_changes_flag_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scheduled_changes")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_scheduled_changes_due_at"), "scheduled_changes", ["due_at"], unique=False
    )
    op.create_index(
        op.f("ix_scheduled_changes_flag_id"), "scheduled_changes", ["flag_id"], unique=False
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("webhook_id", Id, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.Column("event", sa.String(length=40), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("response_code", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("due_at", UtcDateTime(), nullable=True),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["webhook_id"],
            ["webhooks.id"],
            name=op.f("fk_webhook_deliveries_webhook_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_webhook_deliveries_due_at"), "webhook_deliveries", ["due_at"], unique=False
    )
    op.create_index(
        op.f("ix_webhook_deliveries_webhook_id_id"),
        "webhook_deliveries",
        ["webhook_id", "id"],
        unique=False,
    )
    op.create_table(
        "cohort_import_parts",
        sa.Column("import_id", Id, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("ids", Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["cohort_imports.id"],
            name=op.f("fk_cohort_import_parts_import_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("import_id", "number", name=op.f("pk_cohort_import_parts")),
    )
