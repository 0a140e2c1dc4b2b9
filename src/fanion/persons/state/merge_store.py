"""The move of a merged person's cohort memberships and flag identities to the surviving person."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Column,
    Connection,
    Dialect,
    bindparam,
    case,
    exists,
    insert,
    literal,
    literal_column,
    select,
    update,
)

from fanion.db.bulk import in_chunks, upsert
from fanion.db.schema.cohorts import (
    AWAITED,
    NEVER,
    cohort_imports,
    cohort_people,
    cohort_recounts,
    cohorts,
)
from fanion.db.schema.flags import flag_continuity
from fanion.db.schema.tables import ID

if TYPE_CHECKING:  # one is loaded only where the records are in PostgreSQL
    from sqlalchemy.dialects import postgresql, sqlite

Moves = Sequence[Mapping[str, Any]]


def with_rows(connection: Connection, person_id: Column[Any], moves: Moves) -> Moves:
    """Return the moves of persons that have rows, or get some by an earlier move.

    Args:
        person_id: The column that holds the person of a row.
        moves: Ids of persons, as `gone` and `survivor`.
    """
    gone = [move["gone"] for move in moves]
    having: set[int] = set()
    for some in in_chunks(gone):
        having.update(connection.scalars(select(person_id).where(person_id.in_(some)).distinct()))
    kept = []
    for move in moves:
        if move["gone"] in having:
            having.add(move["survivor"])
            kept.append(move)
    return kept


_member = cohort_people.c
_cohort = cohorts.c
_import = cohort_imports.c
_COLUMNS = ["cohort_id", "person_id", "project_id", "added", "removed"]
# Rows that no version shows any more are left out: they are about to be deleted.
_THEIRS = (
    select(
        _member.cohort_id,
        bindparam("survivor", type_=ID),
        _member.project_id,
        _member.added,
        _member.removed,
    )
    .join(cohorts, _cohort.id == _member.cohort_id)
    .where(_member.person_id == bindparam("gone"), _member.removed > _cohort.version)
)
# Static copies that still read the members of some version of another cohort.
_COPIES = _import.source_id.is_not(None) & _import.cohort_id.is_not(None)
_ANY_COPY = select(_import.id).where(_COPIES).limit(1)
_COPIED = (
    select(
        _import.cohort_id,
        bindparam("survivor", type_=ID),
        _member.project_id,
        literal(AWAITED, ID),
        literal(NEVER, ID),
    )
    .join(cohort_people, _member.cohort_id == _import.source_id)
    .where(_COPIES, _member.person_id == bindparam("gone"))
    .where(_member.added <= _import.source_version, _member.removed > _import.source_version)
    .distinct()
)
# Written as text, because only then it refers to the row with which the insert conflicts.
_VERSION = literal_column(
    "(SELECT cohorts.version FROM cohorts WHERE cohorts.id = cohort_people.cohort_id)", ID
)


def move_memberships(connection: Connection, moves: Moves) -> None:
    """Move the memberships of merged persons to the surviving ones.

    It must be called before the merged persons are deleted, which deletes their own rows. Until the
    next calculation, a surviving person is in every version of a cohort that either of the two was
    in.

    Args:
        moves: Ids of persons of one project, as `gone` and `survivor`.
    """
    if theirs := with_rows(connection, cohort_people.c.person_id, moves):
        note_lost_members(connection, [move["gone"] for move in theirs])
        connection.execute(_move(connection.dialect), theirs)
    if connection.execute(_ANY_COPY).first() is not None:
        connection.execute(_give_to_copies(connection.dialect), _to_the_last(moves))


def _to_the_last(moves: Moves) -> Moves:
    """Resolve chains: the survivor of one merge may be merged by the next."""
    into = {move["gone"]: move["survivor"] for move in moves}
    last = dict(into)
    for gone, survivor in into.items():
        while survivor in into:
            survivor = into[survivor]
        last[gone] = survivor
    return [{"gone": gone, "survivor": survivor} for gone, survivor in last.items()]


@cache
def _move(dialect: Dialect) -> "postgresql.Insert | sqlite.Insert":
    statement = upsert(dialect, cohort_people).from_select(_COLUMNS, _THEIRS)
    new = statement.excluded
    unseen = _member.removed <= _VERSION
    earlier = case((unseen | (new.added < _member.added), new.added), else_=_member.added)
    later = case((new.removed > _member.removed, new.removed), else_=_member.removed)
    return statement.on_conflict_do_update(
        index_elements=["cohort_id", "person_id"], set_={"added": earlier, "removed": later}
    )


@cache
def _give_to_copies(dialect: Dialect) -> "postgresql.Insert | sqlite.Insert":
    """Return the statement that makes survivors members of the pending copies of their cohorts.

    A copy reads its members page by page, of a version that may no longer be the last one: it
    would not find the survivor there. A person that is not yet a member becomes one with the next
    version, even if the one that is being written is discarded.
    """
    statement = upsert(dialect, cohort_people).from_select(_COLUMNS, _COPIED)
    added = case((_member.added > _VERSION, AWAITED), else_=_member.added)
    return statement.on_conflict_do_update(
        index_elements=["cohort_id", "person_id"], set_={"added": added, "removed": NEVER}
    )


def note_lost_members(connection: Connection, person_ids: Sequence[int]) -> None:
    """Note the static cohorts that these persons leave, so that their members are counted again.

    It must be called while the persons still have their membership rows.
    """
    for some in in_chunks(person_ids):
        theirs = (
            select(_member.cohort_id)
            .join(cohorts, _cohort.id == _member.cohort_id)
            .where(_member.person_id.in_(some), _cohort.is_static)
            .distinct()
        )
        connection.execute(insert(cohort_recounts).from_select(["cohort_id"], theirs))


_stored = flag_continuity.c
_theirs = flag_continuity.alias("theirs")
_MOVE = (
    update(flag_continuity)
    .where(_stored.person_id == bindparam("gone"))
    .where(
        ~exists().where(
            _theirs.c.person_id == bindparam("survivor"), _theirs.c.flag_key == _stored.flag_key
        )
    )
    .values(person_id=bindparam("survivor"))
)


def move_continuity_identities(connection: Connection, moves: Moves) -> None:
    """Move the flag identities of merged persons to the surviving ones.

    It must be called before the merged persons are deleted, which deletes their remaining records.
    A record that the surviving person already has for a flag wins.

    Args:
        moves: Ids of persons of one project, as `gone` and `survivor`.
    """
    if theirs := with_rows(connection, flag_continuity.c.person_id, moves):
        connection.execute(_MOVE, theirs)
