"""Identities that flags store for distinct ids without a person, until the person is created.

Source: flags.md section 9, "Ids without a person yet".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Never

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    delete,
    exists,
    func,
    select,
    type_coerce,
    update,
)

from fanion.db.bulk import in_chunks, upsert
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.flags import flag_continuity, waiting_identities
from fanion.db.schema.tables import person_distinct_ids, projects
from fanion.runtime.background import run_loop

SWEEP_EVERY_S = 60.0
KEPT_FOR = timedelta(days=30)
# Per project, about 100,000 distinct ids with three flags; beyond it the oldest are deleted.
PROJECT_BYTES_MAX = 32 * 2**20
# Bytes that a process writes for a project before it checks the project's size again.
TRIM_AFTER_BYTES = PROJECT_BYTES_MAX // 32
ROW_BYTES = 200  # a row and its index entry, besides the id and the identities

_row, _link = waiting_identities.c, person_distinct_ids.c
_text = type_coerce(_row.hash_keys, Text).label("text")
_decode = msgspec.json.Decoder(dict[str, str]).decode

# Flag key → the distinct id whose hash decides the flag.
HashKeys = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PendingIdentity:
    project_id: int
    distinct_id: str
    hash_keys: HashKeys


def waiting_rows() -> Select[tuple[str, str]]:
    """Return the statement for rows of (distinct id, text for `read_waiting`).

    It binds `in_project` and `distinct_ids`.
    """
    return (
        select(_row.distinct_id, _text)
        .where(_row.project_id == bindparam("in_project"))
        .where(_row.distinct_id.in_(bindparam("distinct_ids", expanding=True)))
    )


def read_waiting(text: str) -> dict[str, str]:
    return _decode(text)


# ── Written by evaluation ────────────────────────────────────────────────────────────────


def put_waiting(
    connection: Connection, rows: Sequence[PendingIdentity], now: datetime
) -> dict[int, int]:
    """Add identities that are not stored yet: the first identity of a flag wins.

    Returns:
        The number of bytes written, by project id.
    """
    # All servers write in the same order, so that they cannot deadlock.
    ordered = sorted(rows, key=lambda identity: (identity.project_id, identity.distinct_id))
    _insert_empty(connection, ordered, now)
    written: dict[int, int] = {}
    for project_id, some in groupby(ordered, lambda identity: identity.project_id):
        written[project_id] = _add_identities(connection, project_id, list(some))
    return written


def _insert_empty(connection: Connection, rows: Sequence[PendingIdentity], now: datetime) -> None:
    values = [
        {
            "project_id": identity.project_id,
            "distinct_id": identity.distinct_id,
            "hash_keys": {},
            "size_bytes": 0,
            "created_at": now,
        }
        for identity in rows
    ]
    connection.execute(
        upsert(connection.dialect, waiting_identities).on_conflict_do_nothing(), values
    )


def _add_identities(
    connection: Connection, project_id: int, rows: Sequence[PendingIdentity]
) -> int:
    parameters = {
        "in_project": project_id,
        "distinct_ids": [identity.distinct_id for identity in rows],
    }
    locked = connection.execute(
        waiting_rows().order_by(_row.distinct_id).with_for_update(), parameters
    )
    stored = {row.distinct_id: _decode(row.text) for row in locked}
    written = 0
    for identity in rows:
        former = stored.get(identity.distinct_id)
        if former is None or identity.hash_keys.keys() <= former.keys():
            continue
        merged = stored[identity.distinct_id] = {**identity.hash_keys, **former}
        size = ROW_BYTES + len(identity.distinct_id.encode()) + len(msgspec.json.encode(merged))
        written += size
        connection.execute(
            update(waiting_identities)
            .where(_of_project(project_id), _row.distinct_id == identity.distinct_id)
            .values(hash_keys=merged, size_bytes=size)
        )
    return written


def trim_waiting(connection: Connection, project_id: int, bytes_max: int) -> None:
    """Delete the oldest identities of the project beyond `bytes_max`."""
    upto = func.sum(_row.size_bytes).over(order_by=(_row.created_at.desc(), _row.distinct_id))
    sized = select(_row.distinct_id, upto.label("upto")).where(_of_project(project_id)).subquery()
    beyond = select(sized.c.distinct_id).where(sized.c.upto > bytes_max)
    connection.execute(
        delete(waiting_identities).where(_of_project(project_id), _row.distinct_id.in_(beyond))
    )


# ── Written by ingestion ─────────────────────────────────────────────────────────────────


def adopt_waiting(
    connection: Connection, project_id: int, distinct_ids: Sequence[str] | None = None
) -> None:
    """Move the identities stored for distinct ids to the persons that have these ids now.

    Existing records of a person win.

    Args:
        distinct_ids: None for all of the project.
    """
    if not connection.scalar(select(exists().where(_of_project(project_id)))):
        return
    if distinct_ids is None:
        _adopt_identities(connection, project_id, _owned(project_id))
        return
    for some in in_chunks(distinct_ids):
        _adopt_identities(
            connection, project_id, _owned(project_id).where(_row.distinct_id.in_(some))
        )


def _owned(project_id: int) -> Select[tuple[str, str, int]]:
    """Select the identities whose distinct id has a person, oldest first.

    Rows locked by flag evaluation are left to the next sweep: waiting for them while persons are
    locked could deadlock.
    """
    return (
        select(_row.distinct_id, _text, _link.person_id)
        .join(
            person_distinct_ids,
            (_link.project_id == _row.project_id) & (_link.distinct_id == _row.distinct_id),
        )
        .where(_of_project(project_id))
        .order_by(_row.created_at, _row.distinct_id)
        .with_for_update(of=waiting_identities, skip_locked=True)
    )


def _adopt_identities(
    connection: Connection, project_id: int, owned: Select[tuple[str, str, int]]
) -> None:
    rows = connection.execute(owned).all()
    records = [
        {
            "project_id": project_id,
            "person_id": row.person_id,
            "flag_key": flag_key,
            "hash_key": hash_key,
        }
        for row in rows
        for flag_key, hash_key in _decode(row.text).items()
    ]
    if records:
        statement = upsert(connection.dialect, flag_continuity).on_conflict_do_nothing()
        connection.execute(statement, records)
    forget_waiting(connection, project_id, [row.distinct_id for row in rows])


def forget_waiting(connection: Connection, project_id: int, distinct_ids: Sequence[str]) -> None:
    for some in in_chunks(distinct_ids):
        which = _of_project(project_id), _row.distinct_id.in_(some)
        connection.execute(delete(waiting_identities).where(*which))


# ── Sweep ────────────────────────────────────────────────────────────────────────────────


async def run_sweep(records: Records, now: Callable[[], datetime]) -> Never:
    """Sweep at regular intervals, until cancelled."""
    await run_loop(
        partial(sweep_waiting, records, now),
        SWEEP_EVERY_S,
        "identities_unswept",
        (RecordsUnavailable,),
    )


async def sweep_waiting(records: Records, now: Callable[[], datetime]) -> None:
    """Delete expired identities, and adopt those that were missed when their person was created.

    On PostgreSQL, an identity that is written concurrently with the creation of its person is seen
    by neither transaction.
    """
    of_project = exists().where(_row.project_id == projects.c.id)
    waiting = await records.fetch(select(projects.c.id).where(of_project).order_by(projects.c.id))
    for row in waiting:
        async with records.write() as connection:
            await connection.run_sync(_sweep_project, row.id, now() - KEPT_FOR)


def _sweep_project(connection: Connection, project_id: int, before: datetime) -> None:
    adopt_waiting(connection, project_id)
    connection.execute(
        delete(waiting_identities).where(_of_project(project_id), _row.created_at <= before)
    )


def _of_project(project_id: int) -> ColumnElement[bool]:
    return _row.project_id == project_id
