"""Members of a static cohort in a document, handed to the server that imports them.

They go the way of an uploaded file: the server that runs, or the next one, adds them.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select

from fanion.cohorts.calculation.lease_store import is_seen
from fanion.cohorts.criteria.definition import Criteria, Standing
from fanion.cohorts.csv_import import person_ids
from fanion.cohorts.store import change_cohort
from fanion.cohorts.upload_store import store_ids, waiting_ids
from fanion.cohorts.validation import begun_work
from fanion.db.bulk import IDS_MAX
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.transfer.document import CohortEntry
from fanion.transfer.importing.context import Target
from fanion.transfer.result import some

_KIND = "cohort member"
_link, _person = person_distinct_ids.c, persons.c


def import_members(target: Target, entry: CohortEntry) -> None:
    """Members are added, never removed; whoever nobody knows here is skipped."""
    cohort_id = target.cohorts[entry.key]
    owners = _owners(target, [one for member in entry.members for one in member])
    unknown = [member[0] for member in entry.members if member and not owners.keys() & set(member)]
    people = set(owners.values())
    added = people - _members(target, cohort_id) - _waiting(target, cohort_id)
    if added:
        _hand_in(target, cohort_id, sorted(added))
    target.report.created(_KIND, entry.key, len(added))
    target.report.unchanged(_KIND, entry.key, len(people) - len(added))
    why = f"nobody here has their distinct ids: {some(unknown)}"
    target.report.skipped(_KIND, entry.key, why, len(unknown))


def _owners(target: Target, distinct_ids: Sequence[str]) -> Mapping[str, UUID]:
    """Distinct id → person, where there is one."""
    found: dict[str, UUID] = {}
    for start in range(0, len(distinct_ids), IDS_MAX):
        rows = target.connection.execute(
            select(_link.distinct_id, _person.uuid)
            .join(persons, _person.id == _link.person_id)
            .where(_link.project_id == target.project_id)
            .where(_link.distinct_id.in_(distinct_ids[start : start + IDS_MAX]))
        )
        found.update((row.distinct_id, row.uuid) for row in rows)
    return found


def _members(target: Target, cohort_id: int) -> set[UUID]:
    rows = target.connection.scalars(
        select(_person.uuid)
        .join(cohort_people, cohort_people.c.person_id == _person.id)
        .join(cohorts, cohorts.c.id == cohort_people.c.cohort_id)
        .where(cohorts.c.id == cohort_id, is_seen(cohorts.c.version))
    )
    return set(rows)


def _waiting(target: Target, cohort_id: int) -> set[UUID]:
    """Handed in by an import before this one, and not added yet."""
    found = waiting_ids(target.connection, cohort_id, "person_id")
    return set(person_ids(found).values())


def _hand_in(target: Target, cohort_id: int, people: Sequence[UUID]) -> None:
    ids = [str(person) for person in people]
    members = store_ids(target.connection, target.project_id, "person_id", ids, target.author.now)

    def decide(standing: Standing, _: Mapping[int, Criteria]) -> dict[str, Any]:
        return begun_work({}, standing, target.author.now, imports=True)

    change_cohort(target.connection, target.author, cohort_id, decide, members)
