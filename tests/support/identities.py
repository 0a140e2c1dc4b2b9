"""The identities by section 4 of the capture reference, implemented plainly and slowly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

OTHER_ID = {
    "$identify": "$anon_distinct_id",
    "$create_alias": "alias",
    "$merge_dangerously": "alias",
}
ILLEGAL_IN_ANY_CASE = (
    *("anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated"),
    *("email", "undefined", "true", "false"),
)
ILLEGAL_AS_WRITTEN = ("[object Object]", "NaN", "None", "none", "null", "0", "undefined")


@dataclass(eq=False)
class Person:
    created_at: datetime
    distinct_ids: set[str]
    properties: dict[str, Any] = field(default_factory=dict)
    is_identified: bool = False
    events: set[str] = field(default_factory=set)


@dataclass
class Identities:
    """The persons of a project.

    Attributes:
        anonymous: The events of distinct ids without a person, by distinct id.
    """

    persons: list[Person] = field(default_factory=list)
    anonymous: dict[str, set[str]] = field(default_factory=dict)

    def person_of(self, distinct_id: str) -> Person | None:
        return next((person for person in self.persons if distinct_id in person.distinct_ids), None)

    def apply(self, item: Mapping[str, Any], name: str) -> None:
        """Apply one item.

        Args:
            item: As sent, with its time in ISO 8601.
            name: The event's name, distinct from all others.
        """
        own, properties = item["distinct_id"], item["properties"]
        at = datetime.fromisoformat(item["timestamp"])
        if properties.get("$process_person_profile") is False:
            known = self.person_of(own)
            (self.anonymous.setdefault(own, set()) if known is None else known.events).add(name)
            return
        other = str(properties.get(OTHER_ID.get(item["event"], ""), ""))
        person, is_new = self.person_of(own), False
        if other and other != own and is_legal(own) and is_legal(other):
            is_new = person is None and self.person_of(other) is None
            person = self.merge_persons(own, other, at, item["event"] == "$merge_dangerously")
            person.is_identified = True
        elif person is None:
            person, is_new = self.create_person(own, at), True
        person.events.add(name)
        person.created_at = min(person.created_at, at)
        for distinct_id in person.distinct_ids:
            person.events |= self.anonymous.pop(distinct_id, set())
        for key, value in properties.get("$set_once", {}).items():
            person.properties.setdefault(key, value)
        person.properties.update(properties.get("$set", {}))
        for key in () if is_new else properties.get("$unset", ()):
            person.properties.pop(key, None)

    def create_person(self, distinct_id: str, at: datetime) -> Person:
        self.persons.append(Person(at, {distinct_id}))
        return self.persons[-1]

    def merge_persons(self, own: str, other: str, at: datetime, by_force: bool) -> Person:
        survivor, gone = self.person_of(own), self.person_of(other)
        if survivor is None or gone is None:
            person = survivor or gone or self.create_person(own, at)
            person.distinct_ids |= {own, other}
            return person
        if survivor is not gone and (by_force or not gone.is_identified):
            survivor.properties = {**gone.properties, **survivor.properties}
            survivor.created_at = min(survivor.created_at, gone.created_at)
            survivor.distinct_ids |= gone.distinct_ids
            survivor.events |= gone.events
            self.persons.remove(gone)
        return survivor


def is_legal(distinct_id: str) -> bool:
    bare = distinct_id
    for quote in "'\"":
        if len(bare) > 1 and bare.startswith(quote) and bare.endswith(quote):
            bare = bare[1:-1]
            break
    if not bare.strip():
        return False
    return bare.lower() not in ILLEGAL_IN_ANY_CASE and bare not in ILLEGAL_AS_WRITTEN
