"""The form of an uploaded CSV file: its encoding, its separator, and where the ids are.

Spreadsheets separate columns by a character that depends on the language of the computer, and name
it in the first line, if at all. Therefore the first row decides: the character that separates a
column of ids in it separates all rows. A pipe that separates none is a part of ids, as in
`auth0|5f7c8ec7`.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fanion.cohorts.model import IdKind
from fanion.errors import Invalid
from fanion.rest.unknown_fields import shortened

SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
COLUMNS_NAMED_MAX = 20  # in the error that refuses a file
# Names of a column of ids, without case, blanks and punctuation; the preferred kind first.
_KINDS: Final[dict[str, IdKind]] = {
    "personid": "person_id",
    "distinctid": "distinct_id",
    "email": "email",
}
_PUNCTUATION = re.compile(r"[\s._-]+")
_DIRECTIVE = re.compile(r'"?sep=(.*?)"?', re.IGNORECASE)
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
ENCODING_BYTES: Final = 4  # at the beginning of a file, which tell its encoding


@dataclass(frozen=True, slots=True)
class Form:
    """The layout of a file's rows.

    Attributes:
        columns: The number of columns in the first row.
        column: The index of the column of ids.
        kind: What the ids identify.
        has_header: Whether the first row only names the columns.
    """

    separator: str
    columns: int
    column: int
    kind: IdKind
    has_header: bool


def encoding_of(beginning: bytes) -> str:
    """Return the encoding of a file, judged by its first bytes.

    It is UTF-8, or UTF-16 as spreadsheets write it.
    """
    encoding = next((name for mark, name in _BOMS if beginning.startswith(mark)), None)
    if encoding is not None:
        return encoding
    letters, zeros = beginning[:ENCODING_BYTES:2], beginning[1:ENCODING_BYTES:2]
    if zeros == b"\0\0" and b"\0" not in letters:
        return "utf-16-le"
    return "utf-16-be" if letters == b"\0\0" and b"\0" not in zeros else "utf-8"


def named_separator(line: str) -> str | None:
    """Return the separator that a first line such as `sep=;` names; None for any other line.

    Raises:
        Invalid: The line names a character that cannot separate columns.
    """
    directive = _DIRECTIVE.fullmatch(line.rstrip("\r\n"))
    if directive is None:
        return None
    if directive[1] not in SEPARATORS:
        raise Invalid(
            f'The first line of the CSV file says "sep={shortened(directive[1])}". Columns can be '
            f"separated by {_listed(list(SEPARATORS), 'and')}.",
            attr="csv",
        )
    return directive[1]


def find_form(first: str, second: str, separator: str | None = None) -> Form:
    """Return how to read a file, judged by its first two lines that are not blank.

    Args:
        second: "" if there is none.
        separator: The one that a line before them names.

    Raises:
        Invalid: The file can be read in several ways, or has no column of ids.
    """
    if separator is not None:
        return _form_with(first, separator)
    dividing = [candidate for candidate in SEPARATORS if _is_divided(first, candidate)]
    headed = [
        candidate for candidate in dividing if _id_column(_cells(first, candidate)) is not None
    ]
    if len(headed) > 1:
        raise Invalid(
            "The CSV file can be read in several ways: in its first row, "
            f'"{shortened(_printable(first))}", a column of ids is separated by '
            f"{_listed(headed, 'and one by')}.",
            attr="csv",
        )
    if headed:
        return _form_with(first, headed[0])
    dividing = [candidate for candidate in dividing if candidate != "|"]
    if dividing:
        return _form_with(first, dividing[0])  # is refused, because it has no column of ids
    _require_one_column(first, second)
    named = (
        candidate for candidate in SEPARATORS if _id_column(_cells(first, candidate)) is not None
    )
    return _form_with(first, next(named, ","))


def _form_with(first: str, separator: str) -> Form:
    cells = _cells(first, separator)
    id_column = _id_column(cells)
    if id_column is not None:
        column, kind = id_column
        return Form(separator, len(cells), column, kind, has_header=True)
    filled = [column for column, name in enumerate(cells) if name]
    if len(filled) > 1:
        raise _no_id_column([cells[column] for column in filled], separator)
    return Form(separator, len(cells), filled[0], "distinct_id", has_header=False)


def _require_one_column(first: str, second: str) -> None:
    """Raise Invalid if the second row has several columns below a name for one."""
    if _id_column(_cells(first, ",")) is None:
        return
    dividing = [candidate for candidate in (";", "\t") if _is_divided(second, candidate)]
    if dividing:
        raise Invalid(
            f'The first row of the CSV file, "{shortened(_printable(first))}", names one column, '
            f'but the next row, "{shortened(_printable(second))}", has several, separated by '
            f"{_listed(dividing, 'and')}. Name all columns in the first row.",
            attr="csv",
        )


def _id_column(cells: Sequence[str]) -> tuple[int, IdKind] | None:
    names = [_PUNCTUATION.sub("", cell).lower() for cell in cells]
    for name, kind in _KINDS.items():
        if name in names:
            return names.index(name), kind
    return None


def _is_divided(line: str, separator: str) -> bool:
    """Return whether a line has several columns that are not empty."""
    return sum(map(bool, _cells(line, separator))) > 1


def _cells(line: str, separator: str) -> list[str]:
    row = next(csv.reader([line], delimiter=separator), [])
    return [cell.strip() for cell in row]


def _no_id_column(names: Sequence[str], separator: str) -> Invalid:
    more = len(names) - COLUMNS_NAMED_MAX
    listed = ", ".join(shortened(_printable(name)) for name in names[:COLUMNS_NAMED_MAX])
    listed += f" and {more} more" if more > 0 else ""
    by = "" if separator == "," else f" (separated by {SEPARATORS[separator]})"
    return Invalid(
        'The CSV file has several columns, and none is headed "person_id", "distinct_id" or '
        f'"email". Found columns{by}: {listed}.',
        attr="csv",
    )


def other_separators(cell: str, separator: str) -> str:
    """Return the names of other separators in the only cell of a row; "" if there are none."""
    return _listed([other for other in SEPARATORS if other != separator and other in cell], "and")


def _listed(separators: Sequence[str], last: str) -> str:
    *names, end = [SEPARATORS[separator] for separator in separators] or [""]
    return f"{', '.join(names)} {last} {end}" if names else end


def _printable(text: str) -> str:
    """Remove line ends, and replace bytes that are not text, which no response can hold."""
    return text.strip().encode("utf-8", "replace").decode()
