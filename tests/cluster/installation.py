"""Several servers with different roles, on PostgreSQL with a standby and one event store.

Each reaches both through proxies of its own, so that it can be cut off alone.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.postgres_pair import PostgresPair, postgres_pair
from tests.cluster.proxy import Proxy, proxy_to
from tests.support import plain_http
from tests.support.clickhouse.server import SERVER, ClickHouse, clickhouse
from tests.support.server import Keys, RealServer

# Clients send requests to two of them, and two ingest; jobs run beside one of the first.
ROLES: Final = {
    "front": "web,api",
    "back": "web,api,jobs",
    "first": "ingest",
    "second": "ingest",
}
DATABASE: Final = "postgres"


@dataclass(frozen=True)
class Member:
    """A server, with its proxies to PostgreSQL and to the event store."""

    name: str
    server: RealServer
    records: Proxy
    events: Proxy

    @property
    def serves_clients(self) -> bool:
        return "web" in ROLES[self.name]

    async def start(self, **settings: str) -> None:
        self.server.settings = {**self.server.settings, **settings}
        await asyncio.to_thread(self.server.start)

    async def stop(self) -> None:
        """Stop the server as SIGTERM does."""
        assert await asyncio.to_thread(self.server.stop) == 0


@dataclass
class Cluster:
    folder: Path
    postgres: PostgresPair
    clickhouse: ClickHouse
    members: Sequence[Member]
    keys: Keys

    @property
    def urls(self) -> list[str]:
        """Return the URLs of the servers that serve clients."""
        return [member.server.url for member in self.members if member.serves_clients]

    def ingesting(self, chance: random.Random) -> Member:
        return chance.choice([member for member in self.members if not member.serves_clients])

    def serving(self, chance: random.Random) -> Member:
        return chance.choice([member for member in self.members if member.serves_clients])

    async def new_project(self) -> Keys:
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        async with plain_http.AsyncClient(base_url=self.urls[0], headers=headers) as http:
            answer = await http.post("/api/projects/", json={"name": "One of many"})
        assert answer.status_code == 201, answer.text
        made = answer.json()
        return Keys(made["id"], made["api_token"], self.keys.personal_api_key)

    def connect_to_primary(self) -> None:
        for member in self.members:
            member.records.connect_to(self.postgres.primary.port)


@asynccontextmanager
async def open_cluster(folder: Path) -> AsyncIterator[Cluster]:
    """Start a cluster.

    Raises:
        NoPostgres: This machine has no server to start.
    """
    async with AsyncExitStack() as stack:
        postgres = stack.enter_context(postgres_pair())
        store = stack.enter_context(clickhouse(folder))
        members = [
            Member(
                name,
                stack.enter_context(closing(_server(folder / name, roles, records, events))),
                records,
                events,
            )
            for name, roles in ROLES.items()
            for records in [await stack.enter_async_context(proxy_to(postgres.primary.port))]
            for events in [await stack.enter_async_context(proxy_to(store.port))]
        ]
        keys = await asyncio.to_thread(members[0].server.setup_anew)
        await asyncio.gather(*(member.start() for member in members))
        yield Cluster(folder, postgres, store, members, keys)


def _server(data: Path, roles: str, records: Proxy, events: Proxy) -> RealServer:
    settings = {
        "FANION_ROLE": roles,
        "FANION_DATABASE_URL": f"postgresql://fanion@127.0.0.1:{records.port}/{DATABASE}",
        "FANION_EVENTS_URL": f"clickhouse://127.0.0.1:{events.port}/{SERVER}",
    }
    return RealServer(data, settings)
