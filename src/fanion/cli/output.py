"""Settings, an open records store, output and errors: shared by all commands.

The server imports this too, so it must not load Typer or rich.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import uvloop

from fanion.config import Settings, SettingsError, read_settings
from fanion.db.engine import Records, RecordsRefused, RecordsUnavailable, open_records
from fanion.db.migrate import migrate as migrate_records
from fanion.errors import AppError, SchemaRefused, StartRefused
from fanion.events.event import EventStoreUnavailable
from fanion.runtime.data_dir import DataDirLocked, DataDirMissing, require_records
from fanion.runtime.folder_state import FolderRefused
from fanion.runtime.geoip import GeoIpUnreadable
from fanion.server.server import PortTaken

T = TypeVar("T")

REFUSED = 2
_COLUMNS_MAX = 10_000  # width of a table that is not printed to a terminal
PASSWORD_BYTES_MAX = 4096  # longer than any password, so a wrong file is not read to its end

NOT_SET_UP = "Run `fanion setup` first."


def settings_of(**flags: Any) -> Settings:
    try:
        return read_settings(os.environ, flags)
    except SettingsError as error:
        refuse(str(error))


def with_records(
    settings: Settings,
    work: Callable[[Records], Coroutine[Any, Any, T]],
    prepare: Callable[[Settings], None] = require_records,
) -> T:
    """Run `work` with the records store open and migrated.

    Args:
        prepare: Checks or creates the data folder before the store is opened.
    """

    async def opened() -> T:
        prepare(settings)
        await migrate_records(settings.records_url)
        records = await open_records(settings.records_url)
        try:
            return await work(records)
        finally:
            await records.close()

    return run_command(opened())


def run_command(work: Coroutine[Any, Any, T]) -> T:
    try:
        return uvloop.run(work)
    except (
        PortTaken,
        DataDirLocked,
        DataDirMissing,
        FolderRefused,
        GeoIpUnreadable,
        SchemaRefused,
        SettingsError,
        StartRefused,
    ) as error:
        refuse(str(error))
    except AppError as error:
        refuse(error.detail)
    except RecordsRefused as error:
        refuse(f"FANION_DATABASE_URL: PostgreSQL answers and refuses: {error}")
    except RecordsUnavailable as error:
        refuse(f"the records store cannot be used: {error}")
    except EventStoreUnavailable as error:
        refuse(f"the event store cannot be used: {error}")
    except OSError as error:
        refuse(f"a file cannot be used: {error}")
    except asyncio.CancelledError:
        raise SystemExit(1) from None


def given_password(typed: str | None, file: Path | None, *, from_stdin: bool) -> str | None:
    """Return the password that was given, or None.

    An invalid one is refused. One typed on the command line causes a warning.
    """
    if sum((typed is not None, file is not None, from_stdin)) > 1:
        refuse("Give one of --password, --password-file and --password-stdin.")
    if from_stdin or typed == "-":
        file = Path("-")
    if file is not None:
        typed = _read_password(file)
    elif typed:
        warn("a password on the command line is visible in the process list; use --password-stdin.")
    if typed is not None and not typed:
        refuse("The password is empty.")
    return typed


def _read_password(file: Path) -> str:
    """Return the only line of a file."""
    try:
        if str(file) == "-":
            raw = sys.stdin.buffer.read(PASSWORD_BYTES_MAX + 1)
        else:
            with file.open("rb") as source:
                raw = source.read(PASSWORD_BYTES_MAX + 1)
    except OSError as error:
        refuse(f"{file} cannot be read: {error.strerror}")
    if len(raw) > PASSWORD_BYTES_MAX:
        refuse(f"The password is longer than the maximum of {PASSWORD_BYTES_MAX} bytes.")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        refuse("The password is not UTF-8.")
    password = text.removesuffix("\n").removesuffix("\r")
    if not password.isprintable():
        refuse("The password is not one line of text.")
    return password


def no_user(email: str) -> str:
    return f"There is no active user {email}; `fanion users list` shows them."


def warn(text: str) -> None:
    print(f"fanion: {text}", file=sys.stderr)


def refuse(text: str) -> NoReturn:
    warn(text)
    raise SystemExit(REFUSED)


def print_result(result: dict[str, Any] | list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
    elif isinstance(result, dict):
        _print_record(result)
    elif result:
        _print_rows(result)
    else:
        print("None.")


def _print_record(record: dict[str, Any]) -> None:
    for name, value in record.items():
        print(f"{name:18} {printable(value)}")


def _print_rows(rows: list[dict[str, Any]]) -> None:
    """Print a table, or one field per line if the rows are wider than the terminal.

    No value is cut. A pipe is as wide as needed.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*rows[0], box=None)
    for row in rows:
        table.add_row(*(Text(printable(value)) for value in row.values()))
    width = Console(width=_COLUMNS_MAX).measure(table).maximum
    terminal = Console()
    if not terminal.is_terminal:
        Console(width=width).print(table)
    elif width <= terminal.width:
        terminal.print(table)
    else:
        for number, row in enumerate(rows):
            if number:
                print()
            _print_record(row)


def write_out(text: bytes) -> None:
    """Write the whole text; unbuffered standard output accepts only what fits into the pipe."""
    rest = memoryview(text)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.flush()


def printable(value: object) -> str:
    """Replace control characters: values sent by clients must not control the terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(value))


def time_text(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="seconds")
