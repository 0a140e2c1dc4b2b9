"""Which cohorts somebody is in, for flags."""

from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, select

from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.tables import person_distinct_ids

_cohort = cohorts.c
_member = cohort_people.c
_link = person_distinct_ids.c

_MEMBERSHIPS = (
    select(_link.distinct_id, _member.cohort_id)
    .select_from(
        person_distinct_ids.join(cohort_people, _member.person_id == _link.person_id).join(
            cohorts, _cohort.id == _member.cohort_id
        )
    )
    .where(_link.project_id == bindparam("project_id"))
    .where(_link.distinct_id.in_(bindparam("distinct_ids", expanding=True)))
    .where(_cohort.project_id == bindparam("project_id"))
    .where(_member.added <= _cohort.version, _member.removed > _cohort.version)
)


async def memberships(
    records: Records, keys: Sequence[tuple[int, str]]
) -> Mapping[tuple[int, str], frozenset[int]]:
    """(project id, distinct id) → cohorts whose last calculation counted the person in.

    Persons in no cohort, and distinct ids of nobody, are absent.
    """
    by_project: dict[int, list[str]] = {}
    for project_id, distinct_id in keys:
        by_project.setdefault(project_id, []).append(distinct_id)
    found: dict[tuple[int, str], set[int]] = {}
    for project_id, ids in by_project.items():
        rows = await records.fetch(_MEMBERSHIPS, {"project_id": project_id, "distinct_ids": ids})
        for row in rows:
            found.setdefault((project_id, row.distinct_id), set()).add(row.cohort_id)
    return {key: frozenset(cohort_ids) for key, cohort_ids in found.items()}
