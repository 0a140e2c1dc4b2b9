"""Clients that send all kinds of items about persons and groups, and the expected outcome.

The server is killed again and again meanwhile.
"""

import asyncio
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import httpx

from tests.support import plain_http
from tests.support.identities import OTHER_ID, Identities
from tests.support.server import Keys, RealServer

IDS = 6  # of one writer during one age
AGE_ROUNDS = 4  # after these rounds it uses other ids
TYPES = ("org", "team", "app_server")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = UUID("5f6d1d0c-3f6f-4a63-9c39-8f9f9e7f3a11")

Json = dict[str, Any]


@dataclass(eq=False)
class Request:
    """A request that a writer has sent.

    Attributes:
        items: Each has a `name` of its own among its properties.
        is_named: Whether they have uuids, so that the request may be sent again.
    """

    items: list[Json]
    is_named: bool
    tries: int = 0
    acknowledged: int = 0

    @property
    def names(self) -> list[str]:
        return [item["properties"]["name"] for item in self.items]


@dataclass
class Writer:
    """A client that sends one request after the other, about distinct ids and groups of its own.

    A request that is not answered is sent again before the next one, or given up.
    """

    number: int
    chance: random.Random
    requests: list[Request] = field(default_factory=list)
    left: Request | None = None

    async def write(self, http: httpx.AsyncClient, keys: Keys, age: int) -> None:
        """Write until the server is gone."""
        while True:
            request = self._next(age)
            self.left = request
            request.tries += 1
            body = {"api_key": keys.project_api_key, "batch": request.items}
            try:
                answer = await http.post("/batch/", json=body)
            except httpx.TransportError:
                return
            if answer.status_code != 200:
                return
            request.acknowledged += 1
            self.left = None

    def _next(self, age: int) -> Request:
        left, chance = self.left, self.chance
        if left is not None and left.is_named and chance.random() < 0.8:
            return left
        named = [
            request for request in self.requests[-5:] if request.is_named and request.acknowledged
        ]
        if named and chance.random() < 0.1:
            return chance.choice(named)  # as if its answer had been lost on the way
        return self.new_request(age)

    def new_request(self, age: int) -> Request:
        is_named = self.chance.random() < 0.8
        request = Request([self._item(age, position, is_named) for position in range(3)], is_named)
        self.requests.append(request)
        return request

    def _item(self, age: int, position: int, is_named: bool) -> Json:
        chance = self.chance
        name = f"{self.number}.{len(self.requests)}.{position}"
        kind = chance.choice(["seen", "seen", "seen", "$groupidentify", *OTHER_ID])
        properties: Json = {"name": name}
        if kind == "$groupidentify":
            group = {"$group_type": chance.choice(TYPES), "$group_key": self._id(age)}
            properties |= group | {"$group_set": {chance.choice("xyz"): name}}
        else:
            properties |= {"$set": {chance.choice("xyz"): name, "last": name}}
            properties |= {"$set_once": {chance.choice("xyz"): name, "first": name}}
            properties |= {"$unset": [chance.choice("xyz")]}
            properties["$groups"] = {chance.choice(TYPES): self._id(age)}
        if kind in OTHER_ID:
            properties[OTHER_ID[kind]] = chance.choice([self._id(age), self._id(age), "null"])
        # Pages continue before the time of their last row, so no two events may share a time.
        since = (len(self.requests) * 3 + position) * 100 + self.number
        return {
            "timestamp": (BEGIN + timedelta(microseconds=since)).isoformat(),
            "event": kind,
            "distinct_id": self._id(age),
            "properties": properties,
        } | ({"uuid": str(uuid5(NAMESPACE, name))} if is_named else {})

    def _id(self, age: int) -> str:
        return f"{self.number}.{age}.{self.chance.randrange(IDS)}"


class Traffic:
    def __init__(self, writers: int, seed: int) -> None:
        self.writers = [
            Writer(number, random.Random(f"{seed} {number}")) for number in range(writers)
        ]
        self.silent: list[Writer] = []

    async def write_until_killed(self, server: RealServer, keys: Keys, round_number: int) -> None:
        age = round_number // AGE_ROUNDS
        async with plain_http.AsyncClient(base_url=server.url) as http:
            await asyncio.gather(*(writer.write(http, keys, age) for writer in self.writers))

    def add_writer(self) -> Writer:
        """Return a writer that sends nothing by itself."""
        self.silent.append(Writer(len(self.writers), random.Random("silent")))
        return self.silent[-1]

    @property
    def requests(self) -> Iterator[Request]:
        """The requests of each writer, in the order in which they were first sent."""
        return (request for writer in (*self.writers, *self.silent) for request in writer.requests)


@dataclass(frozen=True)
class Expected:
    """The expected outcome of the requests that are known to have arrived."""

    identities: Identities
    groups: dict[tuple[str, str], Json]


def expected(requests: Iterable[Request]) -> Expected:
    identities, groups = Identities(), dict[tuple[str, str], Json]()
    for request in requests:
        for item in request.items:
            properties = item["properties"]
            identities.apply(item, properties["name"])
            if item["event"] == "$groupidentify":
                group = (properties["$group_type"], properties["$group_key"])
                groups[group] = groups.get(group, {}) | properties["$group_set"]
    return Expected(identities, groups)
