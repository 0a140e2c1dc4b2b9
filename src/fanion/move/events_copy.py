"""The event stores of a move: the source, of which a copy is read, and the target."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Final
from urllib.parse import quote, urlsplit
from uuid import UUID

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.config import Settings
from fanion.errors import StartRefused
from fanion.events.ownership_store import Installation, gone_text, is_empty
from fanion.events.storage.client import connect, engine_at, open_clients, open_error
from fanion.events.storage.linked_parts import LinkedParts
from fanion.events.storage.marks import check_mark, require_mark
from fanion.events.storage.migrate import table_exists
from fanion.move.events_store import COPIED, Advance, Digest, Doubts, EventsCopy
from fanion.runtime.data_dir import events_folder

# Beside the folder of the embedded event store, so on the same disk.
_COPY_SUFFIX: Final = ".moving"
# Nothing is stored at the end of a move: only merges change the parts, which take seconds each.
_REST_S_MAX: Final = 20.0


class EventsMove:
    """The copying of one event store into another, which stays open until `close`."""

    def __init__(self, source: Settings, target: Settings, owner: Installation) -> None:
        """Open the target, and make its tables.

        Raises:
            EventStoreUnavailable: The target does not answer.
            SchemaRefused: Another version has made its tables.
            StartRefused: The target is not empty, or is another installation's.
        """
        self._source = source
        self._doubts: Doubts = {}
        self._owner = owner
        self._engine = engine_at(target.event_store_url)
        [self._target], others = open_clients(self._engine, 1, self._require_own)
        for client in others:
            client.close()
        unbound = Installation(owner.id, None)
        mark = require_mark(self._target, unbound, self._engine.where, self._engine.on_cluster)
        self.event_store: UUID = mark.event_store

    def _require_own(self, client: Client) -> None:
        """Refuse a target that is another installation's, or that holds events of nobody."""
        if check_mark(client, Installation(self._owner.id, None), self._engine.where):
            return
        for copied in COPIED:
            if table_exists(client, copied.table) and _has_rows(client, copied.table):
                raise StartRefused(
                    f"--to: {self._engine.where} is not empty: {copied.table} has rows"
                )

    def copy(self, advance: Advance, *, is_last: bool) -> Mapping[str, Digest]:
        """Copy what differs.

        Args:
            is_last: Whether nothing is stored any more: everything has to be the same then.

        Returns:
            What each table holds, if this is the last time.

        Raises:
            EventsDiffer: A table of the target differs.
            EventStoreUnavailable: A store does not answer.
        """
        try:
            with self._opened_source(is_last=is_last) as source:
                if source is None:
                    return {}
                copying = EventsCopy(source, self._target)
                if is_last:
                    return copying.make_equal(self._doubts, advance)
                self._doubts = copying.copy_missing(advance)
                return {}
        except (ClickHouseError, OSError) as error:
            raise open_error(self._engine, error) from None

    @contextmanager
    def _opened_source(self, *, is_last: bool) -> Iterator[Client | None]:
        """Open the source, or a copy of it where a server has it open.

        Returns:
            None if no event was ever stored.
        """
        folder = events_folder(self._source)
        if folder is None:
            with closing(connect(engine_at(self._source.event_store_url))) as client:
                yield self._checked(client)
            return
        if is_empty(folder):
            if self._owner.event_store is not None:
                raise StartRefused(f"FANION_EVENTS_URL: {gone_text(str(folder))}")
            yield None
            return
        copy = folder.with_name(folder.name + _COPY_SUFFIX)
        shutil.rmtree(copy, ignore_errors=True)
        try:
            parts = LinkedParts(folder, copy)
            if is_last:
                parts.link_all(_REST_S_MAX)
            else:  # rows that it lacks are copied at the end
                parts.link_some()
            parts.make_openable()
            url = urlsplit(self._source.event_store_url)._replace(path=quote(str(copy)))
            with closing(connect(engine_at(url.geturl()))) as client:
                client.command("SYSTEM STOP MERGES")
                yield self._checked(client)
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    def _checked(self, client: Client) -> Client:
        check_mark(client, self._owner, "the event store of the source")
        return client

    def close(self) -> None:
        self._target.close()


def _has_rows(client: Client, table: str) -> bool:
    return bool(client.query(f"SELECT 1 FROM {table} LIMIT 1").result_rows)
