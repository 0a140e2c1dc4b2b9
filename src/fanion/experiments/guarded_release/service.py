"""Guarded releases as people start, change and end them, each in one transaction.

Source: experiments.md section 5b.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import structs
from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import Invalid, NotFound
from fanion.experiments.guarded_release.checks_service import ReleaseChecks, set_percentage
from fanion.experiments.guarded_release.model import (
    METRICS_MAX,
    STEPS_MAX,
    Release,
    Step,
    next_check,
    with_act,
)
from fanion.experiments.guarded_release.question import conditions_of
from fanion.experiments.guarded_release.schemas import (
    NewRelease,
    ReleaseChanges,
    check_steps,
    without_results,
)
from fanion.experiments.guarded_release.store import (
    insert_release,
    newest_release,
    record_act,
    require_no_scheduled_rollout,
    write_release,
)
from fanion.experiments.metric_documents import read_metrics
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.releases_store import percentage_of
from fanion.flags.definitions.store import FlagStore, StoredFlag, lock_flag
from fanion.flags.engine.definition import DEVICE_ID, FlagRow, grouped_filters, parse_rules
from fanion.insights.calculation.named_store import require_named
from fanion.projects.model import Project
from fanion.rest.validation import given_fields
from fanion.runtime.change_bus import Topic

_Step = Callable[[Connection, Author, StoredFlag, Release], Release]


@dataclass(frozen=True, slots=True)
class GuardedRelease:
    """The guarded release of one flag, as one caller starts and steers it.

    Every call raises NotFound for an unknown flag or a flag without a release, and PermissionDenied
    if the caller may not edit the flag.
    """

    checks: ReleaseChecks
    author: Author
    access: FlagAccess
    flag_id: int

    async def start(self, data: NewRelease) -> Release:
        """Start a release, and set the percentage of its first step.

        Raises:
            Invalid: The flag or the release cannot be used.
        """

        def start(connection: Connection) -> Release:
            return _start(connection, self.author, self._lock(connection), data)

        return await self._write(start)

    async def change(self, data: ReleaseChanges) -> Release:
        """Change a release that has not ended; its metrics and passed steps are fixed.

        Raises:
            Invalid: It has ended, or changes what is fixed.
        """
        return await self._step(partial(_change, sent=given_fields(data)))

    async def pause(self) -> Release:
        """Leave a release where it is, without checks."""
        return await self._step(_pause)

    async def resume(self) -> Release:
        """Begin the current step of a paused release again."""
        return await self._step(_resume)

    async def complete(self) -> Release:
        """Set the percentage of the last step at once, and end the release."""
        return await self._step(_complete)

    async def cancel(self) -> Release:
        """End a release; the percentage stays as it is."""
        return await self._step(_cancel)

    async def check(self, project: Project) -> Release:
        """Check a release now, and act on what is found.

        Raises:
            Invalid: The release is paused or has ended.
        """
        store = self.checks.store
        flag = await FlagStore(store.records).get_flag(project.id, self.flag_id)
        self._require_edit(flag)
        release = await store.get_newest(project.id, self.flag_id)
        if release.due_at is None:
            raise Invalid("This guarded release is not running.")
        await self.checks.check_now(project, release, self.author.now)
        return await store.get_newest(project.id, self.flag_id)

    async def _step(self, step: _Step) -> Release:
        def take(connection: Connection) -> Release:
            flag = self._lock(connection)
            project_id = self.author.project_id
            release = newest_release(connection, project_id, self.flag_id, for_update=True)
            if not release.is_active:
                raise Invalid("This guarded release has ended.")
            return step(connection, self.author, flag, release)

        return await self._write(take)

    async def _write(self, work: Callable[[Connection], Release]) -> Release:
        async with self.checks.store.records.write() as connection:
            release = await connection.run_sync(work)
        self.checks.bus.publish(Topic.FLAGS, self.author.project_id)
        return release

    def _lock(self, connection: Connection) -> StoredFlag:
        return self._require_edit(lock_flag(connection, self.author.project_id, self.flag_id))

    def _require_edit(self, flag: StoredFlag | None) -> StoredFlag:
        if flag is None:
            raise NotFound
        self.access.require_edit(self.flag_id, flag.creator_id)
        return flag


def _start(connection: Connection, author: Author, flag: StoredFlag, data: NewRelease) -> Release:
    row = flag.definition
    _require_usable(row, data.condition_index)
    former = percentage_of(row, data.condition_index)
    _require_count("steps", len(data.steps), STEPS_MAX)
    _require_count("metrics", len(data.metrics), METRICS_MAX)
    check_steps(data.steps, 100 if former is None else former)
    require_no_scheduled_rollout(connection, row.id, data.condition_index)
    metrics = [without_results(metric) for metric in data.metrics]
    require = partial(require_named, connection, author.project_id)
    values = {
        **structs.asdict(data),
        "flag_id": row.id,
        "metrics": read_metrics(metrics, [], "metrics", require, are_guardrails=True),
        "former_percentage": former,
    }
    release = insert_release(connection, author, flag, values)
    values = with_act(release, author.now, "completed" if release.ends_with(0) else "running")
    values["due_at"] = next_check(values, release, author.now)
    release = write_release(connection, author, release, values)
    record_act(connection, author, flag, None, values)
    set_percentage(connection, author, flag, release, release.rollout_percentage)
    return release


def _require_count(name: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise Invalid(f"There must be 1 to {most} {name}, not {number}.", attr=name)


def _require_usable(flag: FlagRow, condition_index: int) -> None:
    """Raise Invalid unless a release can compare people inside and outside of the rollout."""
    if flag.deleted or not flag.active:
        raise Invalid("The feature flag must be active.")
    if flag.ensure_experience_continuity or flag.bucketing_identifier == DEVICE_ID:
        raise Invalid(
            "A guarded release needs a flag that hashes the distinct id: without "
            "ensure_experience_continuity, and not by device."
        )
    try:
        rules = parse_rules(grouped_filters(flag))
    except ValueError as error:
        raise Invalid(f"The feature flag cannot be computed: {error}.") from None
    conditions_of(rules, condition_index)


def _change(
    connection: Connection,
    author: Author,
    flag: StoredFlag,
    release: Release,
    sent: Mapping[str, Any],
) -> Release:
    values = dict(sent)
    if "metrics" in values:
        metrics = [without_results(metric) for metric in values.pop("metrics")]
        if metrics != release.metrics:
            raise Invalid("The metrics of a guarded release are fixed.", attr="metrics")
    if values.pop("condition_index", release.condition_index) != release.condition_index:
        raise Invalid("The condition set is fixed.", attr="condition_index")
    if "steps" in values:
        _require_count("steps", len(values["steps"]), STEPS_MAX)
        _require_passed(release, values["steps"])
        check_steps(values["steps"], release.former_percentage or 0)
    changed = structs.replace(release, **values)
    state = {"state": release.state, "step": release.step}
    due_at = next_check(state, changed, author.now) if release.due_at is not None else None
    after = write_release(connection, author, release, {**values, "due_at": due_at})
    record_act(connection, author, flag, release, {**state, "reason": release.reason})
    return after


def _require_passed(release: Release, steps: list[Step]) -> None:
    """Raise Invalid unless the steps begin with the passed ones and the current percentage."""
    passed = release.step
    same = steps[:passed] == release.steps[:passed] and len(steps) > passed
    if not same or steps[passed].rollout_percentage != release.rollout_percentage:
        raise Invalid(
            "Passed steps and the percentage of the current step are fixed.", attr="steps"
        )


def _pause(connection: Connection, author: Author, flag: StoredFlag, release: Release) -> Release:
    if release.state == "paused":
        raise Invalid("This guarded release is already paused.")
    values = with_act(release, author.now, "paused", reason="by_user")
    record_act(connection, author, flag, release, values)
    return write_release(connection, author, release, {**values, "due_at": None})


def _resume(connection: Connection, author: Author, flag: StoredFlag, release: Release) -> Release:
    if release.state != "paused":
        raise Invalid("This guarded release is not paused.")
    _require_usable(flag.definition, release.condition_index)
    values = with_act(release, author.now, "running")
    values |= {"step_started_at": author.now, "held_since": None}
    values["due_at"] = next_check(values, release, author.now)
    record_act(connection, author, flag, release, values)
    after = write_release(connection, author, release, values)
    set_percentage(connection, author, flag, after, after.rollout_percentage)
    return after


def _complete(
    connection: Connection, author: Author, flag: StoredFlag, release: Release
) -> Release:
    values = with_act(release, author.now, "completed", step=len(release.steps) - 1)
    record_act(connection, author, flag, release, values)
    after = write_release(
        connection, author, release, {**values, "due_at": None, "step_started_at": author.now}
    )
    set_percentage(connection, author, flag, after, after.rollout_percentage)
    return after


def _cancel(connection: Connection, author: Author, flag: StoredFlag, release: Release) -> Release:
    values = with_act(release, author.now, "cancelled", reason="by_user")
    record_act(connection, author, flag, release, values)
    return write_release(connection, author, release, {**values, "due_at": None})
