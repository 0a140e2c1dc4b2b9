"""The import of the cohorts of a document into a project.

New cohorts are created first, without criteria, in the order of the document, by which a second
import matches them. Then all criteria are written, which may refer to any cohort.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from msgspec import structs
from sqlalchemy import select, update

from fanion.cohorts.criteria.older_groups import normal_groups
from fanion.cohorts.imports.csv_ids import person_ids
from fanion.cohorts.imports.store import pending_ids, store_uploaded_ids
from fanion.cohorts.members.store import is_seen
from fanion.cohorts.model import PlainCohort
from fanion.cohorts.store import create_cohort, lock_cohort, write_cohort
from fanion.cohorts.validation import begun_work, created_values
from fanion.db.bulk import IDS_MAX
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import person_distinct_ids
from fanion.errors import Invalid
from fanion.transfer.document import CohortEntry
from fanion.transfer.importing.target import ImportTarget, differing
from fanion.transfer.references import replace_names
from fanion.transfer.report import listed_names
from fanion.transfer.snapshot import cohort_entry

_link, _key = person_distinct_ids.c, person_keys.c


_FIELDS = tuple(name for name in PlainCohort.__struct_fields__ if name != "deleted")
_TREES = ("filters", "groups")
_SETTINGS = tuple(name for name in _FIELDS if name not in _TREES)
_KIND = "cohort"
_MEMBER_KIND = "cohort member"


def import_cohorts(target: ImportTarget) -> None:
    known = {key: cohort_id for cohort_id, key in target.keys.cohorts.items()}
    stored = {cohort.id: cohort for cohort in target.stored.cohorts}
    for entry in target.document.cohorts:
        target.cohorts[entry.key] = known.get(entry.key) or _create_cohort(target, entry)
    for entry in target.document.cohorts:
        if entry.key not in known:
            _write_criteria(target, entry)
            target.report.created(_KIND, entry.key)
        else:
            before = cohort_entry(stored[known[entry.key]], target.names)
            target.report.compared(_KIND, entry.key, _update_cohort(target, before, entry))
    for entry in target.document.cohorts:
        if entry.members and not entry.deleted:
            _import_members(target, entry)


def _create_cohort(target: ImportTarget, entry: CohortEntry) -> int:
    sent = {
        name: getattr(entry, name) for name in PlainCohort.__struct_fields__ if name not in _TREES
    }
    values = created_values(sent, target.author.now, imports=False)
    if entry.deleted:
        values |= {"due_at": None, "is_calculating": False}
    return create_cohort(target.connection, target.author, values).id


def _write_criteria(target: ImportTarget, entry: CohortEntry) -> None:
    criteria = _cohort_columns(
        target, {"filters": entry.filters or None, "groups": _normal(entry).groups}
    )
    target.connection.execute(
        update(cohorts).where(cohorts.c.id == target.cohorts[entry.key]).values(**criteria)
    )


def _update_cohort(target: ImportTarget, before: CohortEntry, entry: CohortEntry) -> list[str]:
    """Set the fields that differ, and return their names."""
    fields = differing(_normal(before), _normal(entry), _FIELDS)
    if not fields:
        return []
    columns = _cohort_columns(target, fields)
    locked = lock_cohort(target.connection, target.project_id, target.cohorts[entry.key])
    if not entry.deleted:
        columns |= begun_work(columns, locked, target.author.now, imports=False)
    write_cohort(target.connection, target.author, locked, columns)
    return list(fields)


def _normal(entry: CohortEntry) -> CohortEntry:
    """Return the entry with criteria as the API stores them; invalid ones are unchanged."""
    try:
        return structs.replace(entry, groups=normal_groups(list(entry.groups)))
    except Invalid:
        return entry


def _cohort_columns(target: ImportTarget, fields: dict[str, Any]) -> dict[str, Any]:
    trees = [name for name in fields if name in _TREES]
    return {**fields, **{name: replace_names(fields[name], target.ids) for name in trees}}


def _import_members(target: ImportTarget, entry: CohortEntry) -> None:
    """Add members, and never remove any; unknown distinct ids are skipped."""
    cohort_id = target.cohorts[entry.key]
    owners = _owners(target, [distinct_id for member in entry.members for distinct_id in member])
    unknown = [member[0] for member in entry.members if member and not owners.keys() & set(member)]
    person_uuids = set(owners.values())
    added = person_uuids - _stored_members(target, cohort_id) - _pending_members(target, cohort_id)
    if added:
        _upload(target, cohort_id, sorted(added))
    target.report.created(_MEMBER_KIND, entry.key, len(added))
    target.report.unchanged(_MEMBER_KIND, entry.key, len(person_uuids) - len(added))
    why = f"no person of this project has the distinct ids: {listed_names(unknown)}"
    target.report.skipped(_MEMBER_KIND, entry.key, why, len(unknown))


def _owners(target: ImportTarget, distinct_ids: Sequence[str]) -> Mapping[str, UUID]:
    """Return the person of each distinct id that has one."""
    owners: dict[str, UUID] = {}
    for start in range(0, len(distinct_ids), IDS_MAX):
        rows = target.connection.execute(
            select(_link.distinct_id, _key.uuid)
            .join(person_keys, _key.person_id == _link.person_id)
            .where(_link.project_id == target.project_id)
            .where(_link.distinct_id.in_(distinct_ids[start : start + IDS_MAX]))
        )
        owners.update((row.distinct_id, row.uuid) for row in rows)
    return owners


def _stored_members(target: ImportTarget, cohort_id: int) -> set[UUID]:
    rows = target.connection.scalars(
        select(_key.uuid)
        .join(cohort_people, cohort_people.c.person_id == _key.person_id)
        .join(cohorts, cohorts.c.id == cohort_people.c.cohort_id)
        .where(cohorts.c.id == cohort_id, is_seen(cohorts.c.version))
    )
    return set(rows)


def _pending_members(target: ImportTarget, cohort_id: int) -> set[UUID]:
    """Return the members that an earlier import has uploaded and that are not added yet."""
    ids = pending_ids(target.connection, cohort_id, "person_id")
    return set(person_ids(ids).values())


def _upload(target: ImportTarget, cohort_id: int, person_uuids: Sequence[UUID]) -> None:
    ids = [str(person) for person in person_uuids]
    members = store_uploaded_ids(
        target.connection, target.project_id, "person_id", ids, target.author.now
    )

    locked = lock_cohort(target.connection, target.project_id, cohort_id)
    columns = begun_work({}, locked, target.author.now, imports=True)
    write_cohort(target.connection, target.author, locked, columns, members)
