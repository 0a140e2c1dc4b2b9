"""Guarded releases: steps of a flag's rollout that wait for a test of guardrail metrics.

Source: experiments.md section 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from fanion.flags.definitions.releases_store import ACTIVE, CHECKED, HISTORY_MAX
from fanion.projects.model import UserSummary

STEPS_MAX: Final = 50
METRICS_MAX: Final = 10
HOLD_MINUTES_MAX: Final = 90 * 24 * 60
CHECK_EVERY: Final = timedelta(minutes=5)
# A release that waits for so long for enough people is paused.
TOO_FEW_FOR: Final = timedelta(days=7)

State = Literal["running", "holding", "paused", "rolled_back", "completed", "cancelled"]
OnRegression = Literal["rollback", "pause", "notify"]
OnTooFew = Literal["hold", "continue"]
Reason = Literal[
    "by_user",
    "cannot_be_computed",
    "event_store_unavailable",
    "flag_deleted",
    "flag_off",
    "harmed",
    "no_permission",
    "percentage_changed",
    "split_mismatch",
    "too_few",
]


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A step of the rollout."""

    rollout_percentage: Annotated[float, Meta(gt=0, le=100)]
    hold_minutes: (
        Annotated[
            int,
            Meta(ge=1, le=HOLD_MINUTES_MAX, description="Not for 100 %, where nobody is compared."),
        ]
        | None
    ) = None


class MetricHarm(Struct, frozen=True, kw_only=True):
    """The outcome of the last check of a metric.

    Attributes:
        harm: How much worse the people inside the rollout are, beyond the tolerance.
        lower: The bound above which the harm lies, no matter how often it is checked.
    """

    harm: float | None = None
    lower: float | None = None
    p_value: float | None = None
    outcome: str | None = None


class Act(Struct, frozen=True, kw_only=True):
    """An entry of the history of a release."""

    at: datetime
    state: State
    step: int
    rollout_percentage: float
    reason: Reason | None = None


class PlainRelease(Struct, frozen=True, kw_only=True):
    """The fields of a release that a request sets."""

    condition_index: int
    steps: list[Step]
    metrics: list[dict[str, Any]]
    alpha: float
    minimum_exposures: int
    on_regression: OnRegression
    on_too_few: OnTooFew


class Release(PlainRelease, frozen=True, kw_only=True):
    """A guarded release of a flag.

    Attributes:
        former_percentage: The rollout before the release, None for everyone.
        held_since: When it began to hold.
        sums: Of each passed step the sums of each metric, and of each arm in it.
        due_at: The time of the next check, None if none is to come.
    """

    id: int
    project_id: int
    flag_id: int
    state: State
    reason: Reason | None
    step: int
    former_percentage: float | None
    started_at: datetime
    step_started_at: datetime
    held_since: datetime | None
    checked_at: datetime | None
    harms: list[MetricHarm]
    sums: list[list[dict[str, Any]]]
    history: list[Act]
    due_at: datetime | None
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime

    @property
    def rollout_percentage(self) -> float:
        """Return the percentage that the release has set."""
        return self.steps[self.step].rollout_percentage

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def next_step_at(self) -> datetime | None:
        """Return when the hold of the current step has passed, None if no step is to come."""
        minutes = self.steps[self.step].hold_minutes
        if self.state not in CHECKED or minutes is None:
            return None
        return self.step_started_at + timedelta(minutes=minutes)

    def ends_with(self, step: int) -> bool:
        """Return whether the release is complete once a step begins: nothing follows it."""
        return step + 1 == len(self.steps) and self.steps[step].hold_minutes is None


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a check.

    Attributes:
        control: People outside of the rollout, in the current step.
        treated: People inside of it.
        sums: Of each metric the sums of each arm, in the current step.
        harms: Of each metric.
        is_enough: Of each metric whether its people and their successes are enough to act.
        is_mismatch: Whether the arms have other shares than the percentage says.
    """

    control: int
    treated: int
    sums: Sequence[Mapping[str, Any]]
    harms: Sequence[MetricHarm]
    is_enough: Sequence[bool]
    is_mismatch: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """The act of a release after a check.

    Attributes:
        act: `stay` keeps the step; `next` goes to the next one, or completes the release.
    """

    act: Literal["stay", "hold", "next", "pause", "roll_back"]
    reason: Reason | None = None


def decide(release: Release, measured: Measured, now: datetime) -> Decision:
    """Return what a release does after a check.

    Source: experiments.md section 5d.
    """
    is_harmed = _is_harmed(measured)
    if is_harmed and release.on_regression != "notify":
        return Decision("pause" if release.on_regression == "pause" else "roll_back", "harmed")
    if measured.is_mismatch:
        return Decision("hold", "split_mismatch")
    reason: Reason | None = "harmed" if is_harmed else None  # of which people are told
    next_at = release.next_step_at
    if next_at is None or now < next_at:
        return Decision("stay", reason)
    least = min(measured.control, measured.treated)
    if least >= release.minimum_exposures or release.on_too_few == "continue":
        return Decision("next", reason)
    if release.held_since is not None and now - release.held_since >= TOO_FEW_FOR:
        return Decision("pause", "too_few")
    return Decision("hold", "too_few")


def _is_harmed(measured: Measured) -> bool:
    pairs = zip(measured.harms, measured.is_enough, strict=True)
    return any(harm.outcome == "harmed" and is_enough for harm, is_enough in pairs)


def with_act(
    release: Release,
    now: datetime,
    state: State,
    *,
    step: int | None = None,
    percentage: float | None = None,
    reason: Reason | None = None,
) -> dict[str, Any]:
    """Return the columns of a release that changes its state or its step."""
    at_step = release.step if step is None else step
    share = release.steps[at_step].rollout_percentage if percentage is None else percentage
    act = Act(at=now, state=state, step=at_step, rollout_percentage=share, reason=reason)
    history = [*release.history, act][-HISTORY_MAX:]
    return {"state": state, "step": at_step, "reason": reason, "history": history}


def next_check(values: Mapping[str, Any], release: Release, now: datetime) -> datetime | None:
    """Return when the release is checked next: every five minutes, and before each step."""
    if values["state"] not in CHECKED:
        return None
    minutes = release.steps[values["step"]].hold_minutes
    started = values.get("step_started_at", release.step_started_at)
    regular = now + CHECK_EVERY
    if minutes is None:
        return regular
    step_at: datetime = started + timedelta(minutes=minutes)
    return min(regular, step_at) if step_at > now else regular
