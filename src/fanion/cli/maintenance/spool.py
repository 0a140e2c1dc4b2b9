"""The command `fanion spool send`: sends on what a server that does not come back has accepted."""

from pathlib import Path
from typing import Annotated

import typer

from fanion.accept_log.port import LogFull
from fanion.accept_log.shared import SharedLog
from fanion.accept_log.spool_folder import SpoolUnreadable, files_in, send_file
from fanion.app.accept_logs import open_log
from fanion.cli.options import Data
from fanion.cli.output import refuse, settings_of, with_records
from fanion.config import Settings
from fanion.db.engine import Records
from fanion.events.ownership_store import read_installation

spool = typer.Typer(
    help="Events that servers accepted while PostgreSQL was away.", no_args_is_help=True
)


@spool.callback()
def _commands() -> None:
    """Make Typer expect the name of a command, although there is only one here."""


@spool.command("send")
def send(
    folder: Annotated[
        Path, typer.Argument(help="The folder `spool` of that server's data folder, or a copy.")
    ],
    data: Data = None,
) -> None:
    """Send on what a server that does not come back has accepted, and delete its files.

    FANION_DATABASE_URL must name the PostgreSQL database of its installation. Do not rename the
    files: by their names nothing is sent twice, even if the server comes back after all.
    """
    settings = settings_of(data=data)
    if settings.records_url.startswith("sqlite"):
        refuse("FANION_DATABASE_URL must name the PostgreSQL database of the installation.")
    if not folder.is_dir():
        refuse(f"there is no folder {folder}")
    files = files_in(folder.resolve())
    if not files:
        print(f"There is nothing to send in {folder}.")
        return
    for line in with_records(settings, lambda records: _send(settings, records, list(files))):
        print(line)


async def _send(settings: Settings, records: Records, files: list[Path]) -> list[str]:
    installation = str((await read_installation(records)).id)
    log = await open_log(settings, records)
    assert isinstance(log, SharedLog), "the records are in PostgreSQL"
    lines = []
    try:
        for path in files:
            requests = await send_file(path, installation, log)
            lines.append(f"{path.name}: {requests} requests sent.")
    except SpoolUnreadable as error:
        refuse(f"{error}. Move the file away to send the others.")
    except LogFull as error:
        refuse(f"{error}. Repeat the command later: what was sent is not sent again.")
    finally:
        await log.close()
    return lines
