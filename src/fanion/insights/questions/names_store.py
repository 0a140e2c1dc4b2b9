"""The names in a question of things that the project does not have.

An answer names the events and event properties that were never received, since a misspelt name
would otherwise only be a series of zeros.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlalchemy import func, select, union_all

from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.events import event_properties, property_definitions
from fanion.db.schema.tables import event_definitions
from fanion.events.definitions.properties import NAMES_MAX, is_trackable
from fanion.insights.entities import Entity
from fanion.insights.query import InsightQuery
from fanion.properties.filters import Node, Property, leaves

_definition, _property, _carried = event_definitions.c, property_definitions.c, event_properties.c


async def missing_cohorts(records: Records, project_id: int, ids: Collection[int]) -> Sequence[int]:
    """Return the ids without a cohort in the project, or of a deleted one, in their order."""
    if not ids:
        return ()
    known = select(cohorts.c.id).where(
        cohorts.c.project_id == project_id, cohorts.c.deleted.is_(False), cohorts.c.id.in_(ids)
    )
    existing = {row.id for row in await records.fetch(known)}
    return [cohort_id for cohort_id in ids if cohort_id not in existing]


async def unknown_names(
    records: Records, project_id: int, query: InsightQuery
) -> Mapping[str, Sequence[str]]:
    """Return `unknown_event` and `unknown_property`, each only if there are such names.

    Raises:
        RecordsUnavailable: The records store does not answer.
    """
    by_code = {
        "unknown_event": await unknown_events(records, project_id, _events(query)),
        "unknown_property": await _unknown_properties(records, project_id, _properties(query)),
    }
    return {code: names for code, names in by_code.items() if names}


def _events(query: InsightQuery) -> Collection[str]:
    return dict.fromkeys(name for entity in query.entities for name in entity.names or ())


def _properties(query: InsightQuery) -> Collection[str]:
    """Return the event properties that are recorded when an event has them."""
    named = [*_compared(query.scope.properties), *_broken_down_by(query)]
    for entity in query.entities:
        named += [*_compared(entity.properties), *_aggregated(entity)]
    of_retention = query.scope.sent.get("aggregation_property")
    named += [of_retention] if isinstance(of_retention, str) else []
    return dict.fromkeys(name for name in named if is_trackable(name))


def _compared(node: Node | None) -> Iterator[str]:
    for leaf in () if node is None else leaves(node):
        if isinstance(leaf, Property) and leaf.type == "event":
            yield leaf.key


def _broken_down_by(query: InsightQuery) -> Iterator[str]:
    for part in query.breakdowns.parts if query.breakdowns else ():
        if part.type == "event":
            yield part.key


def _aggregated(entity: Entity) -> Iterator[str]:
    name, kind = entity.sent.get("math_property"), entity.sent.get("math_property_type")
    if isinstance(name, str) and kind in (None, "", "event_properties"):
        yield name


async def unknown_events(
    records: Records, project_id: int, names: Collection[str]
) -> Sequence[str]:
    """Return the names without a definition; events outlive a definition that was deleted."""
    if not names:
        return ()
    known = union_all(
        select(_definition.name).where(
            _definition.project_id == project_id, _definition.name.in_(names)
        ),
        select(_carried.event)
        .distinct()
        .where(_carried.project_id == project_id, _carried.event.in_(names)),
    )
    seen = {name for (name,) in await records.fetch(known)}
    return [name for name in names if name not in seen]


async def _unknown_properties(
    records: Records, project_id: int, names: Collection[str]
) -> Sequence[str]:
    """Return the names that no event carries; none of a project with too many to record all."""
    if not names:
        return ()
    seen = await _seen_properties(records, project_id, names)
    missing = [name for name in names if name not in seen]
    if not missing:
        return ()
    defined = select(func.count()).where(_property.project_id == project_id)
    [(number,)] = await records.fetch(defined)
    return missing if number < NAMES_MAX else ()


async def _seen_properties(
    records: Records, project_id: int, names: Collection[str]
) -> Collection[str]:
    known = union_all(
        select(_property.name).where(_property.project_id == project_id, _property.name.in_(names)),
        select(_carried.property)
        .distinct()
        .where(_carried.project_id == project_id, _carried.property.in_(names)),
    )
    return {name for (name,) in await records.fetch(known)}
