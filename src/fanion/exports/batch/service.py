"""Changes of batch exports by requests, each in one transaction."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import Any, Final

from msgspec import UNSET, structs
from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import Invalid
from fanion.exports.batch.model import (
    INTERVALS_MAX,
    BatchExport,
    S3Config,
    S3Keys,
    columns_from,
)
from fanion.exports.batch.schemas import (
    BatchExportChanges,
    DestinationChanges,
    NewBatchExport,
    S3ConfigChanges,
    S3ConfigWithKeys,
)
from fanion.exports.batch.store import (
    BatchExportStore,
    add_export,
    lock_export,
    remove_export,
    write_export,
)
from fanion.exports.intervals.model import Every, interval_of
from fanion.webhooks.destination import read_target, refusal

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_REGION: Final = re.compile(r"[a-z0-9-]+")
_PREFIX: Final = re.compile(r"[\w !.*'()/=-]*", re.ASCII)
_CONFIG: Final = S3Config.__struct_fields__
_KEYS: Final = S3Keys.__struct_fields__


@dataclass(frozen=True, slots=True)
class BatchExportService:
    """The changes of batch exports.

    Attributes:
        allow_private: Whether destinations may have addresses that are not public.
    """

    store: BatchExportStore
    allow_private: bool

    async def create_export(self, author: Author, sent: NewBatchExport) -> BatchExport:
        """Create an export, by default from the present hour or day on.

        Raises:
            Invalid: The destination or the start cannot be used, or the project has too many
                exports, or one to the same place.
        """
        if find_spec("obstore") is None:
            raise Invalid("Exports to S3 need another package on the server: fanion[s3].")
        given = sent.destination.config
        config = self._checked(_config(given, {}))
        start = _checked_start(sent.start_at or author.now, sent.interval, author.now)
        values = {
            "name": sent.name,
            "interval": sent.interval,
            "paused": sent.paused,
            "last_paused_at": author.now if sent.paused else None,
            **{name: getattr(given, name) for name in _KEYS},
            **columns_from(start, sent.interval),
        }
        async with self.store.records.write() as connection:
            return await connection.run_sync(add_export, author, config, values)

    async def change_export(
        self, author: Author, export_id: int, sent: BatchExportChanges
    ) -> BatchExport:
        """Change the given fields. What is being written begins again with them.

        Raises:
            NotFound: There is no such export.
            Invalid: The destination cannot be used, or the interval differs.
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(self._change, author, export_id, sent)

    async def set_paused(
        self, author: Author, export_id: int, *, paused: bool, backfill: bool = False
    ) -> BatchExport:
        """Pause an export, or let it go on.

        Args:
            backfill: Whether it goes on where it was paused, and not with the present interval.

        Raises:
            NotFound: There is no such export.
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(_set_paused, author, export_id, paused, backfill)

    async def begin_backfill(
        self, author: Author, export_id: int, start_at: datetime
    ) -> BatchExport:
        """Let an export go on with an earlier interval. Intervals that are written are left out.

        Raises:
            NotFound: There is no such export.
            Invalid: The time is too long ago, or not before the interval that is written next.
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(_begin_backfill, author, export_id, start_at)

    async def remove_export(self, author: Author, export_id: int) -> None:
        """Delete an export, or raise NotFound. What it has written stays."""
        async with self.store.records.write() as connection:
            await connection.run_sync(remove_export, author, export_id)

    def _change(
        self, connection: Connection, author: Author, export_id: int, sent: BatchExportChanges
    ) -> BatchExport:
        before = lock_export(connection, author.project_id, export_id)
        if sent.interval not in (UNSET, before.interval):
            raise Invalid("Make another export for another interval.", attr="interval")
        values: dict[str, Any] = {} if sent.name is UNSET else {"name": sent.name}
        if isinstance(sent.destination, DestinationChanges):
            values |= self._destination_columns(before, sent.destination)
        if isinstance(sent.paused, bool) and sent.paused != before.paused:
            values |= _pause_columns(before, author.now, paused=sent.paused)
        return write_export(connection, author, before, values) if values else before

    def _destination_columns(
        self, before: BatchExport, sent: DestinationChanges
    ) -> Mapping[str, Any]:
        if not isinstance(sent.config, S3ConfigChanges):
            return {}
        config = _config(sent.config, structs.asdict(before.config))
        given = {name: getattr(sent.config, name) for name in _KEYS}
        keys = {name: key for name, key in given.items() if key is not UNSET}
        if config == before.config:
            return {**keys, "lease_until": None} if keys else {}
        if config.endpoint != before.config.endpoint and len(keys) < len(_KEYS):
            # Or an administrator could have the stored keys sign requests to another host.
            raise Invalid(
                "Another endpoint needs its keys.",
                code="required",
                attr="destination__config__aws_secret_access_key",
            )
        return {"config": self._checked(config), **keys, "lease_until": None}

    def _checked(self, config: S3Config) -> S3Config:
        """Return a destination that can be used, or raise Invalid.

        A host name is not resolved here: its addresses are checked whenever something is sent.
        """
        for name, pattern, allowed in (
            ("bucket_name", _BUCKET, "3 to 63 of a-z, 0-9, . and -"),
            ("region", _REGION, "a-z, 0-9 and -"),
            ("prefix", _PREFIX, "letters, digits, spaces and !_.*'()/=-"),
        ):
            if not pattern.fullmatch(getattr(config, name)):
                raise _refused(name, f"Must consist of {allowed}.")
        if any(part in ("", ".", "..") for part in config.prefix.split("/")) and config.prefix:
            raise _refused("prefix", "Must have no empty part, no . and no .. between its slashes.")
        if config.endpoint_url is not None:
            self._check_endpoint(config.endpoint_url)
        return config

    def _check_endpoint(self, url: str) -> None:
        try:
            target = read_target(url)
        except ValueError as error:
            raise _refused("endpoint_url", str(error)) from None
        if target.path != "/":
            raise _refused("endpoint_url", "Must have no path: bucket and prefix have fields.")
        if self.allow_private:
            return
        if target.scheme != "https":
            raise _refused("endpoint_url", "The URL must begin with https://.")
        if target.is_address and (kind := refusal(target.host)) is not None:
            raise _refused("endpoint_url", f"Nothing is exported to {kind}.")


def _refused(name: str, detail: str) -> Invalid:
    return Invalid(detail, attr=f"destination__config__{name}")


def _config(sent: S3ConfigWithKeys | S3ConfigChanges, before: Mapping[str, Any]) -> S3Config:
    """Return a destination with the given fields changed, as it is stored."""
    given = {name: getattr(sent, name) for name in _CONFIG}
    values = {**before, **{name: value for name, value in given.items() if value is not UNSET}}
    endpoint = (values["endpoint_url"] or "").rstrip("/") or None
    return S3Config(**{**values, "prefix": values["prefix"].strip("/"), "endpoint_url": endpoint})


def _checked_start(start: datetime, every: Every, now: datetime) -> datetime:
    """Return a time from which on an export can begin, or raise Invalid."""
    length = interval_of(now, every).end - interval_of(now, every).start
    if start > now:
        raise Invalid("Must not be in the future.", attr="start_at")
    if now - start > INTERVALS_MAX * length:
        first = (now - INTERVALS_MAX * length + timedelta(days=1)).date()
        raise Invalid(f"Must not be before {first}.", attr="start_at")
    return start


def _set_paused(
    connection: Connection, author: Author, export_id: int, paused: bool, backfill: bool
) -> BatchExport:
    before = lock_export(connection, author.project_id, export_id)
    if before.paused == paused:
        return before
    values = _pause_columns(before, author.now, paused=paused, backfill=backfill)
    return write_export(connection, author, before, values)


def _pause_columns(
    before: BatchExport, now: datetime, *, paused: bool, backfill: bool = False
) -> Mapping[str, Any]:
    if paused:
        return {"paused": True, "last_paused_at": now}
    start = before.next_start if backfill else max(before.next_start, now)
    return {"paused": False, **columns_from(start, before.interval), "lease_until": None}


def _begin_backfill(
    connection: Connection, author: Author, export_id: int, start_at: datetime
) -> BatchExport:
    before = lock_export(connection, author.project_id, export_id)
    start = _checked_start(start_at, before.interval, author.now)
    if start >= before.next_start:
        raise Invalid(
            f"Must be before {before.next_start.isoformat()}, which is written next.",
            attr="start_at",
        )
    values = {**columns_from(start, before.interval), "lease_until": None}
    return write_export(connection, author, before, values)
