"""Guarded releases in the records store.

A transaction locks the flag first and then its release, as all changes of flags do.

Source: experiments.md section 5b.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, insert, select, update

from fanion.activity.model import Author
from fanion.db.due_work import DueRow, DueRows
from fanion.db.engine import Records
from fanion.db.schema.experiments import guarded_releases
from fanion.db.schema.flags import scheduled_changes
from fanion.errors import Invalid, NotFound
from fanion.experiments.guarded_release.model import (
    CHECK_EVERY,
    Act,
    MetricHarm,
    Release,
    Step,
)
from fanion.flags.definitions.changes_store import record_updated
from fanion.flags.definitions.releases_store import active_release, release_change
from fanion.flags.definitions.store import StoredFlag
from fanion.projects.organizations.store import read_user_summaries

LEASE = timedelta(minutes=5)

_release = guarded_releases.c
_COMPOSED: Mapping[str, Any] = {
    "steps": list[Step],
    "harms": list[MetricHarm],
    "history": list[Act],
}
_PLAIN = tuple(
    name for name in Release.__struct_fields__ if name not in _COMPOSED and name != "created_by"
)


@dataclass(frozen=True, slots=True)
class ReleaseStore:
    records: Records

    @property
    def checks(self) -> DueRows:
        """Return the checks of releases as rows that are due."""
        return DueRows(self.records, guarded_releases, _release.due_at, LEASE)

    async def get_newest(self, project_id: int, flag_id: int) -> Release:
        """Return the last guarded release of a flag, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(newest_release, project_id, flag_id)

    async def find_release(self, release_id: int) -> tuple[Release, datetime | None] | None:
        """Return a release, with the end of the lease of its check; None if it is gone."""
        async with self.records.read() as connection:
            return await connection.run_sync(_find_release, release_id)


def newest_release(
    connection: Connection, project_id: int, flag_id: int, *, for_update: bool = False
) -> Release:
    """Return the last guarded release of a flag, or raise NotFound."""
    statement = (
        select(guarded_releases)
        .where(_release.project_id == project_id, _release.flag_id == flag_id)
        .order_by(_release.id.desc())
        .limit(1)
    )
    statement = statement.with_for_update() if for_update else statement
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound
    return _read(connection, row)


def _find_release(
    connection: Connection, release_id: int
) -> tuple[Release, datetime | None] | None:
    statement = select(guarded_releases).where(_release.id == release_id)
    row = connection.execute(statement).first()
    return None if row is None else (_read(connection, row), row.lease_until)


def insert_release(
    connection: Connection, author: Author, flag: StoredFlag, values: Mapping[str, Any]
) -> Release:
    """Insert a release that begins now, at its first step.

    Raises:
        Invalid: The flag has another one that has not ended.
    """
    flag_id = flag.definition.id
    if active_release(connection, flag_id) is not None:
        raise Invalid("This feature flag has a guarded release that has not ended.")
    row = {
        "project_id": author.project_id,
        "flag_id": flag_id,
        "state": "running",
        "step": 0,
        "started_at": author.now,
        "step_started_at": author.now,
        "harms": [],
        "sums": [],
        "history": [],
        "due_at": author.now + CHECK_EVERY,
        "created_by_id": author.user_id,
        "created_at": author.now,
        "updated_at": author.now,
        **_encoded(values),
    }
    release_id = connection.execute(
        insert(guarded_releases).values(**row).returning(_release.id)
    ).scalar_one()
    found = _find_release(connection, release_id)
    assert found is not None
    return found[0]


def write_release(
    connection: Connection, author: Author, release: Release, values: Mapping[str, Any]
) -> Release:
    """Set columns of a locked release; a check that is under way writes nothing then."""
    this = update(guarded_releases).where(_release.id == release.id)
    connection.execute(this.values(lease_until=None, updated_at=author.now, **_encoded(values)))
    found = _find_release(connection, release.id)
    assert found is not None
    return found[0]


def finish_check(
    connection: Connection, checks: DueRows, row: DueRow, values: Mapping[str, Any]
) -> bool:
    """Write the outcome of a check, or return False if the release was changed meanwhile."""
    return checks.finish(connection, row, **_encoded(values))


def record_act(
    connection: Connection,
    author: Author,
    flag: StoredFlag,
    before: Release | None,
    values: Mapping[str, Any],
) -> None:
    """Record an act of a release in the flag's activity, of which webhooks are told."""
    change = release_change(
        None if before is None else before.state,
        0 if before is None else before.step,
        values["state"],
        values["step"],
        values.get("reason"),
    )
    row = flag.definition
    record_updated(connection, author, row.id, row.key, [change])


def require_no_scheduled_rollout(
    connection: Connection, flag_id: int, condition_index: int
) -> None:
    """Raise Invalid if a scheduled change would set the percentage of the condition set."""
    change = scheduled_changes.c
    pending = select(change.payload).where(change.flag_id == flag_id, change.due_at.is_not(None))
    for payload in connection.scalars(pending):
        is_rollout = payload["operation"] == "update_rollout_percentage"
        if is_rollout and payload.get("condition_index", 0) == condition_index:
            raise Invalid(
                "A scheduled change sets the percentage of this condition set. Cancel it first.",
                attr="condition_index",
            )


def _encoded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: msgspec.to_builtins(value) if name in _COMPOSED else value
        for name, value in values.items()
    }


def _read(connection: Connection, row: Row[Any]) -> Release:
    users = read_user_summaries(connection, [row.created_by_id])
    composed = {name: msgspec.convert(getattr(row, name), kind) for name, kind in _COMPOSED.items()}
    plain = {name: getattr(row, name) for name in _PLAIN}
    return Release(**plain, **composed, created_by=users.get(row.created_by_id))


def due_row(release: Release, lease_until: datetime | None) -> DueRow:
    assert release.due_at is not None
    return DueRow(release.id, release.project_id, release.due_at, lease_until)
