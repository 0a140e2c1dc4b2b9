"""An installation is moved up and down again under load, while the command is killed at each stage.

One machine with SQLite and the embedded engine moves to PostgreSQL and ClickHouse, and back.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.load import Load
from tests.cluster.outcome import check
from tests.move.stores import (
    events_in_clickhouse,
    events_in_folder,
    has_events_in_clickhouse,
    has_events_in_folder,
    is_in,
    locked,
)
from tests.support import plain_http
from tests.support.awaited import until, until_soon
from tests.support.clickhouse.server import ClickHouse
from tests.support.postgres import Postgres
from tests.support.preloaded import Forked, PreloadedServer, fork
from tests.support.releases import check_out_version
from tests.support.server import Keys, RealServer, expect_created, project_client
from tests.versions.answers import FOLDER, Record, missing, read_record
from tests.versions.record import unpack

pytestmark = [pytest.mark.postgresql, pytest.mark.long("moves an installation eight times")]

VERSION: Final = "0.12.0"  # of the records that are moved, of all kinds
OTHER_VERSION: Final = "0.9.0"
REQUESTS: Final = 30
PAUSE_S: Final = 0.1  # of a client between two requests, so that starting servers get the processor
PROMISED_S: Final = 60.0  # docs/move.md
Holds = Callable[[], Awaitable[bool]]
Answers = Sequence[Any]


@dataclass
class Command:
    """The command `fanion move` with a server's settings, to run as often as necessary.

    Attributes:
        folder: Takes what it prints.
    """

    server: RealServer
    to: Sequence[str]
    folder: Path
    runs: int = 0

    async def killed_when(self, holds: Holds) -> None:
        """Run it until something holds, and kill it then."""
        with self._running() as process:
            await until_soon(holds, "the command does not get there")
            assert process.poll() is None, self.printed(self.runs)
            process.kill()
            await asyncio.to_thread(process.wait)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run it to its end, which comes after that of the block."""
        with self._running() as process:
            yield
            assert await asyncio.to_thread(process.wait) == 0, self.printed(self.runs)

    async def has_moved(self) -> bool:
        return "Nothing was ingested for" in self.printed(self.runs)

    def printed(self, run: int) -> str:
        """Return what a run has printed, of which the first is 1."""
        return self._output(run).read_text()

    def _output(self, run: int) -> Path:
        return self.folder / f"move-{run}.txt"

    @contextmanager
    def _running(self) -> Iterator[Forked]:
        self.runs += 1
        environment = self.server.environment()
        output = self._output(self.runs)
        output.touch()
        process = fork(("move", *options_of(self.to)), environment, output, output)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def options_of(places: Sequence[str]) -> list[str]:
    return [part for place in places for part in ("--to", place)]


@dataclass
class Moving:
    """One installation that is moved, with clients that capture all the time.

    Attributes:
        urls: Of the server that clients use.
        keys: Of the project into which clients capture.
        record: Keys of another project, with rows of all kinds.
    """

    record: Record
    keys: Keys
    urls: list[str]
    load: Load = field(init=False)

    def __post_init__(self) -> None:
        self.load = Load(self.keys, self.urls, seed=5, pause_s=PAUSE_S)

    async def answers(self, server: RealServer) -> Answers:
        return await asyncio.to_thread(self._answers, server)

    def _answers(self, server: RealServer) -> Answers:
        record = self.record
        with record.client(server.url) as client:
            until(lambda: record.events_served(client) == record.events, "events are missing")
            return [record.ask(client, asked.question) for asked in record.asked]

    async def check_same(self, server: RealServer, before: Answers) -> None:
        """Check that everything is answered as it was before the move."""
        now = await self.answers(server)
        differences = [
            f"{asked.question.path} {difference}"
            for asked, expected, answer in zip(self.record.asked, before, now, strict=True)
            for difference in missing(expected, answer)
        ]
        assert differences == []

    async def check_load(self, server: RealServer) -> None:
        """Check that every acknowledged event is stored once, with persons and the ledger."""
        async with project_client(server, self.keys) as http:
            await check(http, self.load)


@pytest.fixture
async def moving(tmp_path: Path) -> AsyncGenerator[tuple[PreloadedServer, Moving]]:
    """Yield a server on one machine, with a project for clients and one with rows of every kind."""
    record = read_record(FOLDER / f"{VERSION}.json")
    server = PreloadedServer(unpack(FOLDER / f"{VERSION}.tar.xz", tmp_path / "one"))
    with closing(server):
        await asyncio.to_thread(server.start)
        headers = {"authorization": f"Bearer {record.personal_api_key}"}
        async with plain_http.AsyncClient(base_url=server.url, headers=headers) as http:
            made = await expect_created(http, "/api/projects/", name="Clients")
        keys = Keys(made["id"], made["api_token"], record.personal_api_key)
        yield server, Moving(record, keys, [server.url])


@pytest.fixture
async def several(
    postgres: Postgres, own_events_url: str, tmp_path: Path
) -> AsyncGenerator[PreloadedServer]:
    """Yield a server on an empty PostgreSQL and ClickHouse, which does not run yet."""
    url = postgres.url(await postgres.create_database())
    settings = {"FANION_DATABASE_URL": url, "FANION_EVENTS_URL": own_events_url}
    with closing(PreloadedServer(tmp_path / "several", settings)) as server:
        yield server


async def test_nothing_is_lost_on_the_way_up_and_down(
    moving: tuple[PreloadedServer, Moving],
    several: PreloadedServer,
    clickhouse_server: ClickHouse,
    tmp_path: Path,
) -> None:
    one, installation = moving
    before = await installation.answers(one)
    with closing(PreloadedServer(tmp_path / "back")) as back:
        async with installation.load.sending():
            await installation.load.wait_for_more(REQUESTS)
            await move_up(installation, one, several, clickhouse_server)
            await installation.load.wait_for_more(REQUESTS)
            await installation.check_same(several, before)
            stored = events_in_clickhouse(several, clickhouse_server)
            assert events_in_folder(one).items() <= stored.items()

            await move_down(installation, several, back)
            await installation.load.wait_for_more(REQUESTS)
            await installation.check_same(back, before)
        await installation.check_load(back)
        assert back.stop() == 0
        last = events_in_clickhouse(several, clickhouse_server)
        assert len(last) > len(stored)
        assert last.items() <= events_in_folder(back).items()


def test_a_server_of_another_version_is_not_moved(several: PreloadedServer, tmp_path: Path) -> None:
    source = check_out_version(OTHER_VERSION, tmp_path / "released")
    with closing(RealServer(tmp_path / "one", {"PYTHONPATH": str(source)})) as one:
        one.setup_anew()
        one.start()
        places = (several.settings["FANION_DATABASE_URL"], several.settings["FANION_EVENTS_URL"])
        done = PreloadedServer(one.data).run("move", *options_of(places))

        assert one.command("migrate", "--check")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(f"fanion: {one.url} is a server of version {OTHER_VERSION}, and this")


async def move_up(
    installation: Moving, one: RealServer, several: RealServer, store: ClickHouse
) -> None:
    """Move, and kill the command while it copies, in the pause, and when it sends captures on.

    The former server is killed too, and started again on records that were moved.
    """
    places = (several.settings["FANION_DATABASE_URL"], several.settings["FANION_EVENTS_URL"])
    command = Command(one, places, one.data)

    await command.killed_when(lambda: has_events_in_clickhouse(several, store))
    # The positions are written last, in the pause.
    async with locked(several, "log_positions", "ACCESS EXCLUSIVE"):
        await command.killed_when(lambda: is_in(one, "paused"))
        await check_captures_and_flags_go_on(installation, one)
    await command.killed_when(command.has_moved)
    assert await is_in(one, "moved")
    await asyncio.to_thread(one.kill)
    one.launch()
    await check_captures_and_flags_go_on(installation, one)
    async with command.running():
        await asyncio.to_thread(several.start)
        await installation.load.wait_for_more(REQUESTS)
        assert await asyncio.to_thread(one.stop) == 0
    installation.urls[:] = [several.url]

    check_pause(command)


async def move_down(installation: Moving, several: RealServer, back: RealServer) -> None:
    """Do the same in the other direction. Nobody accepts captures after the servers have ended."""
    command = Command(several, (str(back.data),), several.data)

    await command.killed_when(lambda: has_events_in_folder(back))
    # Before they are copied for the last time, no transaction may write into the tables.
    async with locked(several, "webhooks", "ROW EXCLUSIVE"):
        await command.killed_when(lambda: is_in(several, "paused"))
        await check_captures_and_flags_go_on(installation, several)
    await command.killed_when(command.has_moved)
    assert await is_in(several, "moved")
    async with command.running():
        await installation.load.wait_for_more(REQUESTS)
        assert await asyncio.to_thread(several.stop) == 0
    await asyncio.to_thread(back.start)
    installation.urls[:] = [back.url]

    check_pause(command)


def check_pause(command: Command) -> None:
    """Check what the last two runs say; the first of them has moved everything."""
    last, before = command.printed(command.runs), command.printed(command.runs - 1)
    [seconds] = re.findall(r"Nothing was ingested for ([\d.]+) s", before)
    assert float(seconds) < PROMISED_S
    assert "Everything is moved already" in last
    assert re.search(r"[\d,]+ requests with captures were sent on", last)


async def check_captures_and_flags_go_on(installation: Moving, server: RealServer) -> None:
    """Check a server that is paused, or whose records were moved: management answers 503."""
    await installation.load.wait_for_more(REQUESTS)
    async with project_client(server, installation.keys) as http:

        async def is_refused() -> bool:
            return (await http.get("/feature_flags/")).status_code == 503

        await until_soon(is_refused, "management still accepts changes")
        body = {"api_key": installation.record.project_api_key, "distinct_id": "ann"}
        decided = await http.post(http.base_url.join("/flags/?v=2"), json=body)
    assert decided.status_code == 200
    assert decided.json()["flags"]
