"""An answer as a table, and the table as text."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from fanion.rest.endpoints import table_lines, text_cell

_encode = msgspec.json.Encoder(enc_hook=str).encode
_SCALAR: Final = (
    r"U?Int(?:8|16|32|64)|Float(?:32|64)|Bool|String|Date(?:32)?|DateTime(?:64)?(?:\([^()]*\))?"
)
# Types whose values are written as JSON writes them; others are JSON as text.
_PLAIN: Final = re.compile(rf"({_SCALAR})|Nullable\(({_SCALAR})\)")
_WHOLE_MAX: Final = 2**53


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The numbers of an answer as rows.

    Attributes:
        names: The columns, no two of which have the same name.
        types: The event store's type of each column, where it gives one.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    types: Sequence[str] = ()


def make_table(
    names: Sequence[str], rows: Sequence[Sequence[Any]], types: Sequence[str] = ()
) -> AnswerTable:
    """Return a table whose columns have different names."""
    return AnswerTable(list(_different(names)), rows, types)


def _different(names: Sequence[str]) -> Iterator[str]:
    taken: set[str] = set()
    for number, given in enumerate(names, 1):
        own = name = given or f"column {number}"
        copy = 1
        while name in taken:
            copy += 1
            name = f"{own} ({copy})"
        taken.add(name)
        yield name


def csv_text(table: AnswerTable) -> bytes:
    """Return the table as CSV, in which no text is a formula."""
    heading = [text_cell(name) for name in table.names]
    return table_lines([heading, *(list(map(_cell, row)) for row in table.rows)]).encode(
        "utf-8", "replace"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return text_cell(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE_MAX:
        return str(int(value))
    return _encode(value).decode()


def json_lines(table: AnswerTable) -> bytes:
    """Return the rows as JSON, an object a line."""
    return _lines(table, table.rows)


def typed_lines(table: AnswerTable) -> tuple[str, bytes]:
    """Return the columns with their types for the event store, and the rows as JSON lines."""
    types = [_type(table, place) for place in range(len(table.names))]
    texts = {place for place, kind in enumerate(types) if kind == "String"}
    rows = [
        [_as_text(value) if place in texts else value for place, value in enumerate(row)]
        for row in table.rows
    ]
    columns = (
        f"{_quoted(name)} Nullable({kind})" for name, kind in zip(table.names, types, strict=True)
    )
    return ", ".join(columns), _lines(table, rows)


def _lines(table: AnswerTable, rows: Sequence[Sequence[Any]]) -> bytes:
    return b"".join(_encode(dict(zip(table.names, row, strict=True))) + b"\n" for row in rows)


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _encode(value).decode()


def _type(table: AnswerTable, place: int) -> str:
    """Return the type of a column, all of whose values may be missing."""
    if not table.types:
        return _type_of([row[place] for row in table.rows if row[place] is not None])
    plain = _PLAIN.fullmatch(table.types[place])
    return "String" if plain is None else plain[1] or plain[2]


def _type_of(values: Sequence[Any]) -> str:
    kinds = set(map(type, values))
    if not kinds or not kinds <= {bool, int, float}:
        return "String"
    if kinds == {bool}:
        return "Bool"
    return "Int64" if kinds == {int} else "Float64"


def _quoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


TEXTS: Final[Mapping[str, Callable[[AnswerTable], bytes]]] = {
    "csv": csv_text,
    "jsonl": json_lines,
}
