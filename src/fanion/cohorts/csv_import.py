"""Reads the ids in an uploaded CSV file of members, row by row.

A file with one column holds distinct ids, unless its first row names it otherwise. Of several
columns the first row has to name the one that counts.

source: cohorts.md sections 10 and 17
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO
from uuid import UUID

from fanion.cohorts.model import IdKind
from fanion.errors import Invalid
from fanion.rest.unknown_fields import shortened
from fanion.wire.distinct_id import stored_distinct_id

# Headers of the column of ids, the preferred kind first.
_HEADERS: tuple[tuple[IdKind, frozenset[str]], ...] = (
    ("person_id", frozenset({"person_id", "person-id", "person .id"})),
    ("distinct_id", frozenset({"distinct_id", "distinct-id"})),
    ("email", frozenset({"email", "e-mail"})),
)
# No id is longer: a longer cell is cut after so many and matches no person.
CELL_CHARS_MAX = 1_000
COLUMNS_NAMED_MAX = 20  # in the refusal of a file
# One line is held in memory at a time; a longer one is refused.
LINE_CHARS_MAX = 1_048_576


@dataclass(frozen=True, slots=True)
class CsvIds:
    """kind: what `ids` are; ids: in the order of the file, with repetitions"""

    kind: IdKind
    ids: Iterator[str]

    def take(self, ids_max: int) -> list[str]:
        """The next ids; none at the end. raises: Invalid"""
        return list(islice(self.ids, ids_max))


def read_csv(file: IO[bytes]) -> CsvIds:
    """Row by row, so that no more of the file than a line is held in memory.

    raises: Invalid for a file that cannot be read; while the ids are read as well
    """
    rows = _rows(file)
    first = next(rows, None)
    if first is None:
        raise Invalid("The CSV file is empty.", attr="csv")
    names = [cell.strip() for cell in first]
    for kind, spellings in _HEADERS:
        for column, name in enumerate(names):
            if name.lower() in spellings:
                return CsvIds(kind, _cells(rows, column))
    filled = [column for column, name in enumerate(names) if name]
    if len(filled) > 1:
        raise _no_id_column([names[column] for column in filled])
    return CsvIds("distinct_id", _cells(chain([first], rows), filled[0]))


def no_ids() -> Invalid:
    return Invalid("The CSV file contains no ids.", attr="csv")


def _no_id_column(names: Sequence[str]) -> Invalid:
    more = len(names) - COLUMNS_NAMED_MAX
    found = ", ".join(shortened(name) for name in names[:COLUMNS_NAMED_MAX])
    found += f" and {more} more" if more > 0 else ""
    return Invalid(
        'The CSV file has several columns, and none is headed "person_id", "distinct_id" or '
        f'"email". Found columns: {found}.',
        attr="csv",
    )


def ids_of_rows(kind: str, rows: Iterable[str]) -> Mapping[str, str | UUID]:
    """By row, the id that it stands for; rows that cannot be an id are absent."""
    if kind == "person_id":
        return person_ids(rows)
    return {row: row.lower() if kind == "email" else stored_distinct_id(row) for row in rows}


def person_ids(texts: Iterable[str]) -> dict[str, UUID]:
    """Of the texts that are UUIDs."""
    found = {}
    for text in texts:
        try:
            found[text] = UUID(text)
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


def _cells(rows: Iterable[Sequence[str]], column: int) -> Iterator[str]:
    """Trimmed, without empty ones. NUL is replaced, as capture replaces it."""
    for row in rows:
        cell = row[column].strip() if column < len(row) else ""
        if cell:
            yield cell[: CELL_CHARS_MAX + 1].replace("\0", "\ufffd")
