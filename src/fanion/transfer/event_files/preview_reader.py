"""The first rows of an import as they would become events, and a mapping guessed from them."""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from fanion.transfer.event_files.blocks_reader import MARK, Block, ImportedFiles, Position
from fanion.transfer.event_files.files.file_reader import SourceFile
from fanion.transfer.event_files.files.rows_reader import Kind, open_rows
from fanion.transfer.event_files.mapping import Guess, MappedRows, guess_mapping, listed
from fanion.transfer.event_files.model import FileProblem, RefusedRow

SAMPLED_ROWS = 100
EVENTS_SHOWN = 3
_EXPORTED = {"event", "distinct_id", "timestamp", "properties"}


class Preview(Struct):
    """The first rows of an import.

    Attributes:
        events: The first events, as they would be sent.
        rows: The number of rows that were looked at.
    """

    events: list[dict[str, Any]]
    rows: int
    refused: list[RefusedRow]
    first: datetime | None
    last: datetime | None
    warnings: list[str]


def sample_columns(sources: Sequence[SourceFile], kind: Kind) -> list[str]:
    """Return the columns of the first file: of CSV those of its header, else of its first rows.

    Raises:
        FileProblem: The file cannot be read, or has no rows.
    """
    for source in sources:
        with open_rows(source, kind) as opened:
            if opened.columns:
                return list(opened.columns)
            names: dict[str, None] = {}
            for row in islice(opened.rows, SAMPLED_ROWS):
                names.update(dict.fromkeys(row.fields or {}))
            if names:
                return list(names)
    raise FileProblem("There is no row from which a mapping can be guessed.")


def guess_of(sources: Sequence[SourceFile], kind: Kind) -> Guess:
    """Guess a mapping from the names of the columns.

    Raises:
        FileProblem: A required field has no column that it could be; the text names those there.
    """
    columns = sample_columns(sources, kind)
    guess = guess_mapping(columns)
    if guess.mapping is None:
        raise FileProblem(
            f"No column looks like {' or '.join(guess.missing)}; there are: {listed(columns)}. "
            "Name them in a mapping with --map."
        )
    return guess


def preview_of(files: ImportedFiles) -> Preview:
    """Read the first rows of each of the first files.

    Raises:
        FileProblem: A file cannot be read.
    """
    block = next(files.blocks(Position()), None) or Block(Position())
    events = [msgspec.json.decode(item) for item in block.items[:EVENTS_SHOWN]]
    for event in events:
        event["distinct_id"] = event.pop("$distinct_id")
        event["properties"].pop(MARK)
    warnings = [*_row_warnings(files, block)]
    return Preview(events, block.rows, block.refused, block.first, block.last, warnings)


def _row_warnings(files: ImportedFiles, block: Block) -> list[str]:
    warnings = []
    if not block.rows:
        warnings.append("There are no rows.")
    if block.unordered:
        warnings.append(
            f"{block.unordered} events are earlier than the one before them. Persons and merges "
            "are made in the order of the rows."
        )
    if isinstance(files.events, MappedRows) and block.rows:
        columns = sample_columns(files.sources, files.kind)
        if _EXPORTED.issubset(columns):
            warnings.append("This looks like an export of PostHog or Fanion: use --from posthog.")
        missing = sorted(
            name
            for name in files.events.columns
            if name not in columns and name.split(".")[0] not in columns
        )
        if missing:
            warnings.append(
                f"No row has {listed(missing)}, which the mapping names; there are: "
                f"{listed(columns)}."
            )
    return warnings
