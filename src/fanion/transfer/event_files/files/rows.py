"""Rows of JSON lines and of CSV, each with its place, or the reason why it cannot be read."""

import csv
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from fanion.errors import AppError
from fanion.transfer.event_files.model import FileProblem, Line, Row
from fanion.wire.decoding import parse_json

# A quoted text may have line breaks; one that is not closed would have the rest of the file.
QUOTED_LINES_MAX = 1000
QUOTED_BYTES_MAX = 1024**2
# Longer than a line may be. The limit of `csv` is one of the process, so the program sets it.
FIELD_CHARS_MAX = 32 * 1024**2
COLUMNS_MAX = 10_000
TOO_LONG = "the line is longer than 16 MiB"
_DELIMITERS = (",", ";", "\t", "|")

_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


def json_rows(lines: Iterator[Line]) -> Iterator[Row]:
    """Yield a row for each line that is not empty."""
    for text, number, end in lines:
        if text is None:
            yield Row(None, number, b"", TOO_LONG, number, end)
        elif text.strip():
            fields, reason = _read_object(text)
            yield Row(fields, number, text, reason, number, end)


def _read_object(text: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        return _decode_object(text), ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _read_tolerantly(text, error)


def _read_tolerantly(text: bytes, error: Exception) -> tuple[dict[str, Any] | None, str]:
    """Read what capture accepts too, such as NaN, or say what the strict reader has found."""
    try:
        value = parse_json(text)
    except (AppError, RecursionError):
        if isinstance(error, UnicodeDecodeError):
            return None, _not_utf8(text, error)
        return None, f"not JSON: {error}"
    return (value, "") if isinstance(value, dict) else (None, "not a JSON object")


def _not_utf8(text: bytes, error: UnicodeDecodeError) -> str:
    try:
        text.decode()
    except UnicodeDecodeError as whole:
        error = whole
    return f"not UTF-8: byte 0x{error.object[error.start]:02x} at position {error.start + 1}"


class CsvRows:
    """The rows of a CSV file with a header.

    Attributes:
        columns: The names of the header, in order.
    """

    def __init__(self, name: str, lines: Iterator[Line]) -> None:
        """Read the header.

        Raises:
            FileProblem: The header cannot be read, or names a column twice.
        """
        self._name, self._lines = name, lines
        self._waiting: deque[Line] = deque()
        header = next(lines, None)
        self.header = header
        self.columns = [] if header is None else self._read_header(header)

    def _read_header(self, line: Line) -> list[str]:
        place = f"{self._name}, line 1"
        if line.text is None:
            raise FileProblem(f"{place}: {TOO_LONG}")
        try:
            text = line.text.decode()
        except UnicodeDecodeError as error:
            raise FileProblem(f"{place}: {_not_utf8(line.text, error)}") from None
        if text.startswith(("{", "[")):
            raise FileProblem(f"{place}: JSON instead of a header of CSV.")
        self._delimiter = max(_DELIMITERS, key=text.count)
        columns = [name.strip() for name in next(csv.reader([text], delimiter=self._delimiter), [])]
        twice = sorted({name for name in columns if columns.count(name) > 1 and name})
        if len(columns) > COLUMNS_MAX:
            raise FileProblem(f"{place}: more than {COLUMNS_MAX} columns.")
        if twice:
            raise FileProblem(f"{place}: the column {twice[0]!r} is there twice.")
        return columns

    def rows(self) -> Iterator[Row]:
        """Yield a row for each record that is not empty."""
        self._plain = self._delimiter.encode() if self.columns else b","
        while (line := self._next_line()) is not None:
            if line.text is None:
                yield Row(None, line.number, b"", TOO_LONG, line.number, line.end)
            elif line.text:
                yield self._read_record(line, line.text)

    def _next_line(self) -> Line | None:
        return self._waiting.popleft() if self._waiting else next(self._lines, None)

    def _read_record(self, line: Line, text: bytes) -> Row:
        try:
            if b'"' not in text:
                return self._row(line, text, text.decode().split(self._delimiter), line)
            values, last = self._parse(text.decode()), line
            if values is None:
                text, values, last = self._read_quoted(line, text)
            return self._row(line, text, values, last)
        except UnicodeDecodeError as error:
            reason = _not_utf8(text, error)
        except csv.Error as error:
            reason = f"not CSV: {error}"
        return Row(None, line.number, text, reason, line.number, line.end)

    def _read_quoted(self, first: Line, text: bytes) -> tuple[bytes, list[str], Line]:
        """Read a record with line breaks; its lines are read again if it does not end."""
        used: list[Line] = []
        while len(used) < QUOTED_LINES_MAX and len(text) < QUOTED_BYTES_MAX:
            line = self._next_line()
            if line is None:
                break
            used.append(line)
            text += b"\n" + (line.text or b"")
            if b'"' in (line.text or b""):
                values = self._parse(text.decode())
                if values is not None:
                    return text, values, line
        self._waiting.extendleft(reversed(used))
        raise csv.Error("a quote is opened and not closed")

    def _parse(self, text: str) -> list[str] | None:
        """Return the values of a record; None if it goes on in the next line."""
        try:
            return next(csv.reader([text], delimiter=self._delimiter, strict=True), [])
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                return None
            raise

    def _row(self, line: Line, text: bytes, values: list[str], last: Line) -> Row:
        if len(values) != len(self.columns):
            reason = f"{len(values)} values, but the header has {len(self.columns)} columns"
            return Row(None, line.number, text, reason, last.number, last.end)
        fields = dict(zip(self.columns, values, strict=True))
        return Row(fields, line.number, text, "", last.number, last.end)
