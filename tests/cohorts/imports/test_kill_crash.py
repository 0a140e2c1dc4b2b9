"""A real server killed during a calculation or import leaves no partial state and no stuck work.

It is stopped as soon as the store shows work in progress, inspected, and then killed.
"""

import asyncio
import shutil
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from fanion.cohorts.imports.store import IDS_MAX
from tests.support import plain_http
from tests.support.awaited import has_caught_up, until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer, project_client

pytestmark = pytest.mark.long("starts real servers and kills them")

PERSONS = 8_000
# Ids without a person: they take time to import and make no members.
UNKNOWN = 100_000
ROUNDS = 10
DONE_S = 120
LEASE_S = 1
SETTINGS = {"FANION_COHORT_LEASE_S": str(LEASE_S), "FANION_COHORTS_EVERY_S": "3600"}
POLL_S = 0.003

# Members written under a version that is not current yet, while a server holds the lease.
IN_THE_MIDDLE = """
SELECT count(*) FROM cohort_people JOIN cohorts ON cohorts.id = cohort_people.cohort_id
WHERE cohorts.id = ? AND lease IS NOT NULL
  AND (added > version OR removed > version AND removed < 1 << 62)
"""
PARTS = "SELECT count(*) FROM cohort_import_parts"
UPLOADS = "SELECT count(*) FROM cohort_imports WHERE cohort_id IS NULL"
COHORTS = "SELECT count(*) FROM cohorts"

Json = dict[str, Any]


@pytest.fixture(scope="module")
async def populated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Keys]:
    """Return a data folder with persons, and its keys."""
    server = PreloadedServer(tmp_path_factory.mktemp("cohorts") / "data", SETTINGS)
    keys = server.setup()
    server.start()
    try:
        await populate(server, keys)
        assert server.stop() == 0
    finally:
        server.close()
    return server.data, keys


@pytest.fixture
def keys(populated: tuple[Path, Keys]) -> Keys:
    return populated[1]


@pytest.fixture
async def server(populated: tuple[Path, Keys], tmp_path: Path) -> AsyncIterator[RealServer]:
    """Start a server on a copy of the populated folder."""
    data = shutil.copytree(populated[0], tmp_path / "data", symlinks=True)
    server = PreloadedServer(data, SETTINGS)
    server.start()
    yield server
    server.close()


async def test_a_kill_during_a_calculation_shows_no_partial_result(
    server: RealServer, keys: Keys
) -> None:
    dynamic = await create(server, keys, json={"name": "Even", "filters": plan_is("even")})
    await finished(server, keys, dynamic)
    plans = ["even", "odd"]

    for _ in range(ROUNDS):
        plans.reverse()
        before = (await cohort(server, keys, dynamic))["last_calculation"]
        await change(server, keys, dynamic, filters=plan_is(plans[0]))
        if await stopped(server, partial(read_number, server, IN_THE_MIDDLE, dynamic), 5):
            break
        resume(server)
        await finished(server, keys, dynamic, before)
    else:
        pytest.fail("no kill met a calculation in the middle")
    server.kill()
    server.start()
    old = await members(server, keys, dynamic)
    done = await finished(server, keys, dynamic, before)

    assert {plan for plan, _ in old} == {plans[1]} and len(old) == PERSONS // 2
    assert (done["count"], done["errors_calculating"]) == (PERSONS // 2, 0)
    new = await members(server, keys, dynamic)
    assert {plan for plan, _ in new} == {plans[0]} and len(new) == PERSONS // 2
    assert read_number(server, IN_THE_MIDDLE, dynamic) == 0


async def test_a_kill_while_a_file_is_imported_loses_no_member(
    server: RealServer, keys: Keys
) -> None:
    for _ in range(ROUNDS):
        static = await create(server, keys, **members_form())
        if await stopped(server, partial(read_number, server, IN_THE_MIDDLE, static), DONE_S):
            break
        resume(server)
        await finished(server, keys, static)
    else:
        pytest.fail("no kill met an import in the middle")
    server.kill()
    server.start()
    before = await members(server, keys, static)
    done = await finished(server, keys, static)

    assert before == []
    assert (done["is_calculating"], done["errors_calculating"]) == (False, 0)
    assert (done["count"], len(await members(server, keys, static))) == (PERSONS, PERSONS)


async def test_a_kill_while_a_file_is_stored_leaves_no_cohort(
    server: RealServer, keys: Keys
) -> None:
    parts_of_all = (PERSONS + UNKNOWN) // IDS_MAX

    for cohorts in range(ROUNDS):
        uploading = asyncio.create_task(create(server, keys, **members_form()))
        met = await stopped(server, partial(read_number, server, PARTS), DONE_S)
        is_begun = met and read_number(server, PARTS) < parts_of_all
        if is_begun and read_number(server, COHORTS) == cohorts:
            break
        resume(server)
        await finished(server, keys, await uploading)
    else:
        pytest.fail("no kill met an upload in the middle")
    server.kill()
    with pytest.raises(httpx.TransportError):
        await uploading
    server.start()
    listed = await cohort(server, keys, "")
    again = await create(server, keys, **members_form())
    done = await finished(server, keys, again)

    assert len(listed["results"]) == cohorts
    assert (done["count"], done["errors_calculating"]) == (PERSONS, 0)
    assert read_number(server, UPLOADS) <= 2  # the first one's parts, until they are cleared away


async def test_a_kill_during_an_upload_leaves_nothing(server: RealServer, keys: Keys) -> None:
    """More was sent than socket buffers hold, so the server has begun to read."""
    rest = asyncio.Event()
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        head = b'--x\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\n'
        for piece in (head, *[b"user 1\nuser 2\n" * 5_000] * 500):
            yield piece
            sent += len(piece)
        rest.set()
        await asyncio.Event().wait()

    uploading = asyncio.create_task(upload(server, keys, body()))
    async with asyncio.timeout(DONE_S):
        await rest.wait()
    server.kill()
    uploading.cancel()
    await asyncio.wait([uploading])
    server.start()

    assert sent > 30_000_000
    assert (await cohort(server, keys, ""))["results"] == []
    assert (
        read_number(server, PARTS),
        read_number(server, UPLOADS),
        read_number(server, COHORTS),
    ) == (0, 0, 0)


async def test_a_client_that_disconnects_during_an_upload_leaves_nothing(
    server: RealServer, keys: Keys
) -> None:
    """The file is larger than other bodies may be."""
    gone = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\n'
        for _ in range(500):
            yield b"user 1\nuser 2\n" * 5_000
        gone.set()
        await asyncio.Event().wait()

    uploading = asyncio.create_task(upload(server, keys, body()))
    async with asyncio.timeout(DONE_S):
        await gone.wait()
    uploading.cancel()
    await asyncio.wait([uploading])
    static = await create(server, keys, **members_form())
    done = await finished(server, keys, static)

    assert [listed["id"] for listed in (await cohort(server, keys, ""))["results"]] == [static]
    assert done["count"] == PERSONS


def members_form() -> Json:
    """Return a form whose file has all persons, half at the beginning and half at the end."""
    persons = [f"user {number}" for number in range(PERSONS)]
    anonymous = [f"nobody {number}" for number in range(UNKNOWN)]
    lines = [*persons[: PERSONS // 2], *anonymous, *persons[PERSONS // 2 :]]
    files = {"csv": ("people.csv", "\n".join(lines).encode(), "text/csv")}
    return {"data": {"name": "All", "is_static": "true"}, "files": files}


async def upload(server: RealServer, keys: Keys, body: AsyncIterator[bytes]) -> None:
    async with project_client(server, keys, "/cohorts") as http:
        headers = {"content-type": "multipart/form-data; boundary=x"}
        await http.post("/", content=body, headers=headers)


def read_number(server: RealServer, statement: str, *values: int) -> int:
    """Return one number from the store's file, which the server has open."""
    path = f"file:{server.data}/records.db?mode=ro"
    with closing(sqlite3.connect(path, uri=True)) as connection:
        number: int = connection.execute(statement, values).fetchone()[0]
        return number


async def stopped(server: RealServer, met: Callable[[], object], wait_s: float) -> bool:
    """Stop the server when the condition is met, and return whether it is still met then."""
    return await asyncio.to_thread(stop_when, server, met, wait_s)


def stop_when(server: RealServer, met: Callable[[], object], wait_s: float) -> bool:
    assert server.process is not None
    give_up = time.monotonic() + wait_s
    while not met() and time.monotonic() < give_up:
        time.sleep(POLL_S)
    server.process.send_signal(signal.SIGSTOP)
    status = Path(f"/proc/{server.pid}/status")
    until(lambda: "State:\tT" in status.read_text(), "the server did not stop")
    return bool(met())


def resume(server: RealServer) -> None:
    assert server.process is not None
    server.process.send_signal(signal.SIGCONT)


def plan_is(plan: str) -> Json:
    leaf = {"type": "person", "key": "plan", "operator": "exact", "value": plan}
    return {"properties": {"type": "AND", "values": [leaf]}}


async def populate(server: RealServer, keys: Keys) -> None:
    items = [
        {
            "event": "seen",
            "distinct_id": f"user {number}",
            "properties": {"$set": {"plan": "odd" if number % 2 else "even"}},
        }
        for number in range(PERSONS)
    ]
    async with plain_http.AsyncClient(base_url=server.url) as http:
        body = {"api_key": keys.project_api_key, "batch": items}
        answer = await http.post("/batch/", json=body)
        assert answer.status_code == 200, answer.text
        async with asyncio.timeout(DONE_S):
            while True:
                if has_caught_up((await http.get("/metrics")).text):
                    return
                await asyncio.sleep(0.05)


async def create(server: RealServer, keys: Keys, **body: Any) -> int:
    async with project_client(server, keys, "/cohorts") as http:
        answer = await http.post("/", **body)
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


async def change(server: RealServer, keys: Keys, cohort_id: int, **fields: Any) -> None:
    async with project_client(server, keys, "/cohorts") as http:
        answer = await http.patch(f"/{cohort_id}/", json=fields)
    assert answer.status_code == 200, answer.text


async def cohort(server: RealServer, keys: Keys, cohort_id: int | str) -> Json:
    async with project_client(server, keys, "/cohorts") as http:
        body: Json = (await http.get(f"/{cohort_id}")).json()
    return body


async def finished(
    server: RealServer, keys: Keys, cohort_id: int, before: str | None = None
) -> Json:
    """Return the cohort once it has been calculated or imported after `before`."""
    give_up = time.monotonic() + DONE_S
    while time.monotonic() < give_up:
        body = await cohort(server, keys, cohort_id)
        if not body["is_calculating"] and body["last_calculation"] not in (None, before):
            return body
        await asyncio.sleep(0.1)
    raise AssertionError(f"still calculating after {DONE_S} s: {body}")


async def members(server: RealServer, keys: Keys, cohort_id: int) -> list[tuple[str, str]]:
    """Return the plan and the UUID of each member."""
    async with project_client(server, keys, "/cohorts") as http:
        answer = await http.get(f"/{cohort_id}/persons/", params={"limit": PERSONS})
    assert answer.status_code == 200, answer.text
    return [(person["properties"]["plan"], person["uuid"]) for person in answer.json()["results"]]
