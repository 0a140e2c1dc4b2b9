"""The statements that divide `persons` in PostgreSQL into partitions (decision 20).

What a partitioned table cannot enforce, `person_keys` does: it has a row for each person, which the
triggers of `persons` write, the unique UUID, and what foreign keys refer to. Before `persons` is
divided, and in SQLite, `person_keys` is a view.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

# Each statement about many persons opens all of them.
PARTITIONS: Final = 16

VIEW: Final = "CREATE VIEW person_keys AS SELECT id AS person_id, project_id, uuid FROM persons"
IS_DIVIDED: Final = "SELECT relkind = 'p' FROM pg_class WHERE oid = 'persons'::regclass"
COLUMNS: Final = """
SELECT attname::text
  FROM pg_attribute
 WHERE attrelid = 'persons'::regclass AND attnum > 0 AND NOT attisdropped
 ORDER BY attnum
"""
# Foreign keys that refer to persons.
REFERENCES: Final = """
SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid)
  FROM pg_constraint
 WHERE contype = 'f' AND confrelid = 'persons'::regclass
 ORDER BY 1, 2
"""
# Until the tables change places. `NEW_KEYS` is what will be `person_keys`.
NEW, OLD, NEW_KEYS = "persons_partitioned", "persons_unpartitioned", "person_keys_partitioned"
_INDEXES = ("project_id, uuid", "project_id, created_at", "project_id, email")
# An id, and what a person is known by in the event store, never change.
_FIXED = ("id", "project_id", "uuid")


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key of `table` to persons. definition: as PostgreSQL writes it"""

    table: str
    name: str
    definition: str

    @property
    def new_name(self) -> str:
        return f"new_{self.name}"

    @property
    def is_added(self) -> str:
        """Selects whether the new one is valid; no row before it is added."""
        of_table = f"conrelid = '{self.table}'::regclass AND conname = '{self.new_name}'"
        return f"SELECT convalidated FROM pg_constraint WHERE {of_table}"

    @property
    def add(self) -> str:
        """Rows that are there are not checked, which would hold its locks meanwhile."""
        target = self.definition.replace(" persons(id)", f" {NEW_KEYS}(person_id)")
        return f"ALTER TABLE {self.table} ADD CONSTRAINT {self.new_name} {target} NOT VALID"

    @property
    def validate(self) -> str:
        return f"ALTER TABLE {self.table} VALIDATE CONSTRAINT {self.new_name}"

    def replace(self) -> Iterable[str]:
        yield f"ALTER TABLE {self.table} DROP CONSTRAINT {self.name}"
        yield f"ALTER TABLE {self.table} RENAME CONSTRAINT {self.new_name} TO {self.name}"


def create() -> Iterable[str]:
    """The divided table, empty, with its keys."""
    yield f"CREATE TABLE {NEW} (LIKE persons INCLUDING DEFAULTS) PARTITION BY HASH (id)"
    yield f"ALTER TABLE {NEW} ADD CONSTRAINT new_pk_persons PRIMARY KEY (id)"
    for columns in _INDEXES:
        yield f"CREATE INDEX new_{_index(columns)} ON {NEW} ({columns})"
    for number in range(PARTITIONS):
        bounds = f"MODULUS {PARTITIONS}, REMAINDER {number}"
        yield f"CREATE TABLE persons_{number:02} PARTITION OF {NEW} FOR VALUES WITH ({bounds})"
    yield f"""
    CREATE TABLE {NEW_KEYS} (
      person_id bigint NOT NULL,
      project_id bigint NOT NULL,
      uuid uuid NOT NULL,
      CONSTRAINT pk_person_keys PRIMARY KEY (person_id),
      CONSTRAINT uq_person_keys_project_id_uuid UNIQUE (project_id, uuid)
    )
    """
    yield from _functions(NEW_KEYS)
    yield f"""
    CREATE TRIGGER record_person_keys AFTER INSERT ON {NEW} REFERENCING NEW TABLE AS created
    FOR EACH STATEMENT EXECUTE FUNCTION record_person_keys()
    """
    yield f"""
    CREATE TRIGGER forget_person_keys AFTER DELETE ON {NEW} REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION forget_person_keys()
    """
    yield f"""
    CREATE TRIGGER keep_person_keys BEFORE UPDATE OF {", ".join(_FIXED)} ON {NEW}
    FOR EACH STATEMENT EXECUTE FUNCTION keep_person_keys()
    """


def follow(columns: Sequence[str]) -> Iterable[str]:
    """From now on every change of `persons` is made in the divided table too, by the transaction
    that makes it: also a change by a program of an earlier version."""
    names = ", ".join(columns)
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in _FIXED)
    # Deleted one by one: planned for many at once, a deletion might read all partitions.
    yield f"""
    CREATE FUNCTION copy_persons() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      person_id bigint;
    BEGIN
      IF TG_OP = 'DELETE' THEN
        FOR person_id IN SELECT id FROM changed LOOP
          DELETE FROM {NEW} WHERE id = person_id;
        END LOOP;
      ELSE
        INSERT INTO {NEW} ({names}) SELECT {names} FROM changed
        ON CONFLICT (id) DO UPDATE SET {changes};
      END IF;
      RETURN NULL;
    END $$
    """
    for operation, rows in (("insert", "NEW"), ("update", "NEW"), ("delete", "OLD")):
        yield f"""
        CREATE TRIGGER copy_{operation} AFTER {operation} ON persons
        REFERENCING {rows} TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION copy_persons()
        """


def copy(columns: Sequence[str], chosen: str) -> str:
    """Copies persons, and selects the ids of those that others have locked; with the last of the
    ids, null for none.

    Shared locks on the rows that are copied delay their changes and deletion to the end of the
    statement. Locked rows are left out, so that it waits for nobody and is in no deadlock.

    chosen: the condition on `persons`
    """
    names = ", ".join(columns)
    return f"""
    WITH chosen AS MATERIALIZED (
      SELECT id FROM persons WHERE {chosen}
    ), locked AS MATERIALIZED (
      SELECT * FROM persons WHERE {chosen} FOR SHARE SKIP LOCKED
    ), copied AS (
      INSERT INTO {NEW} ({names}) SELECT {names} FROM locked
      ON CONFLICT (id) DO NOTHING
    )
    SELECT ARRAY(SELECT id FROM chosen EXCEPT SELECT id FROM locked) AS skipped
    """


def swap(references: Iterable[Reference]) -> Iterable[str]:
    """The divided table takes the place of `persons`, whose rows and names it has."""
    for one in references:
        yield from one.replace()
    yield "DROP VIEW person_keys"
    yield f"ALTER TABLE {NEW_KEYS} RENAME TO person_keys"
    yield from _functions("person_keys")
    yield f"ALTER TABLE persons RENAME TO {OLD}"
    yield f"ALTER TABLE {OLD} RENAME CONSTRAINT pk_persons TO old_pk_persons"
    yield f"ALTER TABLE {NEW} RENAME TO persons"
    yield "ALTER TABLE persons RENAME CONSTRAINT new_pk_persons TO pk_persons"
    for name in map(_index, _INDEXES):
        yield f"ALTER INDEX IF EXISTS {name} RENAME TO old_{name}"
        yield f"ALTER INDEX new_{name} RENAME TO {name}"
    yield "ALTER SEQUENCE persons_id_seq OWNED BY persons.id"


def stop_following() -> Iterable[str]:
    for operation in ("insert", "update", "delete"):
        yield f"DROP TRIGGER copy_{operation} ON persons"
    yield "DROP FUNCTION copy_persons()"


def _functions(keys: str) -> Iterable[str]:
    yield f"""
    CREATE OR REPLACE FUNCTION record_person_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO {keys} (person_id, project_id, uuid) SELECT id, project_id, uuid FROM created;
      RETURN NULL;
    END $$
    """
    yield f"""
    CREATE OR REPLACE FUNCTION forget_person_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM {keys} WHERE person_id IN (SELECT id FROM deleted);
      RETURN NULL;
    END $$
    """
    yield """
    CREATE OR REPLACE FUNCTION keep_person_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'id, project_id and uuid of a person do not change';
    END $$
    """


def _index(columns: str) -> str:
    return f"ix_persons_{columns.replace(', ', '_')}"
