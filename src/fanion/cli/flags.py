"""The commands `fanion flags`: they use the records store directly, even while a server runs."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import typer

from fanion.cli.options import Data
from fanion.cli.output import refuse, settings_of, with_records
from fanion.db.batching import READ_KEYS_MAX
from fanion.db.engine import Records
from fanion.flags.definitions.store import FlagStore
from fanion.flags.evaluation.snapshot_store import write_snapshot
from fanion.projects.admin_store import all_projects
from fanion.projects.model import Project
from fanion.projects.store import ProjectStore
from fanion.runtime.clock import utc_now

flags = typer.Typer(help="Feature flags.", no_args_is_help=True)


@flags.command()
def snapshot(
    out: Annotated[
        Path, typer.Option(help="The file to write; replaced once the new one is whole.")
    ],
    data: Data = None,
) -> None:
    """Write all projects, with their keys and flags, into a file.

    Servers that cannot reach the records store start from it: set FANION_FLAGS_SNAPSHOT to its
    path.
    """

    async def work(records: Records) -> int:
        store, count = FlagStore(records), 0
        try:
            with write_snapshot(out, utc_now()) as add:
                async for project in _all_projects(records):
                    add(project, await store.definitions(project.id))
                    count += 1
        except OSError as error:
            refuse(f"{out} cannot be written: {error.strerror or error}")
        return count

    print(f"{with_records(settings_of(data=data), work)} projects: {out}")


async def _all_projects(records: Records) -> AsyncIterator[Project]:
    ids = [project.id for project in await all_projects(records)]
    for start in range(0, len(ids), READ_KEYS_MAX):
        projects = await ProjectStore(records).by_ids(ids[start : start + READ_KEYS_MAX])
        for project in projects.values():
            yield project
