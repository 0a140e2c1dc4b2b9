"""What a merge does to the cohorts that a person is in."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Dialect, bindparam, case, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite

from fanion.db.cohort_tables import cohort_people, cohorts
from fanion.db.tables import ID
from fanion.db.upsert import upsert

_member = cohort_people.c
_cohort = cohorts.c
_COLUMNS = ["cohort_id", "person_id", "project_id", "added", "removed"]
# Rows that no version shows any more only wait to be swept away.
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
# Written out: only as text does it mean the row that the insert met.
_VERSION = literal_column(
    "(SELECT cohorts.version FROM cohorts WHERE cohorts.id = cohort_people.cohort_id)", ID
)


def move_memberships(connection: Connection, moves: Sequence[Mapping[str, Any]]) -> None:
    """To be called before the vanishing persons are removed, which takes their own rows along.

    A surviving person is in every version of a cohort that either of the two is in: who was
    a member stays one until the next calculation.
    moves: `gone` and `survivor`, numbers of persons of one project
    """
    connection.execute(_move(connection.dialect), moves)


@cache
def _move(dialect: Dialect) -> postgresql.Insert | sqlite.Insert:
    statement = upsert(dialect, cohort_people).from_select(_COLUMNS, _THEIRS)
    new = statement.excluded
    unseen = _member.removed <= _VERSION
    earlier = case((unseen | (new.added < _member.added), new.added), else_=_member.added)
    later = case((new.removed > _member.removed, new.removed), else_=_member.removed)
    return statement.on_conflict_do_update(
        index_elements=["cohort_id", "person_id"], set_={"added": earlier, "removed": later}
    )
