"""The tables of the records store that a move copies, and those that it does not."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

from sqlalchemy import Column, MetaData, Table, Text
from sqlalchemy.types import TypeEngine

from fanion.db import schema
from fanion.db.columns import Json
from fanion.db.schema.tables import metadata

# Tables whose rows belong to one records store, with the reason.
OWN: Final = {
    "accept_log": "only its sequence is used",
    "accept_log_entries": "sent on from the log, in order and once",
    "accept_log_lanes": "filled by a migration",
    "accept_log_sizes": "the size of the log in this database",
    "change_feed": "written by triggers",
    "installation": "names the event store, which is another one afterwards",
    "job_leases": "held by servers on this store",
    "log_positions": "in the log of this store",
    "log_workers": "servers on this store",
    "maintenance": "of this store",
    "mirror_versions": "a sequence on PostgreSQL, a row in SQLite",
    "query_cancellations": "of queries that run on this store's servers",
    "question_places": "of questions that run on this store's servers",
    "schema_compatibility": "written by migrations",
}


def all_tables() -> list[Table]:
    """Return every table of the records store, each after those that it refers to."""
    for module in iter_modules(schema.__path__):
        import_module(f"{schema.__name__}.{module.name}")
    return metadata.sorted_tables


def moved_tables() -> list[Table]:
    """Return the tables to copy, each after those that it refers to.

    Their columns of JSON are texts, so that exactly what is stored is copied.
    """
    return [_plain(table) for table in all_tables() if table.name not in OWN]


def _plain(table: Table) -> Table:
    columns: list[Column[Any]] = [
        Column(
            column.name,
            _plain_type(column.type),
            primary_key=column.primary_key,
            autoincrement=column.autoincrement,
            nullable=column.nullable,
        )
        for column in table.columns
    ]
    return Table(table.name, MetaData(), *columns)


def _plain_type(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    return Text() if isinstance(kind, Json) else kind
