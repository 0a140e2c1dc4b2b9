"""Files of members for static cohorts, read row by row.

Without a header the first column holds distinct ids. A first row that names a column tells
which one counts, and what it holds.

source: cohorts.md sections 10 and 17
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Literal
from uuid import UUID

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
# One line is held in memory; a file that is all one line is no table.
LINE_CHARS_MAX = 1_048_576


@dataclass(frozen=True, slots=True)
class Members:
    """kind: what `ids` are; ids: as they stand in the file, some of them several times"""

    kind: Kind
    ids: Iterator[str]

    def take(self, ids_max: int) -> list[str]:
        """The next ids, each once; none at the end. raises: Invalid"""
        some: dict[str, None] = {}
        for one in self.ids:
            some[one] = None
            if len(some) >= ids_max:
                break
        return list(some)


def read_csv(file: IO[bytes]) -> Members:
    """Row by row, so that no more of the file than a line is held in memory.

    raises: Invalid for a file that cannot be read; while the ids are read as well
    """
    rows = _rows(file)
    first = next(rows, None)
    if first is None:
        return Members("distinct_id", iter(()))
    names = [cell.strip().lower() for cell in first]
    for kind, spellings in _HEADERS:
        for column, name in enumerate(names):
            if name in spellings:
                return Members(kind, _cells(rows, column))
    return Members("distinct_id", _with_first(first, rows))


def person_ids(texts: Iterable[str]) -> list[UUID]:
    """Those that are UUIDs: any other text is no id of a person."""
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def _rows(file: IO[bytes]) -> Iterator[Sequence[str]]:
    try:
        for row in csv.reader(_lines(file)):
            if any(cell.strip() for cell in row):
                yield row
    except UnicodeDecodeError:
        raise Invalid("The file must be encoded in UTF-8.", attr="csv") from None
    except csv.Error as error:
        raise Invalid(f"The file cannot be read as CSV: {error}.", attr="csv") from None


def _lines(file: IO[bytes]) -> Iterator[str]:
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    while line := text.readline(LINE_CHARS_MAX):
        if len(line) == LINE_CHARS_MAX:
            raise csv.Error(f"a line is longer than {LINE_CHARS_MAX} characters")
        yield line
    text.detach()


def _cells(rows: Iterator[Sequence[str]], column: int) -> Iterator[str]:
    for row in rows:
        cell = row[column].strip() if column < len(row) else ""
        if cell and len(cell) <= CELL_CHARS_MAX and "\0" not in cell:
            yield cell


def _with_first(first: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield from _cells(iter([first]), 0)
    yield from _cells(rows, 0)
