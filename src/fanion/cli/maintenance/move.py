"""The command `fanion move`: everything that an installation has, to other stores."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
import typer
from msgspec.structs import replace

from fanion import __version__
from fanion.accept_log.port import LogFull
from fanion.cli.options import Data
from fanion.cli.output import refuse, run_command, settings_of
from fanion.cli.progress import progress_bar
from fanion.cli.running_server import NoAnswer, ask_server
from fanion.config import Settings
from fanion.config.stores import check_events_url, check_records_url
from fanion.db.migrate import migrate as migrate_records
from fanion.move.service import Move, Moved, MoveRefused
from fanion.runtime.data_dir import (
    events_folder,
    find_holder,
    lock_data_dir,
    records_file,
    require_records,
)

_RECORDS_SCHEMES = ("postgresql", "postgresql+asyncpg", "postgres")
_EVENTS_SCHEMES = ("clickhouse", "clickhouses", "clickhouse+https")
# How long a server that is busy may take to say its version.
_HEALTH_S_MAX = 10.0

To = Annotated[
    list[str],
    typer.Option(
        envvar="FANION_MOVE_TO",
        help="The new stores: the URLs of a PostgreSQL database and a ClickHouse database, or a "
        "new data folder. Give the option once for each.",
    ),
]
Wait = Annotated[
    bool,
    typer.Option(
        help="Go on sending captures on until the former servers have ended. Without it, run the "
        "command again once they have."
    ),
]


def move(to: To, wait: Wait = True, data: Data = None) -> None:
    """Move everything to other stores, while the server runs: up to several servers, or down.

    Projects with keys, users, persons, flags, events and all else are copied and compared.
    Ingestion and management pause for less than a minute; captures and flags go on. Run the same
    command again if it was interrupted.
    """
    source = settings_of(data=data)
    if source.log_url:
        refuse(
            "FANION_LOG_URL: requests in Kafka are not moved. Let the servers ingest them, and go "
            "back to the accept log in PostgreSQL first: docs/kafka.md."
        )
    target = _target_of(source, to)
    plan = Move(source, target, " and ".join(map(_without_password, to)), progress_bar)
    is_folder = records_file(target) is not None
    with lock_data_dir(target) if is_folder else nullcontext():
        run_command(_run(plan, wait=wait))


async def _run(plan: Move, *, wait: bool) -> None:
    require_records(plan.source)
    await _require_this_version(plan.source)
    try:
        await migrate_records(plan.source.records_url)
        await migrate_records(plan.target.records_url)
        moved = await plan.copy_everything()
        print(_moved_text(moved), flush=True)
        print(_next_text(plan.target, wait=wait), flush=True)
        requests = await plan.send_captures_on(until_left=wait)
    except MoveRefused as error:
        refuse(str(error))
    except LogFull as error:
        refuse(f"{error}. Start a server on the new stores, and run this again.")
    print(f"{requests:,} requests with captures were sent on.")


class _Health(msgspec.Struct):
    """The answer of `/_health`."""

    version: str


async def _require_this_version(source: Settings) -> None:
    """Refuse a server of another version: a former one notices neither the pause nor the move."""
    holder = find_holder(source)
    if holder is None or not holder.address:
        return
    try:
        health = await ask_server(holder.address, "/_health", _Health, _HEALTH_S_MAX)
    except NoAnswer as error:
        refuse(
            f"{holder.address} does not say its version, which must be that of this command: "
            f"{error}"
        )
    version = health.version
    if version != __version__:
        refuse(
            f"{holder.address} is a server of version {version}, and this command of "
            f"{__version__}, so it may not notice that it is moved. Upgrade it first."
        )


def _target_of(source: Settings, places: list[str]) -> Settings:
    """Return the settings of a server on the new stores."""
    changes: dict[str, object] = {}
    for place in places:
        scheme = place.partition("://")[0] if "://" in place else ""
        if scheme in _RECORDS_SCHEMES:
            _add(changes, "database_url", place)
            _check(check_records_url, place)
        elif scheme in _EVENTS_SCHEMES:
            _add(changes, "events_url", place)
            _check(check_events_url, place)
        elif scheme:
            refuse(f"--to: {scheme}:// is none of postgresql://, clickhouse:// and a folder")
        else:
            _add(changes, "data", Path(place))
    if "data" in changes and "database_url" in changes:
        refuse("--to: give PostgreSQL or a folder, not both")
    if "data" in changes:
        changes = {"database_url": "", "events_url": "", "role": "all", **changes}
    elif "database_url" not in changes:
        refuse("--to: name a PostgreSQL database or a folder for the records too")
    # Its user reads the former event store.
    target = replace(source, **{"events_sql_url": "", **changes})
    _require_other(source, target)
    return target


def _add(changes: dict[str, object], name: str, value: object) -> None:
    if name in changes:
        former, other = (_without_password(str(place)) for place in (changes[name], value))
        refuse(f"--to: {former} and {other} are of the same kind")
    changes[name] = value


def _check(check: Callable[[str], None], url: str) -> None:
    try:
        check(url)
    except ValueError as error:
        refuse(f"--to: {error}")


def _require_other(source: Settings, target: Settings) -> None:
    if source.records_url == target.records_url:
        refuse("--to: these are the stores that the settings name already")
    is_embedded = events_folder(source) is not None and events_folder(target) is not None
    if is_embedded and source.event_store_url != target.event_store_url:
        refuse("--to: the embedded event store cannot be moved to another folder; copy the folder")


def _without_password(place: str) -> str:
    if "://" not in place:
        return place
    url = urlsplit(place)
    if url.password is None:
        return place
    login, _, host = url.netloc.rpartition("@")
    return url._replace(netloc=f"{login.partition(':')[0]}:***@{host}").geturl()


def _moved_text(moved: Moved | None) -> str:
    if moved is None:
        return "Everything is moved already."
    rows, events = sum(moved.rows.values()), moved.events.get("events", 0)
    return (
        f"Moved and compared {rows:,} rows in {len(moved.rows)} tables, and {events:,} events. "
        f"Nothing was ingested for {moved.paused_s:.1f} s."
    )


def _next_text(target: Settings, *, wait: bool) -> str:
    """Return what the operator has to do next."""
    values = {"FANION_DATABASE_URL": target.database_url, "FANION_EVENTS_URL": target.events_url}
    if not target.database_url:
        values = {"FANION_DATA": str(target.data.resolve()), **values}
    lines = "".join(
        f"  {name}={_without_password(value)}\n" if value else f"  without {name}\n"
        for name, value in values.items()
    )
    if target.database_url:
        todo = "Start the server with these settings, then stop the former one:"
        then = "Until it has stopped, the captures that it accepts are sent on."
    else:
        todo = "Stop the former servers, and start the new one, when this has ended, with:"
        then = "Until they have stopped, the captures that they accept are sent on."
    if not wait:
        then = "Run this command again when it has stopped: captures that it accepts are sent on."
    return f"{todo}\n{lines}{then}"
