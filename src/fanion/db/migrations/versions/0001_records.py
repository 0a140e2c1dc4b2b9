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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letters")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_dead_letters_project_id_failed_at"),
        "dead_letters",
        ["project_id", "failed_at"],
        unique=False,
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
        "log_positions",
        sa.Column("consumer", sa.String(length=64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("claimed", sa.BigInteger(), nullable=False),
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
