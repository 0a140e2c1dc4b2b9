"""The column types that mean the same on SQLite and PostgreSQL."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import JSON, DateTime, Dialect, Text, TypeDecorator
from sqlalchemy.dialects import sqlite

_encode = msgspec.json.Encoder().encode
# Reads JSON stored as text like SQLAlchemy does, on either engine: NULL is None.
_read_json = JSON().result_processor(
    sqlite.dialect(json_deserializer=msgspec.json.Decoder().decode), None
)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime in UTC. SQLite stores no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[datetime | None], Any] | None:
        return _as_text if dialect.name == "sqlite" else _in_utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _in_utc(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    if value.tzinfo is None:
        raise ValueError("a stored time must have a time zone")
    return value.astimezone(UTC)


def _as_text(value: datetime | None) -> str | None:
    """Return a time in SQLAlchemy's format, in two thirds of the time."""
    utc = _in_utc(value)
    return None if utc is None else utc.replace(tzinfo=None).isoformat(" ", "microseconds")


class Json(TypeDecorator[Any]):
    """JSON stored as text, so that exactly what was stored comes back.

    That includes NUL escapes, which PostgreSQL's own JSONB refuses.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else _encode(value).decode()

    def result_processor(self, dialect: Dialect, _: object) -> Callable[[str | None], Any] | None:
        return _read_json


class IdList(TypeDecorator[list[int]]):
    """Ids that a subquery has joined with commas, in ascending order; no column has this type."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> list[int]:
        return sorted(map(int, value.split(","))) if value else []
