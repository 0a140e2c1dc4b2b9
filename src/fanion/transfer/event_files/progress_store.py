"""The progress of an import, in a file beside the first one, from which the next run goes on."""

import os
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct, field

from fanion.transfer.event_files.blocks_reader import Block, Position
from fanion.transfer.event_files.model import FileProblem, RefusedRow

SHOWN_MAX = 20
NAMES_MAX = 1000
_HASHED_BYTES = 64 * 1024


class Progress(Struct):
    """How far an import is, and what it has done.

    Attributes:
        job: The id of the import: of its files, mapping and project.
        rows: The number of rows that have been read.
        events: The number of events that have been sent.
        unused: The number of rows that are not for this import.
        refused: The number of rows that could not be imported.
        shown: The first of those.
        names: The number of events of each name; of more than NAMES_MAX names, of the first ones.
        previous: The time of the last event.
        unordered: The number of events that are earlier than the one before them.
        runs: How often it was begun.
    """

    job: str
    file: int = 0
    line: int = 0
    end: int = 0
    rows: int = 0
    events: int = 0
    unused: int = 0
    refused: int = 0
    too_large: int = 0
    shown: list[RefusedRow] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None
    previous: datetime | None = None
    unordered: int = 0
    runs: int = 0
    is_finished: bool = False

    @property
    def position(self) -> Position:
        return Position(self.file, self.line, self.end)

    def show(self, refused: Sequence[RefusedRow]) -> None:
        self.shown += refused[: SHOWN_MAX - len(self.shown)]

    def add(self, block: Block, too_large: int) -> None:
        """Add what a block had, of which all events have been sent but those that are too large."""
        self.file, self.line, self.end = block.position
        self.rows += block.rows
        self.events += len(block.items) - too_large
        self.too_large += too_large
        self.unused += block.unused
        self.refused += len(block.refused)
        self.show(block.refused)
        self._add_names(block.names)
        self._add_times(block)

    def _add_names(self, names: Counter[str]) -> None:
        for name, count in names.items():
            if name in self.names or len(self.names) < NAMES_MAX:
                self.names[name] = self.names.get(name, 0) + count

    def _add_times(self, block: Block) -> None:
        self.first = min(filter(None, (self.first, block.first)), default=None)
        self.last = max(filter(None, (self.last, block.last)), default=None)
        self.previous = block.previous or self.previous
        self.unordered += block.unordered


def job_of(paths: Sequence[Path], *options: str) -> str:
    """Return the id of an import: the same for the same files and options only.

    Raises:
        FileProblem: A file cannot be read.
    """
    digest = blake2b("\0".join(options).encode(), digest_size=8)
    for path in paths:
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                start = file.read(_HASHED_BYTES)
                file.seek(max(0, size - _HASHED_BYTES))
                digest.update(f"\0{size}\0".encode() + start + file.read(_HASHED_BYTES))
        except OSError as error:
            raise FileProblem(f"{path} cannot be read: {error.strerror}") from None
    return digest.hexdigest()


class ProgressFile:
    """The file of the progress."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, job: str) -> Progress:
        """Return the progress of this import, or one at its beginning.

        Raises:
            FileProblem: The file is of another import, or cannot be read.
        """
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return Progress(job)
        except OSError as error:
            raise FileProblem(f"{self.path} cannot be read: {error.strerror}") from None
        try:
            progress = msgspec.json.decode(raw, type=Progress)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise FileProblem(f"{self.path} is no progress of an import: {error}.") from None
        if progress.job != job:
            raise FileProblem(
                f"{self.path} is the progress of an import with other files, options or project. "
                "Repeat these to go on with it, give another --state, or delete it to begin again."
            )
        return progress

    def save(self, progress: Progress) -> None:
        """Replace the file; whoever is killed meanwhile leaves the former one.

        Raises:
            FileProblem: It cannot be written.
        """
        new = self.path.with_name(f".{self.path.name}.new")
        try:
            new.write_bytes(msgspec.json.encode(progress))
            new.replace(self.path)
        except OSError as error:
            raise FileProblem(
                f"{self.path} cannot be written: {error.strerror}. "
                "Choose another place with --state."
            ) from None
