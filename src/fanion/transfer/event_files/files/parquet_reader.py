"""The rows of a Parquet file as JSON lines, read by the embedded engine block by block."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from fanion.transfer.event_files.files.file_reader import SourceFile
from fanion.transfer.event_files.model import FileProblem, Line

_READ = (
    "SELECT * FROM file('{path}', Parquet) SETTINGS max_threads = 1,"
    " date_time_output_format = 'iso', input_format_parquet_preserve_order = 1,"
    " input_format_parquet_max_block_size = 2048,"
    " output_format_json_quote_64bit_integers = 0, output_format_json_quote_decimals = 0,"
    " output_format_json_validate_utf8 = 1"
)
_NAMED = re.compile(r"DB::\w*Exception: (.*?)(?: \([A-Z_]+\)| \(in file|$)", re.DOTALL)


class ParquetReader:
    """The rows of a file, with the methods of `LineReader`; a position is a number of rows."""

    def __init__(self, source: SourceFile, path: Path) -> None:
        # It takes half a second and 100 MB, which no other file needs.
        from chdb.session import Session

        self._source = source
        session: Any = Session
        self._session = session()
        self.number = 0
        self.end = 0
        quoted = str(path.absolute()).replace("\\", "\\\\").replace("'", "\\'")
        try:
            self._blocks = self._session.send_query(_READ.format(path=quoted), "JSONEachRow")
        except Exception as error:
            self._session.close()
            raise self._problem(error) from None
        self._rest = self._lines()

    def close(self) -> None:
        with suppress(Exception):  # it may have ended by itself
            self._blocks.close()
        self._session.close()

    def skip_to(self, number: int, end: int) -> None:
        """Go on behind a row that was read before.

        Raises:
            FileProblem: The file is shorter, or damaged.
        """
        while self.end < end:
            if next(self._rest, None) is None:
                raise FileProblem(f"{self._source.name} is shorter than when it was read.")

    def lines(self) -> Iterator[Line]:
        """Return the rows that have not been read.

        Raises:
            FileProblem: The file is damaged.
        """
        return self._rest

    def _lines(self) -> Iterator[Line]:
        for block in self._read_blocks():
            for text in block.splitlines():
                self.number += 1
                self.end += 1
                yield Line(text, self.number, self.end)

    def _read_blocks(self) -> Iterator[bytes]:
        try:
            for block in self._blocks:
                yield block.bytes()
        except Exception as error:
            raise self._problem(error) from None

    def _problem(self, error: Exception) -> FileProblem:
        """Return what the engine says, without its own advice."""
        text = str(error)
        found = _NAMED.findall(text)
        words = " ".join((found[-1] if found else text.partition("\n")[0]).split())
        return FileProblem(f"{self._source.name} cannot be read as Parquet: {words[:300]}")
