"""The state of an import, the stored objects that match the document, and how fields differ."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.transfer.document import Document
from fanion.transfer.references import Ids, Names
from fanion.transfer.report import Report
from fanion.transfer.snapshot import Keys, Stored, unique_keys

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass
class ImportTarget:
    """The state of an import.

    Attributes:
        connection: The connection of the transaction.
        stored: The project before the import.
        keys: The keys of the document for stored objects.
        names: The names of the document for stored objects.
        cohorts: Ids by key, like those of the next fields, filled as the import proceeds.
        flags: Ids in decimal by key.
        group_types: Indexes by name.
        dashboards: Ids by key.
        insights: Ids by short id.
        actions: Ids by name, like those of segments.
        holdouts: Ids by key, like those of saved metrics.
    """

    connection: Connection
    author: Author
    document: Document
    stored: Stored
    keys: Keys
    names: Names
    report: Report
    cohorts: dict[str, int] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    group_types: dict[str, int] = field(default_factory=dict)
    dashboards: dict[str, int] = field(default_factory=dict)
    insights: dict[str, int] = field(default_factory=dict)
    actions: dict[str, int] = field(default_factory=dict)
    segments: dict[str, int] = field(default_factory=dict)
    holdouts: dict[str, int] = field(default_factory=dict)
    saved_metrics: dict[str, int] = field(default_factory=dict)

    @property
    def project_id(self) -> int:
        return self.author.project_id

    @property
    def ids(self) -> Ids:
        return Ids(self.cohorts, self.flags, self.group_types, self.actions, self.segments)


def matched_keys(document: Document, stored: Stored) -> Keys:
    """Return keys for stored objects.

    They are those of the document where it has the object, and generated ones elsewhere. Of several
    cohorts with one name, the first in the document matches the oldest stored one.
    """
    cohorts = _match_keys(
        [(cohort.key, (cohort.name or None, cohort.deleted)) for cohort in document.cohorts],
        [(cohort.id, (cohort.name or None, cohort.deleted)) for cohort in stored.cohorts],
    )
    dashboards = _match_keys(
        [(dashboard.key, dashboard.name) for dashboard in document.dashboards],
        [(dashboard.id, dashboard.name) for dashboard in stored.own_dashboards],
    )
    return Keys(cohorts, dashboards)


def differing(stored: Struct, entry: Struct, fields: Iterable[str]) -> dict[str, Any]:
    """Return the values of `entry` in fields that differ as JSON, whatever the order of keys."""
    return {
        name: value
        for name in fields
        if _encode(value := getattr(entry, name)) != _encode(getattr(stored, name))
    }


def _match_keys(
    entries: Sequence[tuple[str, Hashable]], stored: Sequence[tuple[int, Hashable]]
) -> Mapping[int, str]:
    """Return a key for each stored object.

    Args:
        entries: Keys of the document, each with what must be equal.
        stored: Ids with the same, the oldest first.
    """
    waiting: dict[Hashable, list[str]] = defaultdict(list)
    for key, same in entries:
        waiting[same].append(key)
    matched: dict[int, str] = {}
    for object_id, same in stored:
        if waiting[same]:
            matched[object_id] = waiting[same].pop(0)
    taken = {key for key, _ in entries}
    others = unique_keys((object_id, f"#{object_id}") for object_id, _ in stored)
    return {
        object_id: matched.get(object_id) or _distinct_key(key, taken)
        for object_id, key in others.items()
    }


def _distinct_key(key: str, taken: set[str]) -> str:
    """Return `key`, extended until it differs from all keys of the document."""
    while key in taken:
        key += "#"
    return key
