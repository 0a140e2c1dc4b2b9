"""Tells the place of a number from the question, in a request for who is behind it.

source: insights.md section 13
"""

from collections.abc import Collection, Mapping
from typing import Any

from fanion.insights.parsing.fields import Fields


def question_of(sent: Mapping[str, Any], places: Collection[str]) -> dict[str, Any]:
    """The question alone, with the event that the place names among its events.

    places: the names of a place in answers of the kind
    """
    values = {name: sent[name] for name in sent if name not in places}
    if "entity_id" in places:
        values["events"] = _with_named(values.get("events"), sent)
    return values


def refuse_other_places(fields: Fields, insight: str, places: Collection[str]) -> None:
    """After the place was read. raises: Invalid for a part of it that the number does not have"""
    fields.refuse_unread(f"Actors of {insight.lower()}", fields.values.keys() - set(places))


def _with_named(events: Any, sent: Mapping[str, Any]) -> Any:
    """An older client asks for the actors of any event."""
    name = sent.get("entity_id")
    known = events or []
    if not isinstance(name, str) or not name or not isinstance(known, list):
        return events
    if any(isinstance(one, dict) and one.get("id") == name for one in known):
        return events
    return [*known, {"id": name, "name": name, "type": "events"}]
