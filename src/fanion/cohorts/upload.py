"""Files of members for static cohorts.

Without a header the first column holds distinct ids. A first row that names a column tells
which one counts, and what it holds.

source: cohorts.md sections 10 and 17
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fanion.errors import Invalid

Kind = Literal["distinct_id", "person_id", "email"]

# The one that is named wins over those behind it.
_HEADERS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("person_id", frozenset({"person_id", "person-id", "person .id"})),
    ("distinct_id", frozenset({"distinct_id", "distinct-id"})),
    ("email", frozenset({"email", "e-mail"})),
)
# A cell that is longer is no id of anybody.
CELL_CHARS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Members:
    """kind: what `ids` are; ids: as they stand in the file, some of them several times"""

    kind: Kind
    ids: Iterator[str]


def check_csv(raw: bytes) -> None:
    """raises: Invalid for a file that cannot be read"""
    try:
        for _ in read_csv(raw).ids:
            pass
    except UnicodeDecodeError:
        raise Invalid("The file must be encoded in UTF-8.", attr="csv") from None
    except csv.Error as error:
        raise Invalid(f"The file cannot be read as CSV: {error}.", attr="csv") from None


def read_csv(raw: bytes) -> Members:
    """Row by row, so that only the file itself is held in memory.

    raises: UnicodeDecodeError, csv.Error; while it is read as well
    """
    rows = _rows(raw)
    first = next(rows, None)
    if first is None:
        return Members("distinct_id", iter(()))
    names = [cell.strip().lower() for cell in first]
    for kind, spellings in _HEADERS:
        for column, name in enumerate(names):
            if name in spellings:
                return Members(kind, _cells(rows, column))
    return Members("distinct_id", _with_first(first, rows))


def _rows(raw: bytes) -> Iterator[Sequence[str]]:
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")
    for row in csv.reader(text):
        if any(cell.strip() for cell in row):
            yield row


def _cells(rows: Iterator[Sequence[str]], column: int) -> Iterator[str]:
    for row in rows:
        cell = row[column].strip() if column < len(row) else ""
        if cell and len(cell) <= CELL_CHARS_MAX and "\0" not in cell:
            yield cell


def _with_first(first: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield from _cells(iter([first]), 0)
    yield from _cells(rows, 0)
