"""One log, ingested by one, two and four servers, gives the persons and events it implies.

It has merges across partitions, imports beside live events, edits and deletions.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.cluster.load import Load, persons_of
from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.clickhouse.server import ClickHouse, clickhouse
from tests.support.outcome import all_events, get_json
from tests.support.postgres import NoPostgres, Postgres, private_postgres
from tests.support.server import Keys, RealServer, project_client

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(400),
    pytest.mark.long("many servers, and PostgreSQL with a standby"),
]

Json = dict[str, Any]

REQUESTS: Final = 400  # of live events, and as many of imports
EDITED: Final = tuple(f"{writer}.{n}" for writer in range(3) for n in range(2))
DELETED: Final = tuple(f"to-delete-{n}" for n in range(4))
GROUP_TYPES: Final = tuple(f"type {n}" for n in range(8))  # three more than a project may have
GROUP_TYPES_MAX: Final = 5
GROUPS_OF_TYPE: Final = 3
GROUP_CHANGES: Final = 6


@dataclass(frozen=True)
class Log:
    """A database in whose log all events wait."""

    database: str
    keys: Keys
    live: Load
    imported: Load


@dataclass(frozen=True)
class Engines:
    folder: Path
    postgres: Postgres
    clickhouse: ClickHouse

    @contextmanager
    def server(self, name: str, roles: str, database: str, store: str) -> Iterator[RealServer]:
        settings = {
            "FANION_ROLE": roles,
            "FANION_DATABASE_URL": self.postgres.url(database),
            "FANION_EVENTS_URL": self.clickhouse.url(store),
        }
        with closing(RealServer(self.folder / name, settings)) as server:
            yield server


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    folder = tmp_path_factory.mktemp("log")
    try:
        with private_postgres() as postgres, clickhouse(folder) as store:
            yield Engines(folder, postgres, store)
    except NoPostgres as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
async def log(engines: Engines) -> Log:
    """Return a log that was accepted by a server that ingests nothing."""
    database = await engines.postgres.create_database()
    with engines.server("web", "web", database, "server") as web:
        keys = await asyncio.to_thread(web.setup_anew)
        await asyncio.to_thread(web.launch)
        await accepts(web)
        live = Load(keys, [web.url], 1)
        imported = Load(keys, [web.url], 2, is_import=True)
        async with live.sending(), imported.sending():
            await asyncio.gather(live.wait_for_more(REQUESTS), imported.wait_for_more(REQUESTS))
        async with plain_http.AsyncClient() as http:
            for item in (*groups_described(), *events_to_delete()):
                body = {"api_key": keys.project_api_key, "batch": [item]}
                assert (await http.post(f"{web.url}/batch/", json=body)).status_code == 200
        assert await asyncio.to_thread(web.stop) == 0
    return Log(database, keys, live, imported)


async def accepts(web: RealServer) -> None:
    async with plain_http.AsyncClient() as http:

        async def is_ready() -> bool:
            try:
                return (await http.get(f"{web.url}/_ready")).is_success
            except httpx.TransportError:
                return False

        await until_soon(is_ready, "the server does not accept")


def groups_described() -> Iterator[Json]:
    """Yield changes of groups, each from one distinct id, whose events are ingested in order."""
    for change in range(GROUP_CHANGES):
        for number, group_type in enumerate(GROUP_TYPES):
            for key in range(GROUPS_OF_TYPE):
                yield {
                    "event": "$groupidentify",
                    "distinct_id": f"describes {number} {key}",
                    "properties": {
                        "$group_type": group_type,
                        "$group_key": f"{group_type} {key}",
                        "$group_set": {"last": change, f"change {change}": True},
                    },
                }


def events_to_delete() -> Iterator[Json]:
    return (
        {"event": "seen", "distinct_id": name, "properties": {"name": f"{name} {n}"}}
        for n in range(10)
        for name in DELETED
    )


@pytest.mark.parametrize("ingesters", [1, 2, 4])
async def test_a_log_has_one_meaning(engines: Engines, log: Log, ingesters: int) -> None:
    database = await engines.postgres.create_database(log.database)
    store = f"ingested_by_{ingesters}"
    client = engines.clickhouse.client()
    await asyncio.to_thread(client.command, f"CREATE DATABASE {store}")

    async with running(engines, log, ingesters, database, store) as http:
        await asyncio.gather(
            *(edit(http, distinct_id) for distinct_id in EDITED), *(erase(http, d) for d in DELETED)
        )
        await all_is_ingested(http)
        await check_persons(http, log)
        await check_deleted(http)
        await check_groups(http)


@asynccontextmanager
async def running(
    engines: Engines, log: Log, ingesters: int, database: str, store: str
) -> AsyncIterator[httpx.AsyncClient]:
    """Run servers that ingest, and one that answers."""
    names = [f"{ingesters}-{number}" for number in range(ingesters)]
    async with AsyncExitStack() as stack:
        api = stack.enter_context(engines.server(f"{store}-api", "web,api,jobs", database, store))
        servers = [
            stack.enter_context(engines.server(name, "ingest", database, store)) for name in names
        ]
        await asyncio.to_thread(api.start)
        await asyncio.gather(*(asyncio.to_thread(server.start) for server in servers))
        yield await stack.enter_async_context(project_client(api, log.keys))


async def person_of(http: httpx.AsyncClient, distinct_id: str) -> Json:
    persons: list[Json] = []

    async def is_there() -> bool:
        persons.extend((await get_json(http, "/persons/", distinct_id=distinct_id))["results"])
        return bool(persons)

    await until_soon(is_there, f"{distinct_id} has no person")
    return persons[0]


async def edit(http: httpx.AsyncClient, distinct_id: str) -> None:
    """Edit a person as soon as it exists, while its events are being ingested."""
    person = await person_of(http, distinct_id)
    change = {"key": f"edit of {distinct_id}", "value": "made"}
    answer = await http.post(f"/persons/{person['id']}/update_property/", json=change)
    assert answer.status_code == 202, answer.text


async def erase(http: httpx.AsyncClient, distinct_id: str) -> None:
    person = await person_of(http, distinct_id)
    answer = await http.delete(f"/persons/{person['id']}/", params={"delete_events": "true"})
    assert answer.status_code in (202, 204), answer.text


async def all_is_ingested(http: httpx.AsyncClient) -> None:
    async def is_ingested() -> bool:
        waiting = (await get_json(http, "/ingestion/"))["waiting"]
        return waiting is not None and waiting["requests"] == 0

    await until_soon(is_ingested, "the log is not ingested")


async def check_persons(http: httpx.AsyncClient, log: Log) -> None:
    loads = log.live, log.imported
    stored = await all_events(http)
    listed = (await get_json(http, "/persons/", limit=10_000))["results"]
    ours = {name for load in loads for writer in load.writers for name in writer.sent}
    persons = {
        frozenset(person["distinct_ids"]): person
        for person in listed
        if ours.intersection(person["distinct_ids"])
    }

    assert sorted(
        event["properties"]["name"] for event in stored if event["distinct_id"] in ours
    ) == (sorted(name for load in loads for name in load.names))
    assert persons.keys() == {frozenset(ids) for ids in persons_of(loads)}
    for ids, person in persons.items():
        assert person["properties"] == properties_of(loads, ids)
        of_person = {event["id"] for event in await all_events(http, person_id=person["id"])}
        assert of_person == {event["id"] for event in stored if event["distinct_id"] in ids}


def properties_of(loads: Sequence[Load], ids: frozenset[str]) -> Mapping[str, str]:
    """Return the last write of each distinct id, and the edits."""
    last = [(distinct_id, load.last_of(distinct_id)) for load in loads for distinct_id in ids]
    written = {f"of {distinct_id}": value for distinct_id, value in last if value is not None}
    return written | {
        f"edit of {distinct_id}": "made" for distinct_id in EDITED if distinct_id in ids
    }


async def check_deleted(http: httpx.AsyncClient) -> None:
    for name in DELETED:
        assert (await get_json(http, "/persons/", distinct_id=name))["results"] == []

        async def are_gone(name: str = name) -> bool:
            return await all_events(http, distinct_id=name) == []

        await until_soon(are_gone, f"events of {name} are left")


async def check_groups(http: httpx.AsyncClient) -> None:
    """Check that there are as many types as allowed, each with its own index, and all changes."""
    types = {
        group_type["group_type"]: group_type["group_type_index"]
        for group_type in await get_json(http, "/groups_types/")
    }
    assert len(types) == GROUP_TYPES_MAX
    assert sorted(types.values()) == list(range(GROUP_TYPES_MAX))
    for group_type, index in types.items():
        groups = (await get_json(http, "/groups/", group_type_index=index))["results"]
        assert {group["group_key"] for group in groups} == {
            f"{group_type} {key}" for key in range(GROUPS_OF_TYPE)
        }
        whole = {f"change {n}": True for n in range(GROUP_CHANGES)} | {"last": GROUP_CHANGES - 1}
        assert [group["group_properties"] for group in groups] == [whole] * GROUPS_OF_TYPE
