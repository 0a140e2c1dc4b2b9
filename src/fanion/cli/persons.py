"""`fanion persons`: the persons in PostgreSQL."""

from functools import partial
from typing import Annotated

import typer

from fanion.cli.output import Data, refuse, settings_of, with_records
from fanion.cli.progress import Bar, progress_bar
from fanion.db.engine import Records
from fanion.persons.partitions_store import (
    CannotPartition,
    cancel_partitioning,
    partition_persons,
)

persons = typer.Typer(help="The persons in PostgreSQL.", no_args_is_help=True)

Cancel = Annotated[
    bool, typer.Option("--cancel", help="Delete what an interrupted run has copied.")
]


@persons.callback()
def _commands() -> None:
    """Without it the only command would need no name."""


@persons.command("partition")
def partition(data: Data = None, cancel: Cancel = False) -> None:
    """Divide the table of persons into partitions, while servers run.

    Persons are copied, which takes disk space for a second copy of them. A run that was interrupted
    is continued by the next one. Servers need no restart. It cannot be undone.
    """

    async def work(records: Records) -> bool:
        if records.dialect != "postgresql":
            refuse("Persons have partitions only in PostgreSQL (FANION_DATABASE_URL).")
        try:
            if cancel:
                return await cancel_partitioning(settings.records_url)
            with progress_bar("Copying persons", "persons") as bar:
                return await partition_persons(settings.records_url, partial(_reach, bar))
        except CannotPartition as error:
            refuse(str(error))

    settings = settings_of(data=data)
    is_done = with_records(settings, work)
    if cancel:
        print("The copy is deleted." if is_done else "There is no copy to delete.")
    else:
        print(f"The persons have partitions {'now' if is_done else 'already'}.")


def _reach(bar: Bar, copied: int, upto: int, count: int) -> None:
    bar.expect(upto)
    bar.reach(copied, count)
