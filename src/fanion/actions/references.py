"""The places where questions and criteria, as they were sent, name actions."""

from collections.abc import Iterator
from typing import Any


def action_places(part: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects in which a part names an action, each with the field that has the id.

    A part is an entity, an object with entities as `actions`, a goal of web analytics, a condition
    of a cohort on events, or an entry of the older form of its criteria.
    """
    if _is_action(part):
        yield part, "id"
    entities = part.get("actions")
    for entity in entities if isinstance(entities, list) else ():
        if isinstance(entity, dict) and not _is_action(entity):
            yield entity, "id"
    if part.get("event_type") == "actions":
        yield part, "key"
    if part.get("seq_event_type") == "actions":
        yield part, "seq_event"
    if part.get("action_id") is not None:
        yield part, "action_id"
    if part.get("actionId") is not None:
        yield part, "actionId"


def named_actions(value: Any) -> Iterator[int]:
    """Yield the ids of the actions that a question or criteria name, at any depth."""
    if isinstance(value, list):
        for part in value:
            yield from named_actions(part)
    if isinstance(value, dict):
        for place, field in action_places(value):
            if isinstance(place.get(field), str | int) and str(place[field]).isdecimal():
                yield int(place[field])
        for part in value.values():
            yield from named_actions(part)


def _is_action(entity: dict[str, Any]) -> bool:
    return entity.get("type") == "actions" or entity.get("kind") == "ActionsNode"
