"""Real servers go on capturing and ingesting while the persons are divided, and the command that
does so is killed."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from fanion.accept_log.postgres import open_partitions
from fanion.db.person_partitions import IS_DIVIDED
from tests.ingest.test_partitions_crash import Installation, has_accepted
from tests.support.awaited import until_soon
from tests.support.postgres import Postgres
from tests.support.undivided import make_undivided

pytestmark = pytest.mark.postgresql

PERSONS = 30_000  # a few seconds of copying
_MORE = f"""
INSERT INTO persons (project_id, uuid, properties, is_identified, created_at, version)
SELECT 77, gen_random_uuid(), '{{}}', FALSE, NOW(), 1 FROM GENERATE_SERIES(1, {PERSONS})
"""
_COPIED = "SELECT copied FROM persons_partitioning"
_IS_BEGUN = "SELECT to_regclass('persons_partitioning') IS NOT NULL"
_COUNTS = """
SELECT (SELECT COUNT(*) FROM persons WHERE project_id = 77) AS persons,
       (SELECT COUNT(*) FROM person_keys WHERE project_id = 77) AS keys
"""


@pytest.fixture
async def database(postgres: Postgres) -> str:
    """Dropped with the PostgreSQL of the tests."""
    url = postgres.url(await postgres.create_database())
    await make_undivided(url)
    await open_partitions(url)
    return url


@pytest.fixture
def site(tmp_path: Path, database: str, own_events_url: str) -> Iterator[Installation]:
    site = Installation(tmp_path, database, own_events_url)
    try:
        yield site
    finally:
        for server in site.servers:
            server.close()


async def test_persons_are_divided_while_servers_run_although_the_command_is_killed(
    site: Installation,
) -> None:
    first, second = site.add(), site.add()
    first.start()
    second.start()
    await site.shared_by(2)
    await site.query(_MORE)
    sending = asyncio.create_task(site.send_while(lambda: [first, second]))
    await until_soon(lambda: has_accepted(site, 200), "nothing is accepted")

    async with reading(site):
        killed = first.begin("persons", "partition")
        await until_soon(lambda: has_copied(site), "nothing is copied")
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    await until_soon(lambda: is_free(site), "the killed command's session does not end")
    accepted = site.accepted
    await until_soon(lambda: has_accepted(site, accepted + 100), "nothing more is accepted")
    said = await asyncio.to_thread(first.command, "persons", "partition")
    accepted = site.accepted
    await until_soon(lambda: has_accepted(site, accepted + 200), "nothing more is accepted")
    site.is_sending = False
    await sending

    await site.check()
    assert said == "The persons have partitions now.\n"
    assert await asyncio.to_thread(first.command, "persons", "partition") == (
        "The persons have partitions already.\n"
    )
    assert (await site.query(IS_DIVIDED))[0][0]
    assert tuple((await site.query(_COUNTS))[0]) == (PERSONS, PERSONS)


@asynccontextmanager
async def reading(site: Installation) -> AsyncIterator[None]:
    """As a backup does: until it ends, the tables cannot change places."""
    connection = await asyncpg.connect(site.database)
    try:
        async with connection.transaction(isolation="repeatable_read"):
            await connection.fetchval("SELECT id FROM persons LIMIT 1")
            yield
    finally:
        await connection.close()


async def has_copied(site: Installation) -> bool:
    if not (await site.query(_IS_BEGUN))[0][0]:
        return False
    return any(row["copied"] > 0 for row in await site.query(_COPIED))


async def is_free(site: Installation) -> bool:
    question = "SELECT NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = "
    low = 7238414923 % 2**32
    return bool((await site.query(f"{question}{low})"))[0][0])
