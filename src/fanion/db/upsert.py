"""INSERT … ON CONFLICT, which both engines have under one name each."""

from sqlalchemy import Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(dialect: Dialect, table: Table) -> postgresql.Insert | sqlite.Insert:
    return sqlite.insert(table) if dialect.name == "sqlite" else postgresql.insert(table)
