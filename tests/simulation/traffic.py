"""The traffic of clients, and its expected result in the end, whatever happens meanwhile.

The result depends only on the order within each lane of a distinct id: properties are named after
both, and no merge is refused, whichever is ingested first.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from fanion.accept_log.port import Envelope

PROJECT = 1
STARTED_AT = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
USERS = tuple(f"user{number}" for number in range(4))
GUESTS = tuple(f"guest{number}" for number in range(6))  # each becomes part of one user, once
GROUP_TYPES = ("company", "team", "country")
RETRIED = 0.08


@dataclass(frozen=True, slots=True)
class Sent:
    """An event that was sent, with its groups by type."""

    uuid: UUID
    distinct_id: str
    groups: dict[str, str]
    makes_person: bool


@dataclass(slots=True)
class Expected:
    """The expected result.

    Attributes:
        properties: By distinct id.
        groups: By type and key.
        contended: By distinct id, the values that a property may have which both events and
            requests change.
    """

    sent: dict[UUID, Sent] = field(default_factory=dict)
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    contended: dict[str, set[int | None]] = field(default_factory=dict)
    _requested: list[tuple[str, int]] = field(default_factory=list)
    _parents: dict[str, str] = field(default_factory=dict)

    def join(self, merged: str, other: str) -> None:
        self._parents[self.root(merged)] = self.root(other)

    def root(self, distinct_id: str) -> str:
        while (parent := self._parents.setdefault(distinct_id, distinct_id)) != distinct_id:
            distinct_id = parent
        return distinct_id

    def set_by_event(self, distinct_id: str, value: int) -> None:
        """Expect the value of an event. It comes after all requests that were answered."""
        waiting = {made for name, made in self._requested if name == distinct_id}
        self.contended[distinct_id] = {value, *waiting}

    def request(self, distinct_id: str, value: int) -> None:
        self.contended.setdefault(distinct_id, {None}).add(value)  # the request may be refused
        self._requested.append((distinct_id, value))

    def answer(self, distinct_id: str, value: int) -> None:
        self._requested.remove((distinct_id, value))

    def persons(self) -> dict[frozenset[str], dict[str, Any]]:
        """Return the properties by all distinct ids of a person."""
        ids_of: dict[str, set[str]] = {}
        for distinct_id in list(self._parents):
            ids_of.setdefault(self.root(distinct_id), set()).add(distinct_id)
        return {
            frozenset(ids): {
                name: value
                for distinct_id in ids
                for name, value in self.properties.get(distinct_id, {}).items()
            }
            for ids in ids_of.values()
        }


class Traffic:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._guests = list(GUESTS)
        self._numbers = 0
        self._items: list[tuple[dict[str, Any], bool]] = []
        self.expected = Expected()

    def next_envelope(self, at_s: float) -> Envelope:
        historical = self._random.random() < 0.2
        items = [self._item(historical) for _ in range(self._random.choice((1, 1, 1, 2, 5)))]
        body = json.dumps(items[0] if len(items) == 1 else items).encode()
        # No two envelopes have the same moment, which distinguishes a repeated id from a repeated
        # batch.
        self._numbers += 1
        received_at = STARTED_AT + timedelta(seconds=at_s, microseconds=self._numbers)
        return Envelope(PROJECT, received_at, "", "", None, body, historical)

    def _item(self, historical: bool) -> dict[str, Any]:
        again = [item for item, lane in self._items if lane == historical]
        if again and self._random.random() < RETRIED:
            return self._random.choice(again)  # a client's retry, which changes nothing
        item = self._new_item(historical)
        self._items.append((item, historical))
        return item

    def _new_item(self, historical: bool) -> dict[str, Any]:
        random = self._random
        kind = random.choices(
            ("seen", "$merge_dangerously", "join", "$groupidentify", "silent"), (46, 8, 20, 6, 20)
        )[0]
        if kind == "join" and self._guests:
            name = random.choice(("$identify", "$create_alias"))
            user, guest = random.choice(USERS), self._guests.pop(random.randrange(2) - 1)
            key = "$anon_distinct_id" if name == "$identify" else "alias"
            return self._made(name, user, {key: guest}, historical, (user, guest))
        if kind == "$merge_dangerously":
            one, other = random.sample(USERS, 2)
            return self._made(kind, one, {"alias": other}, historical, (one, other))
        distinct_id = random.choice((*USERS, *GUESTS))
        if kind == "$groupidentify":
            properties = self._group_set(distinct_id, historical)
            return self._made(kind, distinct_id, properties, historical)
        if kind == "silent":
            return self._made("seen", distinct_id, {"$process_person_profile": False}, historical)
        return self._made("seen", distinct_id, {}, historical)

    def _made(
        self,
        name: str,
        distinct_id: str,
        properties: dict[str, Any],
        historical: bool,
        joined: Sequence[str] = (),
    ) -> dict[str, Any]:
        random, expected = self._random, self.expected
        makes_person = "$process_person_profile" not in properties
        groups: dict[str, str] = {}
        if makes_person:
            expected.root(distinct_id)
            if joined:
                expected.join(*joined)
            # Events that describe a group do not change the person.
            if name != "$groupidentify" and random.random() < 0.6:
                self._change(distinct_id, properties, historical)
            if random.random() < 0.25:
                names = random.sample(GROUP_TYPES, random.choice((1, 1, 2)))
                groups = {group_type: random.choice("xy") for group_type in names}
                properties["$groups"] = groups
                expected.types.update(groups)
        uuid = UUID(int=random.getrandbits(128), version=4)
        expected.sent[uuid] = Sent(uuid, distinct_id, groups, makes_person)
        return {
            "event": name,
            "distinct_id": distinct_id,
            "uuid": str(uuid),
            "properties": properties,
        }

    def _change(self, distinct_id: str, properties: dict[str, Any], historical: bool) -> None:
        of_person = self.expected.properties.setdefault(distinct_id, {})
        self._numbers += 1
        name, first = (f"{what}_{distinct_id}_{historical}" for what in ("last", "first"))
        if self._random.random() < 0.1:
            properties["$unset"] = [name]
            of_person.pop(name, None)
            return
        if not historical and distinct_id in USERS and self._random.random() < 0.5:
            # This is often the present value, so that the event changes nothing.
            value = self._random.choice((1, 2))
            properties["$set"] = {f"contended_{distinct_id}": value}
            self.expected.set_by_event(distinct_id, value)
            return
        properties["$set"] = {name: self._numbers}
        properties["$set_once"] = {first: self._numbers}
        of_person[name] = self._numbers
        of_person.setdefault(first, self._numbers)

    def _group_set(self, distinct_id: str, historical: bool) -> dict[str, Any]:
        kind, key = self._random.choice(GROUP_TYPES), self._random.choice("xy")
        self._numbers += 1
        name = f"last_{distinct_id}_{historical}"
        self.expected.types.add(kind)
        self.expected.groups.setdefault((kind, key), {})[name] = self._numbers
        return {"$group_type": kind, "$group_key": key, "$group_set": {name: self._numbers}}
