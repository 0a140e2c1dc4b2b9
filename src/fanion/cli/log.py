"""`fanion log`: the accept log in PostgreSQL."""

import typer

from fanion.accept_log.postgres import open_partitions as open_log_partitions
from fanion.cli.output import Data, refuse, settings_of, with_records
from fanion.db.engine import Records

log = typer.Typer(help="The accept log in PostgreSQL.", no_args_is_help=True)


@log.callback()
def _commands() -> None:
    """Without it the only command would need no name."""


@log.command("open-partitions")
def open_partitions(data: Data = None) -> None:
    """Divide the accept log into partitions, so that several servers ingest at the same time.

    Run it once, when all servers run this version: an older one accepts no more events (503).
    Servers need no restart. What the log holds is ingested first. It cannot be undone.
    """

    async def work(records: Records) -> bool:
        if records.dialect != "postgresql":
            refuse("The accept log has partitions only in PostgreSQL (FANION_DATABASE_URL).")
        return await open_log_partitions(settings.records_url)

    settings = settings_of(data=data)
    if with_records(settings, work):
        print("The accept log has partitions now.")
    else:
        print("The accept log has partitions already.")
