"""`fanion doctor`: what an operator would check by hand, checked."""

import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from fanion.config import Settings
from fanion.data_folder import (
    FIRST_START_FILE,
    open_to_others,
    require_data_folder,
    server_of,
)
from fanion.db.engine import RecordsUnavailable, open_records
from fanion.db.migrate import schema_is_current
from fanion.events.event import EventStoreUnavailable
from fanion.events.store import open_events
from fanion.flags.refused_store import Refused, refused_flags
from fanion.forwarded import TrustedProxies, shown
from fanion.proxies import ignored_headers

DISK_FREE_BYTES_MIN = 2 * 1024**3
# A clock before this version was made is wrong, and would misplace every event.
CLOCK_MIN = datetime(2026, 1, 1, tzinfo=UTC)
FLAGS_TOLD_MAX = 20
_LIBRARIES = ("chdb", "httptools", "litestar", "sqlalchemy")


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    ok: bool
    found: str
    advice: str = ""


async def examine(settings: Settings, now: datetime) -> list[Finding]:
    """raises: NoDataFolder, unless both stores lie elsewhere"""
    if not (settings.database_url and settings.events_url):
        require_data_folder(settings)
    return [
        Finding("settings", True, repr(settings)),
        _versions(),
        _disk(settings),
        _permissions(settings),
        _clock(now),
        _proxies(settings),
        await _checked("records store", _records, settings),
        await _checked("flags", _flags, settings),
        await _checked("event store", _events, settings),
    ]


def _versions() -> Finding:
    python = ".".join(map(str, sys.version_info[:3]))
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return Finding("versions", True, f"Fanion {version('fanion')}, Python {python}, {libraries}")


def _disk(settings: Settings) -> Finding:
    folder = settings.data.resolve()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    return Finding(
        "disk",
        free >= DISK_FREE_BYTES_MIN,
        f"{free / 1024**3:.1f} GiB free at {folder}",
        "" if free >= DISK_FREE_BYTES_MIN else "Make room: a full disk stops capture.",
    )


def _permissions(settings: Settings) -> Finding:
    found = open_to_others(settings)
    if not found:
        secrets = settings.data.resolve() / FIRST_START_FILE
        advice = f"The first keys lie in {secrets}; delete it." if secrets.exists() else ""
        return Finding("permissions", True, "only this user may read the data", advice)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    advice = "A start closes them; those of another user: chown, then chmod go= them."
    return Finding("permissions", False, f"others may read {found[0]}{more}", advice)


def _clock(now: datetime) -> Finding:
    ok = now >= CLOCK_MIN
    advice = "" if ok else "Set the clock, for example with an NTP client."
    return Finding("clock", ok, now.isoformat(timespec="seconds"), advice)


def _proxies(settings: Settings) -> Finding:
    """Never a failure: a stranger can send such headers too, straight to the server."""
    found = f"trusted: {shown(settings.trusted_networks)}"
    advice = " ".join(f"{old}: use {new}. {what}" for old, new, what in settings.replaced)
    ignored = ignored_headers(settings.data)
    if ignored is not None and not TrustedProxies(settings.trusted_networks).is_trusted(
        ignored.peer
    ):
        at = ignored.at.isoformat(timespec="seconds")
        found += f"; forwarded headers from {ignored.peer} were ignored at {at}"
        advice = f"{advice} If {ignored.peer} is your proxy, add it to FANION_TRUSTED_PROXIES."
    return Finding("proxies", True, found, advice.strip())


async def _checked(
    what: str, check: Callable[[Settings], Awaitable[Finding]], settings: Settings
) -> Finding:
    try:
        return await check(settings)
    except (RecordsUnavailable, EventStoreUnavailable, OSError, ValueError) as error:
        advice = "Check that it runs, its URL, and that no other process holds the data folder."
        return Finding(what, False, str(error), advice)


async def _records(settings: Settings) -> Finding:
    records = await open_records(settings.records_url)
    try:
        await records.ping()
        current = await schema_is_current(settings.records_url)
    finally:
        await records.close()
    if current:
        return Finding("records store", True, f"{records.dialect}, schema up to date")
    return Finding("records store", False, "its schema is another version's", "Run fanion migrate.")


async def _flags(settings: Settings) -> Finding:
    if not await schema_is_current(settings.records_url):
        return Finding("flags", True, "not looked at: the schema is another version's")
    records = await open_records(settings.records_url)
    try:
        return flags_finding(await refused_flags(records))
    finally:
        await records.close()


def flags_finding(refused: Sequence[Refused]) -> Finding:
    """Flags that the rules would refuse today are no fault: they work as they are."""
    if not refused:
        return Finding("flags", True, "all follow the rules")
    told = [f"project {one.project_id}, {one.key}: {one.why}" for one in refused[:FLAGS_TOLD_MAX]]
    if len(refused) > FLAGS_TOLD_MAX:
        told.append(f"and {len(refused) - FLAGS_TOLD_MAX} more")
    advice = "They work as they are. What is changed in them has to follow the rules."
    return Finding("flags", True, "; ".join(told), advice)


async def _events(settings: Settings) -> Finding:
    serving = server_of(settings)
    if serving and settings.event_store_url.startswith("chdb:"):
        return Finding("event store", True, f"in use by the server; {serving}/_ready tells of it")
    events = await open_events(settings.event_store_url)
    try:
        await events.ping()
    finally:
        await events.close()
    return Finding("event store", True, "answers")
