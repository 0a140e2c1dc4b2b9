"""The steps of an experiment: it is launched, paused, ended, shipped, and begun again.

Each is one transaction with what it does to the flag.

Source: experiments.md sections 1b and 1d.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import Invalid, NotFound
from fanion.experiments.model import Experiment
from fanion.experiments.parameters import require_usable, shipped
from fanion.experiments.schemas import Conclusion, ShippedVariant
from fanion.experiments.service import (
    edit_flag,
    first_phase,
    lock_with_flag,
    require_flag,
    write_experiment,
)
from fanion.experiments.store import ExperimentStore, get_experiment
from fanion.flags.definitions.model import FlagAccess, variant_shares
from fanion.flags.definitions.schemas import FlagChanges
from fanion.flags.definitions.store import StoredFlag
from fanion.flags.engine.definition import grouped_filters
from fanion.rest.validation import given_fields
from fanion.runtime.change_bus import ChangeBus, Topic


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an experiment, within the transaction that has locked it and its flag."""

    connection: Connection
    author: Author
    access: FlagAccess
    experiment: Experiment
    flag: StoredFlag | None

    def change_flag(self, changes: FlagChanges) -> StoredFlag:
        flag = require_flag(self.flag)
        return edit_flag(self.connection, self.author, self.access, flag, changes)

    def require_edit(self) -> None:
        """Raise PermissionDenied unless the caller may edit the flag."""
        if self.flag is not None:
            self.access.require_edit(self.flag.definition.id, self.flag.creator_id)

    def write(self, values: Mapping[str, Any]) -> Experiment:
        return write_experiment(self.connection, self.author, self.experiment, values)

    def read_again(self) -> Experiment:
        return get_experiment(self.connection, self.author.project_id, self.experiment.id)


@dataclass(frozen=True, slots=True)
class ExperimentSteps:
    """The steps of one experiment, as one caller takes them.

    Every call raises NotFound for an unknown experiment, Invalid in the wrong state, and
    PermissionDenied where the flag changes or the experiment ends, and the caller may not edit the
    flag.
    """

    store: ExperimentStore
    bus: ChangeBus
    author: Author
    access: FlagAccess
    experiment_id: int

    async def launch(self) -> Experiment:
        """Start a draft, and switch its flag on."""
        return await self._take(_launch)

    async def pause(self) -> Experiment:
        """Switch the flag of a running experiment off."""
        return await self._take(_pause)

    async def resume(self) -> Experiment:
        """Switch the flag of a paused experiment on again."""
        return await self._take(_resume)

    async def end(self, data: Conclusion) -> Experiment:
        """End a running experiment; its flag stays as it is."""
        return await self._take(partial(_end, data=data))

    async def ship(self, data: ShippedVariant) -> Experiment:
        """Give one variant to all who match the flag, and end the experiment if it runs."""
        return await self._take(partial(_ship, data=data))

    async def reset(self) -> Experiment:
        """Make an experiment a draft again; its flag stays as it is."""
        return await self._take(_reset)

    async def archive(self) -> Experiment:
        return await self._take(_archive)

    async def unarchive(self) -> Experiment:
        return await self._take(_unarchive)

    async def _take(self, step: Callable[[Step], Experiment]) -> Experiment:
        async with self.store.records.write() as connection:
            experiment = await connection.run_sync(self._take_locked, step)
        self.bus.publish(Topic.FLAGS, self.author.project_id)
        return experiment

    def _take_locked(
        self, connection: Connection, step: Callable[[Step], Experiment]
    ) -> Experiment:
        experiment, flag = lock_with_flag(connection, self.author.project_id, self.experiment_id)
        if experiment.deleted:
            raise NotFound
        return step(Step(connection, self.author, self.access, experiment, flag))


def _launch(step: Step) -> Experiment:
    if not step.experiment.is_draft:
        raise Invalid("Experiment has already been launched.")
    filters = grouped_filters(require_flag(step.flag).definition)
    require_usable(list(variant_shares(filters)))
    flag = step.change_flag(FlagChanges(active=True))
    now = step.author.now
    return step.write({"start_date": now, "phases": first_phase(now, flag)})


def _pause(step: Step) -> Experiment:
    step.experiment.require_running()
    if not step.experiment.flag_is_active:
        raise Invalid("Experiment is already paused.")
    step.change_flag(FlagChanges(active=False))
    return step.read_again()


def _resume(step: Step) -> Experiment:
    step.experiment.require_running()
    require_flag(step.flag)
    if step.experiment.flag_is_active:
        raise Invalid("Experiment is not paused.")
    step.change_flag(FlagChanges(active=True))
    return step.read_again()


def _end(step: Step, data: Conclusion) -> Experiment:
    step.experiment.require_running()
    step.require_edit()
    return step.write({"end_date": step.author.now, **given_fields(data)})


def _ship(step: Step, data: ShippedVariant) -> Experiment:
    if step.experiment.is_draft:
        raise Invalid("Experiment has not been launched yet.")
    filters = grouped_filters(require_flag(step.flag).definition)
    changed = shipped(filters, data.variant_key, release_to_everyone=data.release_to_everyone)
    values = given_fields(data)
    del values["variant_key"], values["release_to_everyone"]
    if step.experiment.is_running:
        values["end_date"] = step.author.now
    step.write(values)  # before the flag, so that the split of an ended experiment begins no phase
    step.change_flag(FlagChanges(filters=changed))
    return step.read_again()


def _reset(step: Step) -> Experiment:
    if step.experiment.is_draft:
        raise Invalid("Experiment is already in draft state.")
    cleared = dict.fromkeys(("start_date", "end_date", "conclusion", "conclusion_comment"))
    return step.write({**cleared, "archived": False, "phases": []})


def _archive(step: Step) -> Experiment:
    if step.experiment.end_date is None:
        raise Invalid("Experiment must be ended before it can be archived.")
    if step.experiment.archived:
        raise Invalid("Experiment is already archived.")
    return step.write({"archived": True})


def _unarchive(step: Step) -> Experiment:
    if not step.experiment.archived:
        raise Invalid("Experiment is not archived.")
    return step.write({"archived": False})
