"""The number of rows that a statement read, from the embedded engine.

A ClickHouse server tells it in the summary of an answer, as `read_rows`. The embedded engine tells
it too, but clickhouse-connect writes the number of rows of the answer into the summary instead.
"""

from typing import Any, Final
from weakref import WeakSet

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.query import QueryResult


class _Answer:
    """An answer of the embedded engine that counts the rows that were read as its `rows_read`."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answer, name)

    def rows_read(self) -> int:
        return int(self._answer.storage_rows_read())


class _Connection:
    """A connection to the embedded engine whose answers are as `_Answer`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def query(self, *statement: Any, **options: Any) -> _Answer:
        return _Answer(self._connection.query(*statement, **options))


# The clients of the embedded engine whose summaries are right.
_COUNTED: Final[WeakSet[Client]] = WeakSet()


def count_rows_read(client: Client) -> None:
    """Have the client of an embedded engine tell how many rows each statement reads.

    There is no public way to the connection. If a version of clickhouse-connect has another one,
    the number of rows is not known.
    """
    handle = getattr(getattr(client, "_backend", None), "_handle", None)
    if handle is not None and hasattr(handle, "conn"):
        handle.conn = _Connection(handle.conn)
        _COUNTED.add(client)


def rows_read(client: Client, answer: QueryResult) -> int | None:
    """Return how many rows a statement has read, None if that is not known."""
    is_embedded = str(client.uri).startswith("chdb:")
    number = answer.summary.get("read_rows")
    return None if number is None or (is_embedded and client not in _COUNTED) else int(number)
