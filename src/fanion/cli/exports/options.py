"""Options of the commands of exports, and the server that they read from."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import httpx
import typer

from fanion.backup.model import BackupRefused
from fanion.cli.output import print_result, printable, refuse, run_command, settings_of
from fanion.errors import Invalid
from fanion.exports.download_client import DownloadFailed, PageReader
from fanion.rest.unknown_fields import choice
from fanion.runtime.data_dir import find_holder

T = TypeVar("T", bound=str)
R = TypeVar("R")

ProjectId = Annotated[int, typer.Option(help="The project's id.")]
Host = Annotated[
    str | None, typer.Option(help="The server; by default the one that uses the data folder.")
]
From = Annotated[str | None, typer.Option("--from", help="ISO 8601, inclusive.")]
To = Annotated[str | None, typer.Option("--to", help="ISO 8601, exclusive.")]
Format = Annotated[str, typer.Option("--format", help="csv, jsonl (JSON lines) or parquet.")]


def run_export(
    write: Callable[[PageReader], Awaitable[list[dict[str, Any]]]],
    host: str | None,
    data: Path | None,
    personal_key: str,
    *,
    as_json: bool,
) -> None:
    """Read from a server with a personal key, and print what was written."""
    rows = read_from_server(write, server_address(host, data), personal_key)
    print_result(rows, as_json=as_json)


def read_from_server(
    write: Callable[[PageReader], Awaitable[R]], address: str, personal_key: str
) -> R:
    """Return the result of what reads from a server with a personal key."""

    async def work() -> R:
        headers = {"authorization": f"Bearer {personal_key}"}
        async with httpx.AsyncClient(base_url=address, headers=headers, trust_env=False) as client:
            return await write(PageReader(client))

    try:
        return run_command(work())
    except (BackupRefused, DownloadFailed, httpx.InvalidURL) as error:
        refuse(printable(str(error)))


def read_time(text: str | None, option: str) -> datetime | None:
    """Return the time that an option names, in UTC if it says no zone."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        refuse(f"{option}: {text!r} is not a time such as 2026-01-31 or 2026-01-31T12:00:00Z")
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def read_choice(text: str, choices: Sequence[T], option: str) -> T:
    try:
        return choice(text, choices, option)
    except Invalid as error:
        refuse(f"{option}: {error.detail}")


def time_text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def server_address(host: str | None, data: Path | None) -> str:
    """Return the given address, by default that of the server that uses the data folder."""
    if host is not None:
        return host
    holder = find_holder(settings_of(data=data))
    if holder is None or not holder.address:
        refuse("no server uses the data folder; name one with --host")
    return holder.address
