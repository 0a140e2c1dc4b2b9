"""Identities that flags keep over a login, in the records store.

source: flags.md section 9
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Dialect, Insert, bindparam, or_, select
from sqlalchemy.exc import IntegrityError

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.flag_tables import flag_continuity
from fanion.db.tables import person_distinct_ids
from fanion.db.upsert import upsert

_kept = flag_continuity.c
_link = person_distinct_ids.c

_OF_IDS = (
    select(_link.distinct_id, _kept.flag_key, _kept.hash_key)
    .select_from(person_distinct_ids.outerjoin(flag_continuity, _kept.person_id == _link.person_id))
    .where(_link.project_id == bindparam("in_project"))
    .where(_link.distinct_id.in_(bindparam("distinct_ids", expanding=True)))
)

# Flag key → the distinct id whose hash decides it.
HashKeys = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Keep:
    """Have the persons of both distinct ids keep `anon_distinct_id` for these flags."""

    project_id: int
    distinct_id: str
    anon_distinct_id: str
    flags: tuple[str, ...]


async def kept_identities(
    records: Records, keys: Sequence[tuple[int, str]]
) -> Mapping[tuple[int, str], HashKeys]:
    """(project id, distinct id) → what its person keeps; ids that belong to nobody are absent."""
    by_project: dict[int, list[str]] = {}
    for project_id, distinct_id in keys:
        by_project.setdefault(project_id, []).append(distinct_id)
    found: dict[tuple[int, str], dict[str, str]] = {}
    for project_id, ids in by_project.items():
        rows = await records.fetch(_OF_IDS, {"in_project": project_id, "distinct_ids": ids})
        for row in rows:
            kept = found.setdefault((project_id, row.distinct_id), {})
            if row.flag_key is not None:
                kept[row.flag_key] = row.hash_key
    return found


async def keep_identities(records: Records, keeps: Sequence[Keep]) -> Mapping[Keep, HashKeys]:
    """Write what nobody has written before, in one transaction, and say what counts now.

    raises: RecordsUnavailable, also when a person vanished at the same moment
    """
    try:
        async with records.write() as connection:
            return await connection.run_sync(_keep, keeps)
    except IntegrityError as error:
        raise RecordsUnavailable("a person was merged away meanwhile") from error


def _keep(connection: Connection, keeps: Sequence[Keep]) -> Mapping[Keep, HashKeys]:
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
    # In one order for all servers, so that two of them wait for each other in line.
    rows.sort(key=lambda row: (row["in_project"], row["other"], row["one"], row["flag"]))
    connection.execute(_first_wins(connection.dialect), rows)
    return {keep: _of_both(connection, keep) for keep in keeps}


def _first_wins(dialect: Dialect) -> Insert:
    """One row for each person that owns one of the two ids: none for ids of nobody."""
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


def _of_both(connection: Connection, keep: Keep) -> HashKeys:
    """What the person of the present id keeps hides what that of the former one does."""
    ids = (keep.distinct_id, keep.anon_distinct_id)
    rows = connection.execute(_OF_IDS, {"in_project": keep.project_id, "distinct_ids": ids})
    listed = [row for row in rows if row.flag_key is not None]
    listed.sort(key=lambda row: row.distinct_id == keep.distinct_id)
    return {row.flag_key: row.hash_key for row in listed}
