"""The members of a cohort as a CSV table: a row for each person, a column for each value.

Source: cohorts.md section 14.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fanion.rest.endpoints import table_lines, text_cell

DISTINCT_IDS_MAX = 10
COLUMNS_MAX = 1_000  # an empty row of this many columns is 1 kB
COLUMN_CHARS_MAX = 400  # in the name of a column, which grows with the depth of nested values
# The last column of a table that lacks some: the number of the row's values that they hold.
LEFT_OUT = "columns_left_out"

_DROPPED = ("uuid", "type", "is_identified", "matched_recordings", "value_at_data_point")
_OWN = frozenset(["created_at", "email", "id", "name"])

_encode = msgspec.json.Encoder().encode

PersonJson = Mapping[str, Any]


class CsvColumns:
    """The columns of all rows, by name.

    Beyond COLUMNS_MAX only the person's own columns and the first of the others by name are kept.
    """

    def __init__(self, columns_max: int = COLUMNS_MAX) -> None:
        self._columns_max = columns_max
        self._names: set[str] = set()
        self.is_cut = False

    def add_row(self, person: PersonJson) -> None:
        cells, too_long = _flat(_reduced(person))
        self._names.update(cells)
        if too_long:
            self.is_cut = True
        if len(self._names) > 2 * self._columns_max:
            self._cut()

    def names(self) -> list[str]:
        """Return the header, with LEFT_OUT at the end if columns are missing."""
        self._cut()
        return sorted(self._names) + ([LEFT_OUT] if self.is_cut else [])

    def _cut(self) -> None:
        if len(self._names) > self._columns_max:
            self.is_cut = True
            self._names = set(sorted(self._names, key=_precedence)[: self._columns_max])


def header_line(columns: list[str]) -> str:
    return table_lines([[text_cell(name) for name in columns]])


def table_rows(persons: Iterable[PersonJson], columns: list[str]) -> str:
    """Return the rows of the table.

    Args:
        persons: As the list of members returns them.
    """
    positions = {name: position for position, name in enumerate(columns)}
    left_out = positions.pop(LEFT_OUT, None)
    return table_lines(_table_row(person, positions, len(columns), left_out) for person in persons)


def _table_row(
    person: PersonJson, positions: Mapping[str, int], length: int, left_out: int | None
) -> list[str]:
    row = [""] * length
    cells, missing = _flat(_reduced(person))
    for name, value in cells.items():
        position = positions.get(name)
        if position is None:
            missing += 1
        elif isinstance(value, str):
            row[position] = text_cell(value)
        elif value is not None:
            row[position] = _encode(value).decode()
    if left_out is not None:
        row[left_out] = str(missing)
    return row


def _reduced(person: PersonJson) -> dict[str, Any]:
    row = {name: value for name, value in person.items() if name not in _DROPPED}
    properties = dict(row.get("properties") or {})
    if properties.get("email"):
        row["email"] = properties.pop("email")
    row["properties"] = properties
    row["distinct_ids"] = list(row.get("distinct_ids") or ())[:DISTINCT_IDS_MAX]
    return row


def _flat(person: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Flatten a person into columns, whose names join the keys of nested values by dots.

    No recursion is used, because values may be nested as deeply as JSON can be read.

    Returns:
        Values by column, and how many values are left out because the name of their column would be
        too long. A nested value that is left out counts once.
    """
    columns: dict[str, Any] = {}
    too_long = 0
    waiting: list[tuple[str, Any]] = [("", person)]
    while waiting:
        before, values = waiting.pop()
        members = values.items() if isinstance(values, dict) else enumerate(values)
        for key, value in members:
            name = f"{before}{key}"
            if len(name) > COLUMN_CHARS_MAX:
                too_long += 1
            elif isinstance(value, dict | list):
                waiting.append((f"{name}.", value))
            else:
                columns[name] = value
    return columns, too_long


def _precedence(name: str) -> tuple[bool, str]:
    is_own = name in _OWN or name.startswith("distinct_ids.")
    return not is_own, name
