"""Cohorts of a document, written into a project.

Those that are new are made first, without criteria, in the order of the document: a second
import finds them by it. Then all criteria are written, which may name any of them.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import structs
from sqlalchemy import update

from fanion.cohorts.criteria.definition import Criteria, Standing
from fanion.cohorts.store import change_cohort, create_cohort
from fanion.cohorts.validation import begun_work, created_values
from fanion.db.schema.cohorts import cohorts
from fanion.transfer.document import CohortEntry
from fanion.transfer.importing.context import Target
from fanion.transfer.importing.matching import differing, normal_criteria
from fanion.transfer.importing.members_import_store import import_members
from fanion.transfer.references import numbered
from fanion.transfer.snapshot import cohort_entry

_FIELDS = ("name", "description", "filters", "groups", "is_static")
_KIND = "cohort"


def import_cohorts(target: Target) -> None:
    known = {key: cohort_id for cohort_id, key in target.keys.cohorts.items()}
    stored = {one.id: one for one in target.stored.cohorts}
    for entry in target.document.cohorts:
        target.cohorts[entry.key] = known.get(entry.key) or _make(target, entry)
    for entry in target.document.cohorts:
        if entry.key not in known:
            _write_criteria(target, entry)
            target.report.created(_KIND, entry.key)
        else:
            before = cohort_entry(stored[known[entry.key]], target.names)
            target.report.compared(_KIND, entry.key, _update(target, before, entry))
    for entry in target.document.cohorts:
        if entry.members and not entry.deleted:
            import_members(target, entry)


def _make(target: Target, entry: CohortEntry) -> int:
    sent = {
        "name": entry.name,
        "description": entry.description,
        "deleted": entry.deleted,
        "is_static": entry.is_static,
    }
    values = created_values(sent, target.author.now, imports=False)
    if entry.deleted:
        values |= {"due_at": None, "is_calculating": False}
    return create_cohort(target.connection, target.author, values).id


def _write_criteria(target: Target, entry: CohortEntry) -> None:
    criteria = _columns(target, {"filters": entry.filters, "groups": _normal(entry).groups})
    target.connection.execute(
        update(cohorts).where(cohorts.c.id == target.cohorts[entry.key]).values(**criteria)
    )


def _update(target: Target, before: CohortEntry, entry: CohortEntry) -> list[str]:
    """Names of the fields that differed."""
    fields = differing(_normal(before), _normal(entry), _FIELDS)
    if not fields:
        return []
    columns = _columns(target, fields)

    def decide(standing: Standing, _: Mapping[int, Criteria]) -> dict[str, Any]:
        if entry.deleted:
            return columns
        return columns | begun_work(columns, standing, target.author.now, imports=False)

    change_cohort(target.connection, target.author, target.cohorts[entry.key], decide)
    return list(fields)


def _normal(entry: CohortEntry) -> CohortEntry:
    return structs.replace(entry, groups=normal_criteria(entry.groups))


def _columns(target: Target, fields: dict[str, Any]) -> dict[str, Any]:
    trees = [name for name in fields if name in ("filters", "groups")]
    return {**fields, **{name: numbered(fields[name], target.ids) for name in trees}}
