"""Migrations only add what older programs leave alone, or say from which program on they do not.

Source: decision 32.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Inspector, create_engine, inspect, text

from fanion.db.migrate import FOLDER, OLDEST, REVISIONS, alembic_config

LATER = [name for name in REVISIONS if not name.startswith(OLDEST)]


@dataclass(frozen=True)
class Table:
    """The properties of a table on which a program may rely.

    Attributes:
        columns: The type of each.
        required: The columns that take no null and have no default: an insert has to name them.
        not_null: The columns in which a program finds no null.
        rules: Keys and checks as texts, each with the columns that it concerns.
    """

    columns: Mapping[str, str]
    required: frozenset[str]
    not_null: frozenset[str]
    rules: Mapping[str, frozenset[str]]


Tables = Mapping[str, Table]


def read_tables(connection: Connection) -> Tables:
    inspector = inspect(connection)
    return {name: _read_table(inspector, name) for name in inspector.get_table_names()}


def _read_table(inspector: Inspector, name: str) -> Table:
    columns = inspector.get_columns(name)
    not_null = [column for column in columns if not column["nullable"]]
    return Table(
        {column["name"]: str(column["type"]) for column in columns},
        frozenset(column["name"] for column in not_null if column["default"] is None),
        frozenset(column["name"] for column in not_null),
        dict(_read_rules(inspector, name)),
    )


def _read_rules(inspector: Inspector, name: str) -> Iterator[tuple[str, frozenset[str]]]:
    for unique in inspector.get_unique_constraints(name):
        yield f"unique {unique['column_names']}", frozenset(unique["column_names"])
    for index in inspector.get_indexes(name):
        names = [str(column) for column in index["column_names"]]
        if index["unique"]:
            yield f"unique {names}", frozenset(names)
    for key in inspector.get_foreign_keys(name):
        reference = f"{key['constrained_columns']} in {key['referred_table']} {key['options']}"
        yield reference, frozenset(key["constrained_columns"])
    for check in inspector.get_check_constraints(name):
        columns = inspector.get_columns(name)
        yield f"check {check['sqltext']}", frozenset(column["name"] for column in columns)


def find_limits(before: Tables, after: Tables, relaxed: Mapping[str, str]) -> list[str]:
    """Return what a program that knows `before` can no longer do or rely on.

    Args:
        relaxed: Columns in which older programs never meet a null, with the reason.
    """
    limits = [f"{name} is gone" for name in before.keys() - after.keys()]
    for name in sorted(before.keys() & after.keys()):
        limits += _limits_of(name, before[name], after[name], relaxed)
    return limits


def _limits_of(name: str, before: Table, after: Table, relaxed: Mapping[str, str]) -> Iterator[str]:
    for column, kind in before.columns.items():
        if column not in after.columns:
            yield f"{name}.{column} is gone"
        elif after.columns[column] != kind:
            yield f"{name}.{column} was {kind}"
    for column in sorted(after.required - before.required):
        yield f"{name}.{column} is required"
    for column in sorted(before.not_null - after.not_null):
        if column in after.columns and not relaxed.get(f"{name}.{column}"):
            yield f"{name}.{column} may be null"
    for rule in sorted(after.rules.keys() - before.rules.keys()):
        if after.rules[rule] & before.columns.keys():
            yield f"{name}: {rule}"


@pytest.mark.parametrize("name", LATER)
def test_a_migration_only_expands_or_excludes_older_programs(name: str, tmp_path: Path) -> None:
    migration = ScriptDirectory(str(FOLDER)).get_revision(name.partition("_")[0]).module
    before, after = run_migration(tmp_path / "records.db", migration)

    limits = find_limits(before, after, getattr(migration, "relaxed", {}))

    if migration.oldest_program < migration.revision:
        assert limits == [], "set oldest_program to the migration's own revision"


def run_migration(path: Path, migration: Any) -> tuple[Tables, Tables]:
    """Return the tables of a new store before and after a migration."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection), migration.down_revision)
        before = read_tables(connection)
        command.upgrade(alembic_config(connection), migration.revision)
        after = read_tables(connection)
    engine.dispose()
    return before, after


@pytest.mark.parametrize(
    ("changed", "limits"),
    [
        ("CREATE TABLE new (a)", []),
        ("ALTER TABLE t ADD COLUMN c TEXT", []),
        ("ALTER TABLE t ADD COLUMN c TEXT NOT NULL DEFAULT ''", []),
        ("ALTER TABLE t ADD COLUMN c INTEGER REFERENCES other (id)", []),
        ("CREATE INDEX i ON t (b)", []),
        ("DROP TABLE other", ["other is gone"]),
        ("ALTER TABLE t DROP COLUMN b", ["t.b is gone"]),
        ("ALTER TABLE t RENAME COLUMN b TO c", ["t.b is gone"]),
        ("CREATE UNIQUE INDEX i ON t (b)", ["t: unique ['b']"]),
        (
            "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INTEGER)",
            ["t.a may be null", "t.b was TEXT"],
        ),
        (
            "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT,"
            " c TEXT NOT NULL, FOREIGN KEY (b) REFERENCES other (id), CHECK (a > ''))",
            ["t.c is required", "t: ['b'] in other {}", "t: check a > ''"],
        ),
    ],
)
def test_what_older_programs_cannot_bear_is_noticed(changed: str, limits: list[str]) -> None:
    engine = create_engine("sqlite://")
    tables = (
        "CREATE TABLE other (id INTEGER PRIMARY KEY)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT)",
    )
    with engine.connect() as connection:
        run_all(connection, *tables)
        before = read_tables(connection)
        run_all(connection, *changed.split(";"))

        noticed = find_limits(before, read_tables(connection), {"t.b": "never read"})
    engine.dispose()

    assert sorted(noticed) == sorted(limits)


def run_all(connection: Connection, *statements: str) -> None:
    for statement in statements:
        connection.execute(text(statement))
