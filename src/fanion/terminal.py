"""What every command shares: settings, an open records store, printing and refusing."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
import uvloop
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fanion.config import Settings, SettingsError, read_settings
from fanion.data_folder import DataFolderTaken, make_data_folder
from fanion.db.engine import Records, RecordsUnavailable, open_records
from fanion.db.migrate import migrate as migrate_records
from fanion.errors import AppError
from fanion.events.event import EventStoreUnavailable
from fanion.geoip import GeoIpUnreadable
from fanion.server.serve import PortTaken

T = TypeVar("T")

REFUSED = 2

Data = Annotated[Path | None, typer.Option(help="The folder that holds everything.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def settings_of(**flags: Any) -> Settings:
    try:
        return read_settings(os.environ, flags)
    except SettingsError as error:
        refuse(str(error))


def with_records(settings: Settings, work: Callable[[Records], Coroutine[Any, Any, T]]) -> T:
    async def opened() -> T:
        make_data_folder(settings)
        await migrate_records(settings.records_url)
        records = await open_records(settings.records_url)
        try:
            return await work(records)
        finally:
            await records.close()

    return run(opened())


def run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return uvloop.run(work)
    except (PortTaken, DataFolderTaken, GeoIpUnreadable) as error:
        refuse(str(error))
    except AppError as error:
        refuse(error.detail)
    except RecordsUnavailable as error:
        refuse(f"the records store cannot be used: {error}")
    except EventStoreUnavailable as error:
        refuse(f"the event store cannot be used: {error}")
    except OSError as error:
        refuse(f"a file cannot be used: {error}")
    except asyncio.CancelledError:
        raise typer.Exit(1) from None


def refuse(text: str) -> NoReturn:
    typer.echo(f"fanion: {text}", err=True)
    raise typer.Exit(REFUSED)


def show(found: dict[str, Any] | list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
    elif isinstance(found, dict):
        for name, value in found.items():
            print(f"{name:18} {printable(value)}")
    elif found:
        table = Table(*found[0], box=None)
        for row in found:
            table.add_row(*(Text(printable(value)) for value in row.values()))
        Console().print(table)
    else:
        print("None.")


def write_out(text: bytes) -> None:
    """All of it: an unbuffered standard output takes of a long text what fits into the pipe."""
    rest = memoryview(text)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.flush()


def printable(value: object) -> str:
    """What clients sent must not steer the operator's terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(value))


def time_text(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="seconds")
