"""Changes of holdouts, each in one transaction with the flags of the experiments that have it.

Source: experiments.md section 1d.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.experiments.holdouts.schemas import read_filters, with_variant
from fanion.experiments.holdouts.store import (
    HoldoutStore,
    create_holdout,
    get_holdout,
    remove_holdout,
    write_holdout,
)
from fanion.experiments.model import HoldoutRecord
from fanion.experiments.parameters import with_holdout
from fanion.experiments.store import experiments_of_holdout, flag_id_of
from fanion.flags.definitions.changes_store import change_flag
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.store import lock_flag
from fanion.flags.engine.definition import grouped_filters
from fanion.runtime.change_bus import ChangeBus, Topic


@dataclass(frozen=True, slots=True)
class HoldoutService:
    store: HoldoutStore
    bus: ChangeBus

    async def create_holdout(self, author: Author, sent: Mapping[str, Any]) -> HoldoutRecord:
        """Create a holdout.

        Raises:
            Invalid: Its filters cannot be used, or the project has too many holdouts.
        """
        values = {**sent, "filters": read_filters(sent["filters"])}
        async with self.store.records.write() as connection:
            return await connection.run_sync(create_holdout, author, values)

    async def change_holdout(
        self, author: Author, access: FlagAccess, holdout_id: int, sent: Mapping[str, Any]
    ) -> HoldoutRecord:
        """Change a holdout, and the flags of its experiments with it.

        Raises:
            NotFound: There is no such holdout.
            Invalid: Its filters cannot be used.
            PermissionDenied: The caller may not edit one of the flags.
        """
        values = dict(sent)
        if "filters" in values:
            values["filters"] = with_variant(read_filters(values["filters"]), holdout_id)
        async with self.store.records.write() as connection:
            changed = await connection.run_sync(_change, author, access, holdout_id, values)
        self.bus.publish(Topic.FLAGS, author.project_id)
        return changed

    async def remove_holdout(self, author: Author, access: FlagAccess, holdout_id: int) -> None:
        """Delete a holdout, and take it off the flags of its experiments.

        Raises:
            NotFound: There is no such holdout.
            PermissionDenied: The caller may not edit one of the flags.
        """
        async with self.store.records.write() as connection:
            await connection.run_sync(_remove, author, access, holdout_id)
        self.bus.publish(Topic.FLAGS, author.project_id)


def _change(
    connection: Connection,
    author: Author,
    access: FlagAccess,
    holdout_id: int,
    values: Mapping[str, Any],
) -> HoldoutRecord:
    before = get_holdout(connection, author.project_id, holdout_id)
    filters = values.get("filters", before.filters)
    if filters != before.filters:
        _rewrite_flags(connection, author, access, holdout_id, filters)
    before = get_holdout(connection, author.project_id, holdout_id, for_update=True)
    return write_holdout(connection, author, before, values)


def _remove(connection: Connection, author: Author, access: FlagAccess, holdout_id: int) -> None:
    get_holdout(connection, author.project_id, holdout_id)
    _rewrite_flags(connection, author, access, holdout_id, None)
    holdout = get_holdout(connection, author.project_id, holdout_id, for_update=True)
    remove_holdout(connection, author, holdout)


def _rewrite_flags(
    connection: Connection,
    author: Author,
    access: FlagAccess,
    holdout_id: int,
    groups: Sequence[Mapping[str, Any]] | None,
) -> None:
    """Write a holdout's condition sets into the flags of its experiments; None takes it off."""
    project_id = author.project_id
    experiment_ids = experiments_of_holdout(connection, project_id, holdout_id)
    used = {flag_id_of(connection, project_id, number) for number in experiment_ids}
    for flag_id in sorted(number for number in used if number is not None):
        flag = lock_flag(connection, project_id, flag_id)
        if flag is None or flag.definition.deleted:
            continue
        access.require_edit(flag_id, flag.creator_id)
        filters = with_holdout(grouped_filters(flag.definition), groups)
        change_flag(connection, author, flag, {"filters": filters})
