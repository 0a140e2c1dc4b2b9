"""Identities that flags keep hashing across a login, in the records store.

Source: flags.md section 9.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Row, Text, bindparam, null, or_, select
from sqlalchemy.exc import IntegrityError

from fanion.db.bulk import upsert
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.flags import flag_continuity
from fanion.db.schema.tables import person_distinct_ids
from fanion.persons.state.pending_identities_store import (
    PROJECT_BYTES_MAX,
    TRIM_AFTER_BYTES,
    HashKeys,
    PendingIdentity,
    put_waiting,
    read_waiting,
    trim_waiting,
    waiting_rows,
)

_kept = flag_continuity.c
_link = person_distinct_ids.c

_OF_PERSONS = (
    select(_link.distinct_id, _kept.flag_key, _kept.hash_key, null().cast(Text).label("waiting"))
    .select_from(person_distinct_ids.outerjoin(flag_continuity, _kept.person_id == _link.person_id))
    .where(_link.project_id == bindparam("in_project"))
    .where(_link.distinct_id.in_(bindparam("distinct_ids", expanding=True)))
)
_waiting = waiting_rows().subquery().c
_OF_IDS = _OF_PERSONS.union_all(
    select(_waiting.distinct_id, null().cast(Text), null().cast(Text), _waiting.text)
)
_OWNED = (
    select(_link.distinct_id)
    .where(_link.project_id == bindparam("in_project"))
    .where(_link.distinct_id.in_(bindparam("distinct_ids", expanding=True)))
)


@dataclass(frozen=True, slots=True)
class ContinuityWrite:
    """A request to keep hashing `anon_distinct_id` for some flags.

    It is stored with the persons of both distinct ids, and under each of them that has no person
    yet.
    """

    project_id: int
    distinct_id: str
    anon_distinct_id: str
    flags: tuple[str, ...]


async def stored_identities(
    records: Records, keys: Sequence[tuple[int, str]]
) -> Mapping[tuple[int, str], HashKeys]:
    """Return the stored identities by (project id, distinct id).

    They are those of the person, or of the distinct id itself as long as it has none.
    """
    by_project: dict[int, list[str]] = {}
    for project_id, distinct_id in keys:
        by_project.setdefault(project_id, []).append(distinct_id)
    identities: dict[tuple[int, str], HashKeys] = {}
    for project_id, ids in by_project.items():
        rows = await records.fetch(_OF_IDS, {"in_project": project_id, "distinct_ids": ids})
        identities.update({(project_id, name): stored for name, stored in _by_id(rows).items()})
    return identities


def _by_id(rows: Iterable[Row[Any]]) -> dict[str, dict[str, str]]:
    """Return identities by distinct id.

    A person's identities take precedence over those stored for the id before the person was
    created.
    """
    identities: dict[str, dict[str, str]] = {}
    for row in rows:
        stored = identities.setdefault(row.distinct_id, {})
        if row.waiting is not None:
            identities[row.distinct_id] = {**read_waiting(row.waiting), **stored}
        elif row.flag_key is not None:
            stored[row.flag_key] = row.hash_key
    return identities


@dataclass(slots=True)
class ContinuityStore:
    """Writes identities where none is stored yet.

    Attributes:
        project_bytes_max: Limit of a project's identities that wait for a person.
        trim_after_bytes: Bytes written between two checks of that limit.
    """

    records: Records
    now: Callable[[], datetime]
    project_bytes_max: int = PROJECT_BYTES_MAX
    trim_after_bytes: int = TRIM_AFTER_BYTES
    # Bytes written by project since its size was last checked.
    _written_bytes: dict[int, int] = field(default_factory=dict)

    async def keep_identities(
        self, keeps: Sequence[ContinuityWrite]
    ) -> Mapping[ContinuityWrite, HashKeys]:
        """Store identities in one transaction, and return what is stored afterwards.

        Raises:
            RecordsUnavailable: The store does not answer, or a person was merged at the same time.
        """
        try:
            async with self.records.write() as connection:
                return await connection.run_sync(self._write_identities, keeps)
        except IntegrityError as error:
            raise RecordsUnavailable("a person was merged at the same time") from error

    def _write_identities(
        self, connection: Connection, keeps: Sequence[ContinuityWrite]
    ) -> Mapping[ContinuityWrite, HashKeys]:
        _put_records(connection, keeps)
        # Written after the records, whose foreign key waits for ingestion; ingestion uses this
        # order too.
        if pending := _without_person(connection, keeps):
            for project_id, size in put_waiting(connection, pending, self.now()).items():
                self._trim(connection, project_id, size)
        return {keep: _of_both(connection, keep) for keep in keeps}

    def _trim(self, connection: Connection, project_id: int, size: int) -> None:
        # A new process does not know what was written before.
        written = self._written_bytes.get(project_id, self.trim_after_bytes) + size
        if written > self.trim_after_bytes:
            trim_waiting(connection, project_id, self.project_bytes_max)
            written = 0
        self._written_bytes[project_id] = written


def _put_records(connection: Connection, keeps: Sequence[ContinuityWrite]) -> None:
    rows = [
        {
            "in_project": keep.project_id,
            "one": keep.distinct_id,
            "other": keep.anon_distinct_id,
            "flag": flag,
        }
        for keep in keeps
        for flag in keep.flags
    ]
    # All servers write in the same order, so that two transactions cannot deadlock.
    rows.sort(key=lambda row: (row["in_project"], row["other"], row["one"], row["flag"]))
    connection.execute(_first_wins(connection.dialect), rows)


def _without_person(
    connection: Connection, keeps: Sequence[ContinuityWrite]
) -> list[PendingIdentity]:
    named: dict[int, dict[str, dict[str, str]]] = {}
    for keep in keeps:
        of_project = named.setdefault(keep.project_id, {})
        for distinct_id in (keep.distinct_id, keep.anon_distinct_id):
            first = of_project.setdefault(distinct_id, {})
            of_project[distinct_id] = dict.fromkeys(keep.flags, keep.anon_distinct_id) | first
    pending: list[PendingIdentity] = []
    for project_id, by_id in named.items():
        parameters = {"in_project": project_id, "distinct_ids": list(by_id)}
        owned = set(connection.scalars(_OWNED, parameters))
        pending += [
            PendingIdentity(project_id, unowned_id, by_id[unowned_id])
            for unowned_id in by_id
            if unowned_id not in owned
        ]
    return pending


def _first_wins(dialect: Dialect) -> Insert:
    """Return the insert of one row for each person that owns one of the two distinct ids.

    A distinct id without a person gets no row, and existing rows stay as they are.
    """
    owners = (
        select(
            _link.project_id,
            _link.person_id,
            bindparam("flag", type_=_kept.flag_key.type),
            bindparam("other", type_=_kept.hash_key.type),
        )
        .where(_link.project_id == bindparam("in_project"))
        .where(or_(_link.distinct_id == bindparam("one"), _link.distinct_id == bindparam("other")))
    )
    statement = upsert(dialect, flag_continuity).from_select(
        ["project_id", "person_id", "flag_key", "hash_key"], owners
    )
    return statement.on_conflict_do_nothing()


def _of_both(connection: Connection, keep: ContinuityWrite) -> HashKeys:
    """Return the identities of both ids; those of the current id take precedence."""
    ids = (keep.distinct_id, keep.anon_distinct_id)
    rows = connection.execute(_OF_IDS, {"in_project": keep.project_id, "distinct_ids": ids})
    stored = _by_id(rows)
    return {**stored.get(keep.anon_distinct_id, {}), **stored.get(keep.distinct_id, {})}
