"""The schema of version 0.9.0, the first from which a store can be upgraded."""

from collections.abc import Iterator
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0031"
down_revision = None
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# Tables whose changes are appended to the feed: table, topic, and the column with the item's id.
FED = (
    ("projects", "project", "id"),
    ("former_project_tokens", "project", "project_id"),
    ("flag_versions", "flags", "project_id"),
)
# The feed keeps at least the newest KEPT rows. Older ones are deleted TRIMMED at a time, because
# the transaction that has deleted rows still looks at them.
KEPT, TRIMMED = 10_000, 1_000
# Numbers of the accept log on PostgreSQL, as in `accept_log.postgres_partitions`.
LOG_PARTITIONS, SIZE_SLOTS = 64, 64
# The number of partitions of `persons` on PostgreSQL; each statement about many persons opens all.
PERSON_PARTITIONS = 16
# Versions of persons, groups and overrides begin above this number.
FIRST_VERSION = 1_000


def upgrade() -> None:
    _create_tables()
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    if is_postgresql:
        op.execute(_FEED_FUNCTION)
    for table, topic, column in FED:
        _feed_changes(table, topic, column)
    if is_postgresql:
        op.execute(f"SELECT setval('mirror_versions_version_seq', {FIRST_VERSION})")
        for statement in OPEN_LOG:
            op.execute(statement)
    else:
        op.execute(f"INSERT INTO mirror_versions VALUES ({FIRST_VERSION})")
    installation = sa.table("installation", sa.column("id", sa.Uuid()), sa.column("event_store"))
    op.bulk_insert(installation, [{"id": uuid4(), "event_store": None}])


# The lock lasts until the transaction has become visible: numbers are in the order of commits. As
# the trigger is deferred, the lock is the last that a transaction takes, and is held only for its
# commit. Nothing is in the feed before its transaction is complete.
_FEED_FUNCTION = f"""
CREATE FUNCTION append_to_change_feed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed jsonb;
  appended bigint;
BEGIN
  IF TG_OP = 'DELETE' THEN
    changed := to_jsonb(OLD);
  ELSE
    changed := to_jsonb(NEW);
  END IF;
  PERFORM pg_advisory_xact_lock(7238414922);
  INSERT INTO change_feed (topic, item_id)
  VALUES (TG_ARGV[0], (changed ->> TG_ARGV[1])::bigint)
  RETURNING number INTO appended;
  IF appended % {TRIMMED} = 0 THEN
    DELETE FROM change_feed WHERE number <= appended - {KEPT};
  END IF;
  RETURN NULL;
END $$
"""
_FEED_TRIGGER = """
CREATE CONSTRAINT TRIGGER feed_{table}
AFTER INSERT OR UPDATE OR DELETE ON {table}
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION append_to_change_feed('{topic}', '{column}')
"""
# SQLite has one writing transaction at a time.
_SQLITE_FEED_TRIGGER = f"""
CREATE TRIGGER feed_{{table}}_{{operation}} AFTER {{operation}} ON {{table}}
BEGIN
  INSERT INTO change_feed (topic, item_id) VALUES ('{{topic}}', {{row}}.{{column}});
  DELETE FROM change_feed
   WHERE last_insert_rowid() % {TRIMMED} = 0 AND number <= last_insert_rowid() - {KEPT};
END
"""
# `accept_log` and its lanes belong to a log without partitions, which version 0.9.0 still looks
# for; its lanes are full, so that it refuses appends. Ids come from the sequence of `accept_log`.
OPEN_LOG = (
    """
    INSERT INTO accept_log_lanes (historical, envelopes, bytes)
    VALUES (FALSE, 0, 4611686018427387904), (TRUE, 0, 4611686018427387904)
    """,
    f"""
    INSERT INTO accept_log_sizes (slot, historical, envelopes, bytes)
    SELECT slot, historical, 0, 0
      FROM GENERATE_SERIES(0, {SIZE_SLOTS - 1}) AS slot
     CROSS JOIN (VALUES (FALSE), (TRUE)) AS lane (historical)
    """,
    f"""
    INSERT INTO log_positions (consumer, partition, position, claimed, holder, held_until)
    SELECT lane || '/' || partition, partition, 0, 0, '', '1970-01-01T00:00:00Z'
      FROM GENERATE_SERIES(1, {LOG_PARTITIONS}) AS partition
     CROSS JOIN (VALUES ('live'), ('historical')) AS lane (lane)
    """,
)


def _feed_changes(table: str, topic: str, column: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_FEED_TRIGGER.format(table=table, topic=topic, column=column))
        return
    for operation, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
        values = {"table": table, "topic": topic, "column": column, "row": row}
        op.execute(_SQLITE_FEED_TRIGGER.format(operation=operation, **values))


def _create_persons() -> None:
    """Create `persons` and `person_keys`.

    On PostgreSQL `person_keys` is a table that enforces what the partitioned table `persons`
    cannot: that the UUID is unique within the project, and foreign keys. On SQLite it is a view.
    """
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    unique = sa.UniqueConstraint("project_id", "uuid", name=op.f("uq_persons_project_id_uuid"))
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
        *(() if is_postgresql else (unique,)),
        sqlite_autoincrement=True,
        postgresql_partition_by="HASH (id)",
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
    if not is_postgresql:
        op.execute(
            "CREATE VIEW person_keys AS SELECT id AS person_id, project_id, uuid FROM persons"
        )
        return
    # No query uses this index; `person_keys` is searched instead.
    op.create_index(op.f("ix_persons_project_id_uuid"), "persons", ["project_id", "uuid"])
    for number in range(PERSON_PARTITIONS):
        bounds = f"MODULUS {PERSON_PARTITIONS}, REMAINDER {number}"
        op.execute(
            f"CREATE TABLE persons_{number:02} PARTITION OF persons FOR VALUES WITH ({bounds})"
        )
    for statement in _person_keys():
        op.execute(statement)


def _person_keys() -> Iterator[str]:
    """Yield the statements that create `person_keys` on PostgreSQL.

    Triggers of `persons` write it, so that it is right whichever program changes `persons`.
    """
    yield """
    CREATE TABLE person_keys (
      person_id bigint NOT NULL,
      project_id bigint NOT NULL,
      uuid uuid NOT NULL,
      CONSTRAINT pk_person_keys PRIMARY KEY (person_id),
      CONSTRAINT uq_person_keys_project_id_uuid UNIQUE (project_id, uuid)
    )
    """
    yield """
    CREATE FUNCTION record_person_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO person_keys (person_id, project_id, uuid)
      SELECT id, project_id, uuid FROM created;
      RETURN NULL;
    END $$
    """
    yield """
    CREATE FUNCTION forget_person_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM person_keys WHERE person_id IN (SELECT id FROM deleted);
      RETURN NULL;
    END $$
    """
    yield """
    CREATE FUNCTION keep_person_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'id, project_id and uuid of a person do not change';
    END $$
    """
    yield """
    CREATE TRIGGER record_person_keys AFTER INSERT ON persons REFERENCING NEW TABLE AS created
    FOR EACH STATEMENT EXECUTE FUNCTION record_person_keys()
    """
    yield """
    CREATE TRIGGER forget_person_keys AFTER DELETE ON persons REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION forget_person_keys()
    """
    yield """
    CREATE TRIGGER keep_person_keys BEFORE UPDATE OF id, project_id, uuid ON persons
    FOR EACH STATEMENT EXECUTE FUNCTION keep_person_keys()
    """


def _create_tables() -> None:
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    person_id = "person_keys.person_id" if is_postgresql else "persons.id"
    _create_accept_log()
    _create_accept_log_entries()
    _create_accept_log_lanes()
    _create_accept_log_sizes()
    _create_change_feed()
    _create_cohort_recounts()
    _create_dead_letters()
    _create_event_copies()
    _create_event_definitions()
    _create_event_properties()
    _create_flag_evaluations()
    _create_flag_versions()
    _create_group_types()
    _create_groups()
    _create_ingestion_counts()
    _create_ingestion_examples()
    _create_ingestion_ledger()
    _create_insight_results()
    _create_installation()
    _create_job_leases()
    _create_log_positions()
    _create_log_workers()
    _create_mirror_outbox()
    _create_mirror_versions()
    _create_organizations()
    _create_person_erasures()
    _create_person_floors()
    _create_person_overrides()
    _create_persons()
    _create_property_definitions()
    _create_query_cancellations()
    _create_question_places()
    _create_schema_compatibility()
    _create_sign_in_attempts()
    _create_users()
    _create_waiting_identities()
    _create_activity_log()
    _create_cohorts()
    _create_dashboards()
    _create_event_announcement_counts()
    _create_event_announcements()
    _create_event_marks()
    _create_feature_flags()
    _create_flag_continuity(person_id)
    _create_insights()
    _create_memberships()
    _create_oidc_identities()
    _create_oidc_states()
    _create_organization_invites()
    _create_pending_sign_ins()
    _create_person_distinct_ids(person_id)
    _create_personal_api_keys()
    _create_projects()
    _create_recovery_codes()
    _create_resource_access()
    _create_roles()
    _create_second_factors()
    _create_sessions()
    _create_sign_in_links()
    _create_webhooks()
    _create_alerts()
    _create_cohort_imports()
    _create_cohort_people(person_id)
    _create_dashboard_refreshes()
    _create_dashboard_tiles()
    _create_flag_role_access()
    _create_flag_rollback_checks()
    _create_former_project_tokens()
    _create_former_secret_keys()
    _create_invite_roles()
    _create_project_secret_keys()
    _create_role_memberships()
    _create_scheduled_changes()
    _create_webhook_deliveries()
    _create_cohort_import_parts()


def _create_accept_log() -> None:
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


def _create_accept_log_entries() -> None:
    op.create_table(
        "accept_log_entries",
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("received_at", UtcDateTime(), nullable=False),
        sa.Column("client_ip", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("sent_at", UtcDateTime(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "historical", "partition", "id", name=op.f("pk_accept_log_entries")
        ),
    )


def _create_accept_log_lanes() -> None:
    op.create_table(
        "accept_log_lanes",
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("envelopes", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("historical", name=op.f("pk_accept_log_lanes")),
    )


def _create_accept_log_sizes() -> None:
    op.create_table(
        "accept_log_sizes",
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("envelopes", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("slot", "historical", name=op.f("pk_accept_log_sizes")),
    )


def _create_change_feed() -> None:
    op.create_table(
        "change_feed",
        sa.Column("number", Id, autoincrement=True, nullable=False),
        sa.Column("topic", sa.String(length=32), nullable=False),
        sa.Column("item_id", Id, nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_change_feed")),
        sqlite_autoincrement=True,
    )


def _create_cohort_recounts() -> None:
    op.create_table(
        "cohort_recounts",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("cohort_id", Id, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohort_recounts")),
        sqlite_autoincrement=True,
    )


def _create_dead_letters() -> None:
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


def _create_event_copies() -> None:
    op.create_table(
        "event_copies",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("source", sa.String(length=500), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=True),
        sa.Column("copied_upto", UtcDateTime(), nullable=False),
        sa.Column("is_finished", sa.Boolean(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("copied_from", UtcDateTime(), nullable=True),
        sa.Column("events", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("project_id", "source", name=op.f("pk_event_copies")),
    )


def _create_event_definitions() -> None:
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


def _create_event_properties() -> None:
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


def _create_flag_evaluations() -> None:
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


def _create_flag_versions() -> None:
    op.create_table(
        "flag_versions",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_flag_versions")),
    )


def _create_group_types() -> None:
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


def _create_groups() -> None:
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


def _create_ingestion_counts() -> None:
    op.create_table(
        "ingestion_counts",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("items", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "minute", "outcome", "slot", name=op.f("pk_ingestion_counts")
        ),
    )


def _create_ingestion_examples() -> None:
    op.create_table(
        "ingestion_examples",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("examples", Json(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "outcome", name=op.f("pk_ingestion_examples")),
    )


def _create_ingestion_ledger() -> None:
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


def _create_insight_results() -> None:
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


def _create_installation() -> None:
    op.create_table(
        "installation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("event_store", sa.Uuid(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
    )


def _create_job_leases() -> None:
    op.create_table(
        "job_leases",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("holder", sa.String(length=40), nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_job_leases")),
    )


def _create_log_positions() -> None:
    op.create_table(
        "log_positions",
        sa.Column("consumer", sa.String(length=64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("claimed", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.String(length=64), nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=False),
        sa.Column("partition", sa.Integer(), server_default="0", nullable=False),
        sa.Column("epoch", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("consumer", name=op.f("pk_log_positions")),
    )


def _create_log_workers() -> None:
    op.create_table(
        "log_workers",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("renewed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_workers")),
    )


def _create_mirror_outbox() -> None:
    op.create_table(
        "mirror_outbox",
        sa.Column("version", Id, autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("persons", sa.LargeBinary(), nullable=False),
        sa.Column("groups", Json(), nullable=False),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_mirror_outbox")),
    )


def _create_mirror_versions() -> None:
    op.create_table(
        "mirror_versions",
        sa.Column("version", Id, autoincrement=True, nullable=False),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_mirror_versions")),
        sqlite_autoincrement=True,
    )


def _create_organizations() -> None:
    op.create_table(
        "organizations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("enforce_2fa", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizations")),
    )


def _create_person_erasures() -> None:
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


def _create_person_floors() -> None:
    op.create_table(
        "person_floors",
        sa.Column("project_id", Id, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_person_floors")),
    )


def _create_person_overrides() -> None:
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


def _create_property_definitions() -> None:
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


def _create_query_cancellations() -> None:
    op.create_table(
        "query_cancellations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("requested_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_query_cancellations")),
    )
    op.create_index(
        op.f("ix_query_cancellations_requested_at"),
        "query_cancellations",
        ["requested_at"],
        unique=False,
    )


def _create_question_places() -> None:
    op.create_table(
        "question_places",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=100), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("held_until", UtcDateTime(), nullable=False),
        sa.Column("user_id", Id, server_default=sa.text("0"), nullable=False),
        sa.Column("is_waiting", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_question_places")),
    )
    op.create_index(op.f("ix_question_places_kind"), "question_places", ["kind"], unique=False)


def _create_schema_compatibility() -> None:
    op.create_table(
        "schema_compatibility",
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("oldest_program", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_schema_compatibility")),
    )


def _create_sign_in_attempts() -> None:
    op.create_table(
        "sign_in_attempts",
        sa.Column("kind", sa.String(length=100), nullable=False),
        sa.Column("account", sa.String(length=100), nullable=False),
        sa.Column("network", sa.String(length=200), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.Float(), nullable=False),
        sa.Column("until_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "account", "network", name=op.f("pk_sign_in_attempts")),
    )
    op.create_index(
        op.f("ix_sign_in_attempts_expires_at"), "sign_in_attempts", ["expires_at"], unique=False
    )


def _create_users() -> None:
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
        sa.Column("email_chosen_by_owner", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("distinct_id", name=op.f("uq_users_distinct_id")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
        sa.UniqueConstraint("uuid", name=op.f("uq_users_uuid")),
        sqlite_autoincrement=True,
    )


def _create_waiting_identities() -> None:
    op.create_table(
        "waiting_identities",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("distinct_id", sa.Text(), nullable=False),
        sa.Column("hash_keys", Json(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "distinct_id", name=op.f("pk_waiting_identities")),
    )


def _create_activity_log() -> None:
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


def _create_cohorts() -> None:
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


def _create_dashboards() -> None:
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


def _create_event_announcement_counts() -> None:
    op.create_table(
        "event_announcement_counts",
        sa.Column("definition_id", sa.Uuid(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["definition_id"],
            ["event_definitions.id"],
            name=op.f("fk_event_announcement_counts_definition_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("definition_id", "slot", name=op.f("pk_event_announcement_counts")),
    )


def _create_event_announcements() -> None:
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


def _create_event_marks() -> None:
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


def _create_feature_flags() -> None:
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


def _create_flag_continuity(person_id: str) -> None:
    op.create_table(
        "flag_continuity",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("person_id", Id, nullable=False),
        sa.Column("flag_key", sa.String(length=400), nullable=False),
        sa.Column("hash_key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"],
            [person_id],
            name=op.f("fk_flag_continuity_person_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("person_id", "flag_key", name=op.f("pk_flag_continuity")),
    )


def _create_insights() -> None:
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
        sa.Column("query", Json(), nullable=True),
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


def _create_memberships() -> None:
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


def _create_oidc_identities() -> None:
    op.create_table(
        "oidc_identities",
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_oidc_identities_user_id")),
        sa.PrimaryKeyConstraint("issuer", "subject", name=op.f("pk_oidc_identities")),
    )
    op.create_index(
        op.f("ix_oidc_identities_user_id"), "oidc_identities", ["user_id"], unique=False
    )


def _create_oidc_states() -> None:
    op.create_table(
        "oidc_states",
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("browser_hash", sa.String(length=100), nullable=False),
        sa.Column("return_path", sa.Text(), nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_oidc_states_user_id")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_oidc_states")),
    )
    op.create_index(op.f("ix_oidc_states_expires_at"), "oidc_states", ["expires_at"], unique=False)


def _create_organization_invites() -> None:
    op.create_table(
        "organization_invites",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("organization_id", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("target_email", sa.Text(), nullable=False),
        sa.Column("first_name", sa.Text(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("emailing_attempt_made", sa.Boolean(), nullable=False),
        sa.Column("created_by_id", Id, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_organization_invites_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_organization_invites_organization_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organization_invites")),
        sa.UniqueConstraint("hash", name=op.f("uq_organization_invites_hash")),
        sa.UniqueConstraint(
            "organization_id",
            "target_email",
            name=op.f("uq_organization_invites_organization_id_target_email"),
        ),
    )
    op.create_index(
        op.f("ix_organization_invites_created_by_id"),
        "organization_invites",
        ["created_by_id"],
        unique=False,
    )


def _create_pending_sign_ins() -> None:
    op.create_table(
        "pending_sign_ins",
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("method", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_pending_sign_ins_user_id")
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_pending_sign_ins")),
    )
    op.create_index(
        op.f("ix_pending_sign_ins_expires_at"), "pending_sign_ins", ["expires_at"], unique=False
    )
    op.create_index(
        op.f("ix_pending_sign_ins_user_id"), "pending_sign_ins", ["user_id"], unique=False
    )


def _create_person_distinct_ids(person_id: str) -> None:
    op.create_table(
        "person_distinct_ids",
        sa.Column("project_id", Id, nullable=False),
        sa.Column("distinct_id", sa.Text(), nullable=False),
        sa.Column("person_id", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], [person_id], name=op.f("fk_person_distinct_ids_person_id")
        ),
        sa.PrimaryKeyConstraint("project_id", "distinct_id", name=op.f("pk_person_distinct_ids")),
    )
    op.create_index(
        op.f("ix_person_distinct_ids_person_id"), "person_distinct_ids", ["person_id"], unique=False
    )


def _create_personal_api_keys() -> None:
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
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_personal_api_keys_user_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_personal_api_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_personal_api_keys_hash")),
    )
    op.create_index(
        op.f("ix_personal_api_keys_user_id"), "personal_api_keys", ["user_id"], unique=False
    )


def _create_projects() -> None:
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
        sa.Column("test_account_filters", Json(), nullable=True),
        sa.Column("week_start_day", sa.Integer(), nullable=True),
        sa.Column("path_cleaning_filters", Json(), nullable=True),
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


def _create_recovery_codes() -> None:
    op.create_table(
        "recovery_codes",
        sa.Column("user_id", Id, nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_recovery_codes_user_id")),
        sa.PrimaryKeyConstraint("user_id", "hash", name=op.f("pk_recovery_codes")),
    )


def _create_resource_access() -> None:
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


def _create_roles() -> None:
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


def _create_second_factors() -> None:
    op.create_table(
        "second_factors",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=True),
        sa.Column("confirmed_at", UtcDateTime(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", UtcDateTime(), nullable=True),
        sa.Column("pending_secret", sa.String(length=64), nullable=True),
        sa.Column("pending_until", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_second_factors_user_id")),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_second_factors")),
    )


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("method", sa.String(length=20), nullable=False),
        sa.Column("rights", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("authenticated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("hash", name=op.f("uq_sessions_hash")),
    )
    op.create_index(op.f("ix_sessions_expires_at"), "sessions", ["expires_at"], unique=False)
    op.create_index(op.f("ix_sessions_last_used_at"), "sessions", ["last_used_at"], unique=False)
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"], unique=False)


def _create_sign_in_links() -> None:
    op.create_table(
        "sign_in_links",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("purpose", sa.String(length=40), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sign_in_links_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_links")),
        sa.UniqueConstraint("hash", name=op.f("uq_sign_in_links_hash")),
    )
    op.create_index(
        op.f("ix_sign_in_links_expires_at"), "sign_in_links", ["expires_at"], unique=False
    )
    op.create_index(
        op.f("ix_sign_in_links_user_id_purpose"),
        "sign_in_links",
        ["user_id", "purpose"],
        unique=False,
    )


def _create_webhooks() -> None:
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
        sa.Column("former_secrets", Json(), nullable=True),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_webhooks_created_by_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_webhooks_project_id"), "webhooks", ["project_id"], unique=False)


def _create_alerts() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("insight_id", Id, nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("series_index", sa.Integer(), nullable=False),
        sa.Column("condition", sa.String(length=30), nullable=False),
        sa.Column("threshold", sa.Float(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("last_checked_at", UtcDateTime(), nullable=True),
        sa.Column("due_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("created_by_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("breakdown_value", Json(), nullable=True),
        sa.ForeignKeyConstraint(
            ["created_by_id"], ["users.id"], name=op.f("fk_alerts_created_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["insight_id"], ["insights.id"], name=op.f("fk_alerts_insight_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_alerts_due_at"), "alerts", ["due_at"], unique=False)
    op.create_index(op.f("ix_alerts_project_id"), "alerts", ["project_id"], unique=False)


def _create_cohort_imports() -> None:
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


def _create_cohort_people(person_id: str) -> None:
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
            ["person_id"], [person_id], name=op.f("fk_cohort_people_person_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("cohort_id", "person_id", name=op.f("pk_cohort_people")),
    )
    op.create_index(
        op.f("ix_cohort_people_person_id"), "cohort_people", ["person_id"], unique=False
    )


def _create_dashboard_refreshes() -> None:
    op.create_table(
        "dashboard_refreshes",
        sa.Column("dashboard_id", Id, autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("viewed_at", UtcDateTime(), nullable=False),
        sa.Column("refreshed_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["dashboard_id"],
            ["dashboards.id"],
            name=op.f("fk_dashboard_refreshes_dashboard_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("dashboard_id", name=op.f("pk_dashboard_refreshes")),
    )
    op.create_index(
        op.f("ix_dashboard_refreshes_refreshed_at"),
        "dashboard_refreshes",
        ["refreshed_at"],
        unique=False,
    )


def _create_dashboard_tiles() -> None:
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


def _create_flag_role_access() -> None:
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


def _create_flag_rollback_checks() -> None:
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


def _create_former_project_tokens() -> None:
    op.create_table(
        "former_project_tokens",
        sa.Column("token", sa.String(length=200), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("valid_until", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_former_project_tokens_project_id")
        ),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_former_project_tokens")),
    )
    op.create_index(
        op.f("ix_former_project_tokens_project_id"),
        "former_project_tokens",
        ["project_id"],
        unique=False,
    )


def _create_former_secret_keys() -> None:
    op.create_table(
        "former_secret_keys",
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("mask_value", sa.String(length=20), nullable=False),
        sa.Column("valid_until", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_former_secret_keys_project_id")
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_former_secret_keys")),
    )
    op.create_index(
        op.f("ix_former_secret_keys_project_id"), "former_secret_keys", ["project_id"], unique=False
    )


def _create_invite_roles() -> None:
    op.create_table(
        "invite_roles",
        sa.Column("invite_id", sa.Uuid(), nullable=False),
        sa.Column("role_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["invite_id"],
            ["organization_invites.id"],
            name=op.f("fk_invite_roles_invite_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["role_id"], ["roles.id"], name=op.f("fk_invite_roles_role_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("invite_id", "role_id", name=op.f("pk_invite_roles")),
    )
    op.create_index(op.f("ix_invite_roles_role_id"), "invite_roles", ["role_id"], unique=False)


def _create_project_secret_keys() -> None:
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


def _create_role_memberships() -> None:
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


def _create_scheduled_changes() -> None:
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


def _create_webhook_deliveries() -> None:
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


def _create_cohort_import_parts() -> None:
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
