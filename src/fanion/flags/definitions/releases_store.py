"""The guarded release of a flag, as far as the flag's own changes concern it.

Guarded releases are managed in `fanion.experiments`, which is built on flags. Somebody who changes
the percentage by hand takes over, so the release pauses, in the transaction of the change.

Source: experiments.md section 5b.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, select, update

from fanion.activity.model import Author, Change
from fanion.db.schema.experiments import guarded_releases
from fanion.errors import Invalid
from fanion.flags.engine.definition import FlagRow, grouped_filters

ACTIVE: Final = ("running", "holding", "paused")
CHECKED: Final = ("running", "holding")
HISTORY_MAX: Final = 200

_release = guarded_releases.c


def active_release(connection: Connection, flag_id: int) -> Row[Any] | None:
    """Return the flag's guarded release that has not ended, locked for the transaction."""
    statement = select(guarded_releases).where(
        _release.flag_id == flag_id, _release.state.in_(ACTIVE)
    )
    row: Row[Any] | None = connection.execute(statement.with_for_update()).first()
    return row


def require_no_release(connection: Connection, flag_id: int, condition_index: int) -> None:
    """Raise Invalid if a guarded release sets the percentage of this condition set."""
    release = active_release(connection, flag_id)
    if release is not None and release.condition_index == condition_index:
        raise Invalid(
            "A guarded release sets the percentage of this condition set. Cancel it first.",
            attr="payload",
        )


def percentage_of(flag: FlagRow, condition_index: int) -> float | None:
    """Return the rollout of a condition set in percent, None if there is no such condition set."""
    groups = grouped_filters(flag)["groups"]
    if condition_index >= len(groups):
        return None
    share = groups[condition_index].get("rollout_percentage")
    return 100 if share is None else share


def follow_release(
    connection: Connection, author: Author, before: Mapping[str, Any], after: FlagRow
) -> Sequence[Change]:
    """Pause a release whose percentage somebody has changed, and return what changed of it.

    Args:
        before: The flag by column.
        after: The flag after the change, whose lock the caller holds.
    """
    if before["filters"] == after.filters and before["key"] == after.key:
        return ()
    row = active_release(connection, after.id)
    if row is None or row.state not in CHECKED:
        return ()
    expected = row.steps[row.step]["rollout_percentage"]
    if before["key"] == after.key and percentage_of(after, row.condition_index) == expected:
        return ()
    entry = {
        "at": author.now.isoformat(),
        "state": "paused",
        "step": row.step,
        "rollout_percentage": percentage_of(after, row.condition_index) or 0,
        "reason": "percentage_changed",
    }
    values: dict[str, Any] = {"state": "paused", "reason": "percentage_changed", "due_at": None}
    values |= {"lease_until": None, "held_since": None, "updated_at": author.now}
    history = [*row.history, entry][-HISTORY_MAX:]
    this = update(guarded_releases).where(_release.id == row.id)
    connection.execute(this.values(**values, history=history))
    return [release_change(row.state, row.step, "paused", row.step, "percentage_changed")]


def release_change(
    state: str | None, step: int, new_state: str, new_step: int, reason: str | None
) -> Change:
    """Return the entry in the flag's activity about an act of its guarded release.

    Args:
        state: None for a new release.
    """
    former = None if state is None else {"state": state, "step": step}
    return Change(
        type="FeatureFlag",
        action="created" if former is None else "changed",
        field="guarded_release",
        before=former,
        after={"state": new_state, "step": new_step, "reason": reason},
    )
