"""Deletions of persons and projects, kept beside the backups and repeated after a restore."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import zstandard
from sqlalchemy import Connection, select

from fanion.activity.model import Author
from fanion.backup.destination import Destination
from fanion.backup.model import BackupRefused
from fanion.config import Settings
from fanion.db.engine import Records, open_records
from fanion.db.migrate import migrate
from fanion.db.schema.tables import projects
from fanion.events.event import Erasure
from fanion.ingest.erasure_journal_store import (
    Entry,
    ErasedProject,
    decode_entries,
    encode_entries,
    merged,
    read_journal,
    write_journal,
)
from fanion.persons.erasure_store import repeat_erasure
from fanion.persons.state.versions_store import Versions
from fanion.projects.deletion.store import repeat_deletion

_NAME: Final = "erasures.jsonl.zst"
# A deletion that was requested a moment before the backup may have been committed after it: it
# waits for other writers. Deletions that the backup has are not repeated.
_COMMIT_MAX: Final = timedelta(minutes=1)
_BYTES_MAX: Final = 2**30
_EVER: Final = datetime.min.replace(tzinfo=UTC)


def kept_erasures(destination: Destination) -> list[Entry]:
    """Return the deletions that a destination knows, oldest first.

    Raises:
        BackupRefused: The list is damaged.
    """
    try:
        packed = destination.read(_NAME)
        if not 0 <= zstandard.frame_content_size(packed) <= _BYTES_MAX:
            raise zstandard.ZstdError("the size of the content is wrong")
        return decode_entries(zstandard.ZstdDecompressor().decompress(packed))
    except FileNotFoundError:
        return []
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise BackupRefused(f"{destination.where}/{_NAME} is damaged: {error}") from None


def keep_erasures(folder: Path, destination: Destination, since: datetime = _EVER) -> None:
    """Add the deletions of a data folder to those that a destination knows.

    Args:
        since: The time of the oldest backup; no backup needs earlier ones.
    """
    known = kept_erasures(destination)
    kept = merged(
        known, _own_journal(folder), since=since - _COMMIT_MAX if since > _EVER else since
    )
    if kept != known:
        packed = zstandard.ZstdCompressor(write_checksum=True).compress(encode_entries(kept))
        destination.write(_NAME, packed)
        destination.flush()


def erasures_since(
    moment: datetime, destination: Destination, folder: Path | None = None
) -> Sequence[Entry]:
    """Return the deletions that a backup of this moment may lack, oldest first.

    Args:
        folder: A data folder whose journal knows more, such as the one that is replaced.

    Raises:
        BackupRefused: A list is damaged, or the folder is not a data folder.
    """
    own = () if folder is None else _own_journal(folder)
    return merged(kept_erasures(destination), own, since=moment - _COMMIT_MAX)


def _own_journal(folder: Path) -> Sequence[Entry]:
    if not folder.is_dir():
        raise BackupRefused(f"there is no data folder {folder}")
    try:
        return read_journal(folder)
    except msgspec.MsgspecError as error:
        raise BackupRefused(f"the list of deletions in {folder} is damaged: {error}") from None


async def repeat_erasures(settings: Settings, entries: Sequence[Entry], now: datetime) -> int:
    """Begin deletions again in restored records. The server completes them when it starts.

    Returns:
        How many were missing in the records.
    """
    write_journal(settings.data, entries)
    if not entries:
        return 0
    await migrate(settings.records_url)
    records = await open_records(settings.records_url)
    try:
        versions = Versions(records)
        return sum([await _repeat(records, versions, entry, now) for entry in entries])
    finally:
        await records.close()


async def _repeat(records: Records, versions: Versions, entry: Entry, now: datetime) -> bool:
    if isinstance(entry, ErasedProject):
        async with records.write() as connection:
            return await connection.run_sync(repeat_deletion, entry.project_id, now)
    former = Erasure(
        id=entry.id,
        project_id=entry.project_id,
        persons=entry.persons,
        distinct_ids=frozenset(entry.distinct_ids),
        version=0,
        with_events=entry.with_events,
        requested_at=entry.requested_at,
    )
    version = await versions.draw()
    async with records.write() as connection:
        return await connection.run_sync(_repeat_person, former, version, now)


def _repeat_person(connection: Connection, former: Erasure, version: int, now: datetime) -> bool:
    """Repeat the deletion of a person, unless its project is deleted with all persons."""
    organization = select(projects.c.organization_id).where(projects.c.id == former.project_id)
    organization_id = connection.scalar(organization)
    if organization_id is None:
        return False
    author = Author(organization_id, None, now, project_id=former.project_id)
    return repeat_erasure(connection, author, former, version)


def repeat_erasures_now(settings: Settings, entries: Sequence[Entry]) -> int:
    """Do what `repeat_erasures` does, outside of an event loop."""
    return asyncio.run(repeat_erasures(settings, entries, datetime.now(UTC)))
