"""Clients that send events of many distinct ids to any server, and the expected result.

Each request is repeated until it is acknowledged. The result does not depend on which server
ingests.
"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid5

import httpx

from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.server import Keys

Json = dict[str, Any]

WRITERS: Final = 6
IDS_OF_WRITER: Final = 8
ITEMS: Final = 3
# The share of items that merge persons; with more, all ids soon belong to one person.
MERGES: Final = 0.02
# A paused server does not answer; after this time another one is tried.
ANSWER_S: Final = 4.0
RETRY_S: Final = 0.1


@dataclass
class Writer:
    """A client that sends events of its own distinct ids, one request after another.

    So the last event of each id is known.

    Attributes:
        others: The ids of all writers.
    """

    name: str
    chance: random.Random
    others: Sequence[str]
    sent: dict[str, list[str]] = field(default_factory=dict)
    merged: list[tuple[str, str]] = field(default_factory=list)
    acknowledged: int = 0

    def request(self, namespace: UUID) -> list[Json]:
        return [self._item(namespace) for _ in range(ITEMS)]

    def _item(self, namespace: UUID) -> Json:
        distinct_id = f"{self.name}.{self.chance.randrange(IDS_OF_WRITER)}"
        names = self.sent.setdefault(distinct_id, [])
        name = f"{distinct_id} {len(names)}"
        names.append(name)
        properties: Json = {"name": name, "$set": {f"of {distinct_id}": name}}
        event = "seen"
        other = self.chance.choice(self.others)
        if self.chance.random() < MERGES and other != distinct_id:
            # Merged by force: other merges succeed in any order.
            event = "$merge_dangerously"
            properties["alias"] = other
            self.merged.append((distinct_id, other))
        return {
            "event": event,
            "uuid": str(uuid5(namespace, name)),
            "distinct_id": distinct_id,
            "timestamp": datetime.now(UTC).isoformat(),
            "properties": properties,
        }


@dataclass
class Load:
    """The clients of one lane.

    Attributes:
        urls: The URLs of servers, any of which may be used.
        is_import: Whether it goes into the lane of imports, with its own distinct ids, which it
            also merges with those of live events.
        alternates: Whether a client sends each request to any of the servers. Else it keeps to one:
            while PostgreSQL is away, only the captures of one server stay in order.
        pause_s: How long a client waits between two requests.
        refusals: How many requests were answered with 503.
        broken: How many were not answered, since the connection failed.
    """

    keys: Keys
    urls: Sequence[str]
    seed: int
    is_import: bool = False
    alternates: bool = True
    pause_s: float = 0.0
    refusals: int = 0
    broken: int = 0
    writers: list[Writer] = field(init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        own, live = ([f"{sort}{n}" for n in range(WRITERS)] for sort in (self._sort, ""))
        ids = [f"{name}.{i}" for name in {*own, *live} for i in range(IDS_OF_WRITER)]
        self.writers = [
            Writer(name, random.Random(f"{self.seed} {name}"), sorted(ids)) for name in own
        ]

    @property
    def _sort(self) -> str:
        return "imported-" if self.is_import else ""

    @property
    def acknowledged(self) -> int:
        return sum(writer.acknowledged for writer in self.writers)

    @property
    def names(self) -> Iterator[str]:
        """Return the names of all events, each of which is acknowledged once `sending` is over."""
        return (name for writer in self.writers for names in writer.sent.values() for name in names)

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send requests, and return when every request that was begun is acknowledged."""
        async with asyncio.TaskGroup() as tasks:
            for writer in self.writers:
                tasks.create_task(self._write(writer))
            try:
                yield
            finally:
                self._stopping.set()

    async def wait_for_more(self, requests: int) -> None:
        """Wait until a number of further requests are acknowledged."""
        enough = self.acknowledged + requests

        async def are_enough() -> bool:
            return self.acknowledged >= enough

        await until_soon(are_enough, "too few requests are acknowledged")

    async def _write(self, writer: Writer) -> None:
        namespace = UUID(int=self.keys.project_id)
        async with plain_http.AsyncClient(timeout=ANSWER_S) as http:
            while not self._stopping.is_set():
                body = {
                    "api_key": self.keys.project_api_key,
                    "batch": writer.request(namespace),
                    "historical_migration": self.is_import,
                }
                for _ in itertools.count():
                    if await self._is_accepted(http, writer, body):
                        break
                    await asyncio.sleep(RETRY_S)
                writer.acknowledged += 1
                await asyncio.sleep(self.pause_s)

    async def _is_accepted(self, http: httpx.AsyncClient, writer: Writer, body: Json) -> bool:
        try:
            answer = await http.post(f"{self._server_for(writer)}/batch/", json=body)
        except httpx.TransportError as error:
            self.broken += not isinstance(error, httpx.TimeoutException)
            return False
        assert answer.status_code in (200, 503), answer.text
        self.refusals += answer.status_code == 503
        return answer.status_code == 200

    def _server_for(self, writer: Writer) -> str:
        if self.alternates:
            return writer.chance.choice(self.urls)
        return self.urls[int(writer.name[-1]) % len(self.urls)]

    def persons(self) -> list[set[str]]:
        """Return the distinct ids of each person."""
        return persons_of([self])

    def last_of(self, distinct_id: str) -> str | None:
        names = next((o.sent[distinct_id] for o in self.writers if distinct_id in o.sent), [])
        return names[-1] if names else None


def persons_of(loads: Sequence[Load]) -> list[set[str]]:
    """Return the distinct ids of each person, once all of these are ingested."""
    writers = [writer for load in loads for writer in load.writers]
    persons = {name: {name} for sender in writers for name in sender.sent}
    for a, b in itertools.chain.from_iterable(sender.merged for sender in writers):
        joined = persons.get(a, {a}) | persons.get(b, {b})
        persons |= dict.fromkeys(joined, joined)
    return [ids for name, ids in persons.items() if name == min(ids)]
