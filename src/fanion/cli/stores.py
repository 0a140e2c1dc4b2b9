"""The commands `fanion stores`: they bind the event store and the accept log to the records."""

import asyncio
from contextlib import nullcontext

import typer

from fanion.accept_log.spool_folder import files_in
from fanion.accept_log.sqlite_file import forget_mark
from fanion.cli.options import Data
from fanion.cli.output import settings_of, with_records
from fanion.config import Settings
from fanion.db.engine import Records
from fanion.events.ownership_store import read_installation, rebind_event_store
from fanion.events.storage.inspection import adopt_event_store
from fanion.runtime.data_dir import events_folder, lock_data_dir, records_file

stores = typer.Typer(help="The stores of an installation.", no_args_is_help=True)


@stores.callback()
def _commands() -> None:
    """Make Typer expect the name of a command, although there is only one here."""


@stores.command("adopt")
def adopt(data: Data = None) -> None:
    """Bind the event store, and an accept log or a spool in the data folder, to these records.

    Servers refuse an event store or accept log that belongs to another installation, and an event
    store that is not the one they know. Run this if they belong together all the same: after
    records were restored into a new database without their id, or after events were lost. Stop all
    servers first, those of the other installation too.
    """
    settings = settings_of(data=data)

    async def work(records: Records) -> str:
        with (
            lock_data_dir(settings, accepts_copy=True) if _is_in_folder(settings) else nullcontext()
        ):
            installation = await read_installation(records)
            mark = await asyncio.to_thread(
                adopt_event_store, settings.event_store_url, installation
            )
            await rebind_event_store(records, mark)
            if records_file(settings) is not None and settings.accept_log_path.exists():
                forget_mark(settings.accept_log_path)
            for file in files_in(settings.spool_path):
                forget_mark(file)
            return f"Installation {installation.id} has its events in {mark.where.rstrip(',')} now."

    print(with_records(settings, work))


def _is_in_folder(settings: Settings) -> bool:
    """Return whether a server on the data folder would have one of its stores open."""
    return records_file(settings) is not None or events_folder(settings) is not None
