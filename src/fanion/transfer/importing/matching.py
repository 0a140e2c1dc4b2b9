"""Matches a document with stored objects, and compares their fields."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from fanion.cohorts.criteria.definition import normal_groups
from fanion.errors import Invalid
from fanion.projects.model import folded
from fanion.transfer.document import Document, DocumentEntry
from fanion.transfer.snapshot import Keys, Stored, unique_keys

_encode = msgspec.json.Encoder(order="deterministic").encode


def matched_keys(document: Document, stored: Stored) -> Keys:
    """The keys of the document for what it means by them, made-up ones for everything else.

    Of several cohorts with one name the first in the document is the oldest that is stored.
    """
    cohorts = _matched(
        [(one.key, (one.name or None, one.deleted)) for one in document.cohorts],
        [(one.id, (one.name or None, one.deleted)) for one in stored.cohorts],
    )
    dashboards = _matched(
        [(one.key, one.name) for one in document.dashboards],
        [(one.id, one.name) for one in stored.own_dashboards],
    )
    return Keys(cohorts, dashboards)


def differing(
    stored: DocumentEntry, wanted: DocumentEntry, fields: Iterable[str]
) -> dict[str, Any]:
    """Of the wanted fields those that differ as JSON, whatever the order of their keys."""
    return {
        name: value
        for name in fields
        if _encode(value := getattr(wanted, name)) != _encode(getattr(stored, name))
    }


def normal_criteria(groups: Sequence[Any]) -> list[Any]:
    """The older criteria of a cohort as the API stores new ones; what it refuses stays."""
    try:
        return normal_groups(list(groups))
    except Invalid:
        return list(groups)


def role_keys(names: Iterable[str]) -> set[str]:
    return {folded(name) for name in names}


def _matched(
    wanted: Sequence[tuple[str, Hashable]], stored: Sequence[tuple[int, Hashable]]
) -> Mapping[int, str]:
    """wanted: key and what must be equal; stored: id and the same, the oldest first"""
    waiting: dict[Hashable, list[str]] = defaultdict(list)
    for key, same in wanted:
        waiting[same].append(key)
    found: dict[int, str] = {}
    for thing_id, same in stored:
        if waiting[same]:
            found[thing_id] = waiting[same].pop(0)
    taken = {key for key, _ in wanted}
    others = unique_keys((thing_id, f"#{thing_id}") for thing_id, _ in stored)
    return {thing_id: found.get(thing_id) or _apart(key, taken) for thing_id, key in others.items()}


def _apart(key: str, taken: set[str]) -> str:
    """Equal to no key of the document."""
    while key in taken:
        key += "#"
    return key
