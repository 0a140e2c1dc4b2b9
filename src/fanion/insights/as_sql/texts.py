"""The words of a SELECT: quoted texts, names of columns and the layout of its clauses."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from sqlglot.dialects.clickhouse import ClickHouse

# What a list of rows has at most; without a limit it would be cut after 100.
ROWS_MAX: Final = 10_000
_PLAIN: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_KEYWORDS: Final = frozenset(ClickHouse.Tokenizer.KEYWORDS)


def quoted(text: str) -> str:
    """Return a text as SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def within(expression: str) -> str:
    """Return an expression of a user within parentheses; a comment in it ends before the last."""
    has_comment = "--" in expression or "#" in expression
    return f"({expression}{chr(10) * has_comment})"


def property_of(owner: str, key: str) -> str:
    """Return a property as SQL.

    Args:
        owner: Empty for the event, otherwise `person`, `group_0` and so on.
    """
    properties = f"{owner}.properties" if owner else "properties"
    if _PLAIN.fullmatch(key) and key.upper() not in _KEYWORDS:
        return f"{properties}.{key}"
    return f"{properties}[{quoted(key)}]"


def local_text(moment: datetime, zone: ZoneInfo) -> str:
    """Return a time as text of the zone, or in UTC where the clock of the zone repeats it."""
    local = moment.astimezone(zone).replace(tzinfo=None)
    if local.replace(tzinfo=zone).astimezone(UTC) != moment.astimezone(UTC):
        return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(' ')}Z"
    return local.isoformat(" ")


def all_of(conditions: Sequence[str]) -> str:
    return " AND ".join(conditions)


def select(
    columns: Sequence[str],
    rows: str,
    where: Sequence[str] = (),
    group: Sequence[str] = (),
    order: Sequence[str] = (),
) -> str:
    """Return a SELECT, a clause a line.

    Args:
        rows: A table, or another SELECT.
    """
    lines = [f"SELECT {', '.join(columns)}", f"FROM {_source(rows)}"]
    if where:
        lines.append("WHERE " + "\n  AND ".join(where))
    if group:
        lines.append(f"GROUP BY {', '.join(group)}")
    if order:
        lines += [f"ORDER BY {', '.join(order)}", f"LIMIT {ROWS_MAX}"]
    return "\n".join(lines)


def _source(rows: str) -> str:
    if "\n" not in rows:
        return rows
    inner = "\n".join(f"  {line}" for line in rows.split("\n"))
    return f"(\n{inner}\n)"
