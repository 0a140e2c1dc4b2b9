"""The rows of each file of an import, from any position."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from typing import Literal, NamedTuple

from fanion.transfer.event_files.files.file_reader import LineReader, SourceFile
from fanion.transfer.event_files.files.parquet_reader import ParquetReader
from fanion.transfer.event_files.files.rows import CsvRows, json_rows
from fanion.transfer.event_files.model import FileProblem, Line, Row

Kind = Literal["posthog", "mixpanel", "amplitude", "umami", "csv", "jsonl", "parquet"]
GENERIC = ("csv", "jsonl", "parquet")


class Place(NamedTuple):
    """A position in a file, behind a row; at the beginning, all are 0."""

    line: int = 0
    end: int = 0


START = Place()


class OpenRows(NamedTuple):
    """A file that is read.

    Attributes:
        columns: Of all its rows; None where each row may have others.
    """

    columns: Sequence[str] | None
    rows: Iterator[Row]


@contextmanager
def open_rows(source: SourceFile, kind: Kind, place: Place = START) -> Iterator[OpenRows]:
    """Open a file and go on behind a place.

    Raises:
        FileProblem: The file cannot be read, or is of another kind.
    """
    _check_kind(source, kind)
    if source.path is not None:
        with closing(ParquetReader(source, source.path)) as parquet:
            parquet.skip_to(*place)
            yield OpenRows(None, json_rows(parquet.lines()))
        return
    with closing(LineReader(source)) as reader:
        lines = reader.lines()
        first = next(lines, None)
        if first is None:
            yield OpenRows([], iter(()))
            return
        if _is_csv(source, kind, first):
            table = CsvRows(source.name, chain([first], lines))
            if place.end > reader.end:
                reader.skip_to(*place)
            yield OpenRows(table.columns, table.rows())
        elif place.end:
            reader.skip_to(*place)
            yield OpenRows(None, json_rows(reader.lines()))
        else:
            yield OpenRows(None, json_rows(chain([first], lines)))


def _check_kind(source: SourceFile, kind: Kind) -> None:
    if kind == "parquet" and source.path is None:
        raise FileProblem(f"{source.name} is not a Parquet file.")
    if kind in ("csv", "jsonl", "umami") and source.path is not None:
        raise FileProblem(f"{source.name} is a Parquet file: use --from parquet.")


def _is_csv(source: SourceFile, kind: Kind, first: Line) -> bool:
    """Return whether the file is CSV; the exports of products are known by their first line."""
    start = (first.text or b"").lstrip()[:1]
    if start == b"[" and kind != "csv":
        raise FileProblem(
            f"{source.name} is one JSON array; write each object on a line of its own: "
            f"jq -c '.[]' {source.name} > lines-{source.name}"
        )
    if kind in ("csv", "umami"):
        return True
    return kind != "jsonl" and start != b"{"
