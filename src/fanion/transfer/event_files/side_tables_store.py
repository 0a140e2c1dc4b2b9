"""The tables beside the events of an export, in a file without a name on disk.

They may be larger than memory.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fanion.transfer.event_files.files.file_reader import SourceFile
from fanion.transfer.event_files.files.rows_reader import open_rows
from fanion.transfer.event_files.formats.umami import TableKind, data_of, table_of
from fanion.transfer.event_files.model import FileProblem

_SCHEMA = "CREATE TABLE side (kind TEXT, key TEXT, fields BLOB)"
_INDEX = "CREATE INDEX side_key ON side (key, kind)"
_PAGES = -65_536  # 64 MiB


class SideTablesStore:
    """The values by table and id."""

    def __init__(self) -> None:
        # An empty name is a temporary file, which the end of the process deletes. Blocks of rows
        # are read by one thread after another.
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.execute(f"PRAGMA cache_size = {_PAGES}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(_SCHEMA)
        self._kinds: set[str] = set()

    def close(self) -> None:
        self._database.close()

    def load(self, kind: TableKind, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        self._kinds.add(kind)
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT INTO side VALUES (?, ?, ?)",
            ((kind, key, msgspec.json.encode(fields)) for key, fields in rows),
        )
        self._database.execute("COMMIT")

    def index(self) -> None:
        """Prepare for `values`, after all rows are loaded."""
        self._database.execute(_INDEX)

    def values(self, kind: TableKind, key: str) -> Mapping[str, Any]:
        """Return the values of an event or session; of several with a name the last one."""
        if kind not in self._kinds:
            return {}
        rows = self._database.execute(
            "SELECT fields FROM side WHERE key = ? AND kind = ? ORDER BY rowid", (key, kind)
        )
        values: dict[str, Any] = {}
        for (fields,) in rows:
            values.update(msgspec.json.decode(fields))
        return values


def load_side_tables(store: SideTablesStore, sources: Sequence[SourceFile]) -> None:
    """Load the tables beside `website_event` from these files.

    Raises:
        FileProblem: A file cannot be read, or no file has events.
    """
    kinds = set()
    for source in sources:
        with open_rows(source, "umami") as opened:
            kind = table_of(opened.columns or ())
            kinds.add(kind)
            if kind is not None and kind != "event":
                pairs = (data_of(kind, row.fields) for row in opened.rows if row.fields)
                store.load(kind, (pair for pair in pairs if pair is not None))
    store.index()
    if "event" not in kinds:
        raise FileProblem("No file has the columns of website_event: created_at and url_path.")
