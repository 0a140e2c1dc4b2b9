"""Checks of guarded releases, each of which is measured and acted on in one transaction.

Source: experiments.md section 5d.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import structlog
from sqlalchemy import Connection

from fanion.activity.model import Author, Trigger
from fanion.db.due_work import DueRow
from fanion.db.engine import RecordsUnavailable
from fanion.errors import AppError
from fanion.events.event import EventRejected, EventStoreUnavailable
from fanion.experiments.calculation.sums_service import calculate_sums
from fanion.experiments.guarded_release.measuring import measure
from fanion.experiments.guarded_release.model import (
    Decision,
    Measured,
    Reason,
    Release,
    State,
    decide,
    next_check,
    with_act,
)
from fanion.experiments.guarded_release.question import StepQuestion, step_question
from fanion.experiments.guarded_release.store import (
    ReleaseStore,
    due_row,
    finish_check,
    record_act,
)
from fanion.experiments.guarded_release.units_sql import StepUnitsSql
from fanion.experiments.metrics.reading import read_metrics
from fanion.flags.automation.schedule import planned_values
from fanion.flags.definitions.access_store import access_now
from fanion.flags.definitions.changes_store import change_flag
from fanion.flags.definitions.releases_store import percentage_of
from fanion.flags.definitions.store import FlagStore, StoredFlag, lock_flag
from fanion.insights.calculation.service import Analysis
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus, Topic


@dataclass(frozen=True, slots=True)
class ReleaseChecks:
    """The checks of guarded releases.

    Attributes:
        analysis: Asks the event store, in the queue of background work.
    """

    store: ReleaseStore
    analysis: Analysis
    bus: ChangeBus

    async def check_now(self, project: Project, release: Release, now: datetime) -> None:
        """Check a release at once, unless another server is at it."""
        found = await self.store.find_release(release.id)
        if found is None or found[0].due_at is None:
            return
        row = due_row(*found)
        is_free = row.lease_until is None or row.lease_until <= now
        if is_free and await self.store.checks.claim(row, now):
            await self.check(row, project, now)

    async def check(self, row: DueRow, project: Project, now: datetime) -> None:
        """Check a claimed release, and act."""
        found = await self.store.find_release(row.id)
        if found is None:
            return
        release = found[0]
        flag = await FlagStore(self.store.records).get_flag(project.id, release.flag_id)
        measured, decision = await self._measured_decision(project, flag, release, now)
        async with self.store.records.write() as connection:
            done = await connection.run_sync(
                _act, self.store, row, project, release, measured, decision, now
            )
        if done:
            self.bus.publish(Topic.FLAGS, project.id)

    async def _measured_decision(
        self, project: Project, flag: StoredFlag | None, release: Release, now: datetime
    ) -> tuple[Measured | None, Decision]:
        """Return what was measured, and what follows.

        A release whose guardrails cannot be computed holds.
        """
        if flag is None or flag.definition.deleted:
            return None, Decision("pause", "flag_deleted")
        if not flag.definition.active:
            return None, Decision("hold", "flag_off")
        try:
            measured = await self._measure(project, flag, release, now)
        except RecordsUnavailable:
            raise
        except EventStoreUnavailable:
            return None, Decision("hold", "event_store_unavailable")
        except (AppError, EventRejected) as error:
            structlog.get_logger().warning(
                "guarded_release_not_computed",
                project=project.id,
                flag=release.flag_id,
                reason=str(error),
            )
            return None, Decision("hold", "cannot_be_computed")
        return measured, decide(release, measured, now)

    async def _measure(
        self, project: Project, flag: StoredFlag, release: Release, now: datetime
    ) -> Measured:
        metrics = read_metrics(release.metrics, "metrics", are_guardrails=True)
        current = []
        for metric in metrics:
            question = step_question(
                flag.definition,
                release.condition_index,
                metric,
                started_at=release.started_at,
                step_at=release.step_started_at,
                percentage=release.rollout_percentage,
            )
            current.append(await self._sums(project, question, now))
        return measure(release, metrics, current)

    async def _sums(
        self, project: Project, question: StepQuestion, now: datetime
    ) -> Mapping[str, Any]:
        async def calculate() -> Mapping[str, Any]:
            begun, calculation = await self.analysis.begin(project, question, now)
            return await calculate_sums(calculation, begun, StepUnitsSql)

        return await self.analysis.complete(project, calculate)


def _act(
    connection: Connection,
    store: ReleaseStore,
    row: DueRow,
    project: Project,
    release: Release,
    measured: Measured | None,
    decision: Decision,
    now: datetime,
) -> bool:
    """Write the outcome of a check and do what follows; False if the release was changed since."""
    flag = lock_flag(connection, project.id, release.flag_id)
    assert flag is not None  # the release would have gone with it
    values = _outcome(connection, project, flag, release, measured, decision, now)
    differs = (values["state"], values["step"], values["reason"]) != (
        release.state,
        release.step,
        release.reason,
    )
    if not differs:
        del values["history"]
    if not finish_check(connection, store.checks, row, values):
        return False
    if differs:
        _carry_out(connection, project, flag, release, values, now)
    return differs


def _outcome(
    connection: Connection,
    project: Project,
    flag: StoredFlag,
    release: Release,
    measured: Measured | None,
    decision: Decision,
    now: datetime,
) -> dict[str, Any]:
    """Return the columns of a release after a check."""
    act, reason = decision.act, decision.reason
    if act == "next" and not _may_go_on(connection, project, flag, release):
        act, reason = "pause", "no_permission"
    if percentage_of(flag.definition, release.condition_index) != release.rollout_percentage:
        act, reason = "pause", "percentage_changed"
    if act == "next":
        values = _next_step(release, measured, reason, now)
    elif act == "roll_back":
        share = release.former_percentage
        values = with_act(
            release, now, "rolled_back", percentage=100 if share is None else share, reason=reason
        )
    elif act == "pause":
        values = with_act(release, now, "paused", reason=reason)
    elif act == "hold":
        values = with_act(release, now, "holding", reason=reason)
    else:
        values = with_act(release, now, "running", reason=reason)
    values["checked_at"] = values["updated_at"] = now
    holds = values["state"] == "holding"
    values["held_since"] = (release.held_since or now) if holds else None
    if measured is not None:
        values["harms"] = list(measured.harms)
    return {**values, "due_at": next_check(values, release, now)}


def _next_step(
    release: Release, measured: Measured | None, reason: Reason | None, now: datetime
) -> dict[str, Any]:
    assert measured is not None
    step = release.step + 1
    if step == len(release.steps):
        return with_act(release, now, "completed", reason=reason)
    state: State = "completed" if release.ends_with(step) else "running"
    values = with_act(release, now, state, step=step, reason=reason)
    return {**values, "step_started_at": now, "sums": [*release.sums, list(measured.sums)]}


def _may_go_on(
    connection: Connection, project: Project, flag: StoredFlag, release: Release
) -> bool:
    """Return whether the user who started the release may still edit the flag."""
    if release.created_by is None:
        return True
    access = access_now(connection, release.created_by.id, project.organization_id, project.id)
    return access is not None and access.can_edit(release.flag_id, flag.creator_id)


def _carry_out(
    connection: Connection,
    project: Project,
    flag: StoredFlag,
    release: Release,
    values: Mapping[str, Any],
    now: datetime,
) -> None:
    """Set the percentage where it changes, and record the act in the flag's activity."""
    payload = {
        "state": values["state"],
        "step": values["step"],
        "reason": values["reason"],
        "metrics": msgspec.to_builtins(values.get("harms", release.harms)),
    }
    author = Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=None,
        now=now,
        trigger=Trigger(job_type="guarded_release", job_id=str(release.id), payload=payload),
    )
    record_act(connection, author, flag, release, values)
    share = release.steps[values["step"]].rollout_percentage
    if values["state"] == "rolled_back":
        set_percentage(connection, author, flag, release, release.former_percentage)
    elif values["step"] != release.step:
        set_percentage(connection, author, flag, release, share)


def set_percentage(
    connection: Connection,
    author: Author,
    flag: StoredFlag,
    release: Release,
    percentage: float | None,
) -> None:
    """Set the rollout of the release's condition set."""
    planned = {
        "operation": "update_rollout_percentage",
        "condition_index": release.condition_index,
        "value": percentage,
    }
    change_flag(connection, author, flag, planned_values(planned, flag.definition))
