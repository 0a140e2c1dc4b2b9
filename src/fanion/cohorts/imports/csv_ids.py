"""The ids in an uploaded CSV file of members, read row by row.

A file with one column holds distinct ids, unless its first row names another kind. In a file with
several columns, the first row has to name the column of ids. `csv_form` tells how to read the file.

Source: cohorts.md sections 10 and 17.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO
from uuid import UUID

from fanion.cohorts.imports.csv_form import (
    ENCODING_BYTES,
    SEPARATORS,
    Form,
    encoding_of,
    find_form,
    named_separator,
    other_separators,
)
from fanion.cohorts.model import IdKind
from fanion.errors import Invalid
from fanion.wire.distinct_id import stored_distinct_id

# No id is longer: a longer cell is cut just above this length and matches no person.
CELL_CHARS_MAX = 1_000
# One line is held in memory at a time; a longer one is refused.
LINE_CHARS_MAX = 1_048_576
# Blank lines before the first row; more of them are refused.
BLANK_LINES_MAX = 1_000
_NO_TEXT = "The file must be encoded in UTF-8, or in UTF-16 with a byte order mark."
_BLANK = ' \t\r\n"' + "".join(SEPARATORS)
# The surrogates that stand for bytes that are not UTF-8.
_UNDECODED = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class CsvIds:
    """The ids of a file.

    Attributes:
        kind: What the ids identify.
        ids: In the order of the file, with repetitions.
    """

    kind: IdKind
    ids: Iterator[str]

    def take_ids(self, ids_max: int) -> list[str]:
        """Return the next ids; an empty list at the end.

        Raises:
            Invalid: The next rows cannot be read.
        """
        return list(islice(self.ids, ids_max))


def read_csv(file: IO[bytes]) -> CsvIds:
    """Read a file row by row, with no more than a line in memory.

    Raises:
        Invalid: The file cannot be read. Reading the ids may raise it as well.
    """
    lines = _lines(file)
    with _refusals():
        head = _head(lines)
        separator = named_separator(head[0])
        if separator is not None:
            head = _head(lines)
        following = _head(lines, required=False)
        form = find_form(head[0], following[0] if following else "", separator)
    return CsvIds(form.kind, _read_ids(chain(head, following, lines), form))


def no_ids() -> Invalid:
    return Invalid("The CSV file contains no ids.", attr="csv")


def ids_of_rows(kind: str, rows: Iterable[str]) -> Mapping[str, str | UUID]:
    """Return the id that each row stands for; rows that cannot be an id are absent."""
    if kind == "person_id":
        return person_ids(rows)
    return {row: row.lower() if kind == "email" else stored_distinct_id(row) for row in rows}


def person_ids(texts: Iterable[str]) -> dict[str, UUID]:
    """Return the UUIDs by text; texts that are not UUIDs are absent."""
    uuids = {}
    for text in texts:
        try:
            uuids[text] = UUID(text)
        except ValueError:
            continue
    return uuids


def _head(lines: Iterator[str], *, required: bool = True) -> list[str]:
    """Return the next line that is not blank, in a list; an empty list if there is none.

    Raises:
        Invalid: There is none, but it is required.
    """
    for line in islice(lines, BLANK_LINES_MAX):
        if line.strip(_BLANK):
            return [line]
    if required:
        raise Invalid("The CSV file is empty.", attr="csv")
    return []


def _read_ids(lines: Iterable[str], form: Form) -> Iterator[str]:
    """Yield the ids of all rows, trimmed, without empty ones.

    NUL is replaced, as capture replaces it.
    """
    with _refusals():
        reader = csv.reader(lines, delimiter=form.separator)
        rows = (row for row in reader if any(cell.strip() for cell in row))
        for row in islice(rows, int(form.has_header), None):
            if len(row) == 1 < form.columns:
                _require_divided(row[0], form, reader.line_num)
            cell = row[form.column].strip() if form.column < len(row) else ""
            if not cell.isascii() and _UNDECODED.search(cell):
                raise Invalid(_NO_TEXT, attr="csv")
            if cell:
                yield cell[: CELL_CHARS_MAX + 1].replace("\0", "\ufffd")


def _require_divided(cell: str, form: Form, line: int) -> None:
    """Raise Invalid for a row that is separated by other characters than the first row."""
    if others := other_separators(cell, form.separator):
        raise Invalid(
            f"Line {line} of the CSV file is separated by {others}, but the first row by "
            f"{SEPARATORS[form.separator]}.",
            attr="csv",
        )


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors of a file that cannot be read into Invalid."""
    try:
        yield
    except UnicodeDecodeError:
        raise Invalid(_NO_TEXT, attr="csv") from None
    except csv.Error as error:
        raise Invalid(f"The file cannot be read as CSV: {error}.", attr="csv") from None


def _lines(file: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a file.

    Only the ids must be text: a name beside them may be in any encoding.
    """
    beginning = file.read(ENCODING_BYTES)
    file.seek(-len(beginning), io.SEEK_CUR)
    encoding = encoding_of(beginning)
    errors = "strict" if "16" in encoding else "surrogateescape"
    text = io.TextIOWrapper(file, encoding=encoding, errors=errors, newline="")
    while line := text.readline(LINE_CHARS_MAX):
        if len(line) == LINE_CHARS_MAX:
            raise csv.Error(f"a line is longer than {LINE_CHARS_MAX} characters")
        yield line
    text.detach()
