"""One feed of changes, in place of asking for each project whether it has changed."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
# Triggers write the feed: changes made by older programs are in it too.
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# Table, topic, and the column with the id that is fed.
FED = (
    ("projects", "project", "id"),
    ("former_project_tokens", "project", "project_id"),
    ("flag_versions", "flags", "project_id"),
)
# At least so many rows stay. They are trimmed many at a time: deleted rows are still looked at by
# the transaction that has deleted them.
KEPT, TRIMMED = 10_000, 1_000

# The lock lasts until the transaction has become visible: numbers are in the order of commits. As
# the trigger is deferred, the lock is the last that a transaction takes, and is held for its commit
# alone. Nothing is in the feed before its transaction is complete.
POSTGRESQL_FUNCTION = f"""
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
POSTGRESQL_TRIGGER = """
CREATE CONSTRAINT TRIGGER feed_{table}
AFTER INSERT OR UPDATE OR DELETE ON {table}
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION append_to_change_feed('{topic}', '{column}')
"""
# SQLite has one writing transaction at a time.
SQLITE_TRIGGER = f"""
CREATE TRIGGER feed_{{table}}_{{operation}} AFTER {{operation}} ON {{table}}
BEGIN
  INSERT INTO change_feed (topic, item_id) VALUES ('{{topic}}', {{row}}.{{column}});
  DELETE FROM change_feed
   WHERE last_insert_rowid() % {TRIMMED} = 0 AND number <= last_insert_rowid() - {KEPT};
END
"""


def upgrade() -> None:
    op.create_table(
        "change_feed",
        sa.Column("number", Id, autoincrement=True, nullable=False),
        sa.Column("topic", sa.String(length=32), nullable=False),
        sa.Column("item_id", Id, nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_change_feed")),
        sqlite_autoincrement=True,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(POSTGRESQL_FUNCTION)
    for table, topic, column in FED:
        _feed(table, topic, column)


def _feed(table: str, topic: str, column: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(POSTGRESQL_TRIGGER.format(table=table, topic=topic, column=column))
        return
    for operation, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
        values = {"table": table, "topic": topic, "column": column, "row": row}
        op.execute(SQLITE_TRIGGER.format(operation=operation, **values))
