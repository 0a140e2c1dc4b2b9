"""Rows of persons and groups as text of an export."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from fanion.events.storage.export_query import ExportFormat
from fanion.rest.endpoints import table_lines, text_cell

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of an export.

    Attributes:
        columns: The event store's type of each, by name, for Parquet.
    """

    columns: Mapping[str, str]

    @property
    def schema(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.columns.items())

    def head(self, file_format: ExportFormat) -> bytes:
        return table_lines([list(self.columns)]).encode() if file_format == "csv" else b""

    def json_text(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        return b"".join(_encode(row) + b"\n" for row in rows)

    def csv_text(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        return table_lines([_cell(row[name]) for name in self.columns] for row in rows).encode()


TEXTS: Final[Mapping[ExportFormat, Callable[[Table, Sequence[Mapping[str, Any]]], bytes]]] = {
    "csv": Table.csv_text,
    "jsonl": Table.json_text,
    "parquet": Table.json_text,
}


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return text_cell(value)
    return _encode(value).decode()
