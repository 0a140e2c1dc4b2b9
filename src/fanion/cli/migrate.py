"""The command `fanion migrate`: migrates the records store, checks its schema, or waits for it.

With `--wait` it waits until another process has migrated the store.
"""

import asyncio
from functools import partial
from typing import Annotated

import typer

from fanion.cli.options import Data
from fanion.cli.output import refuse, run_command, settings_of, warn
from fanion.cli.progress import Bar, progress_bar
from fanion.config import Settings
from fanion.db.drivers import RecordsUnavailable
from fanion.db.migrate import migrate as migrate_records
from fanion.db.migrate import read_schema
from fanion.runtime.data_dir import require_records

LOOK_S = 1.0
UP_TO_DATE = "The records store is up to date."

Check = Annotated[
    bool, typer.Option("--check", help="Change nothing; exit code 1 when migrations are pending.")
]
Wait = Annotated[
    bool,
    typer.Option("--wait", help="Change nothing; wait until another process has migrated."),
]
TimeoutS = Annotated[
    float, typer.Option(min=0, help="Seconds that --wait waits at most; then exit code 1.")
]


def migrate(
    data: Data = None, check: Check = False, wait: Wait = False, timeout_s: TimeoutS = 300.0
) -> None:
    """Migrate the records store to this version's schema; `serve` does so too."""
    if check and wait:
        refuse("Give one of --check and --wait.")
    settings = settings_of(data=data)
    if wait:
        problem = run_command(_wait_for_migrations(settings, timeout_s))
    elif check:
        problem = run_command(_pending_migrations(settings))
    else:
        problem = run_command(_apply_migrations(settings))
    if problem:
        warn(problem)
        raise typer.Exit(1)
    print(UP_TO_DATE)


async def _apply_migrations(settings: Settings) -> str:
    require_records(settings)
    with progress_bar("Migrating", "migrations") as bar:
        await migrate_records(settings.records_url, partial(_move_bar, bar))
    return ""


def _move_bar(bar: Bar, applied: int, missing: int) -> None:
    bar.expect(missing)
    bar.reach(applied, applied)


async def _pending_migrations(settings: Settings) -> str:
    """Return what to report, or "" if nothing is pending."""
    require_records(settings)
    names = (await read_schema(settings.records_url)).pending
    return f"migrations are pending: {', '.join(names)}" if names else ""


async def _wait_for_migrations(settings: Settings, timeout_s: float) -> str:
    """Wait until nothing is pending or the time is over, and return what to report.

    A store that does not answer yet is waited for too.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + timeout_s
    while True:
        try:
            problem = await _pending_migrations(settings)
        except RecordsUnavailable as error:
            problem = f"the records store cannot be used: {error}"
        left_s = give_up - loop.time()
        if not problem or left_s <= 0:
            return problem
        await asyncio.sleep(min(LOOK_S, left_s))
