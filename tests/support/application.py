"""The whole application in memory over real stores: everything a client sees, without a socket."""

import asyncio
import inspect
import io
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, cast
from uuid import UUID, uuid4

import httpx
from sqlalchemy import insert, text, update

from fanion.accept_log.port import (
    AcceptLog,
    Appender,
    Backlog,
    Completion,
    Envelope,
    LogEntry,
    Positions,
)
from fanion.accept_log.spool import SpooledLog
from fanion.accept_log.sqlite import SqliteLog
from fanion.accounts.model import Device
from fanion.accounts.sessions.cookies import PLAIN_NAME
from fanion.app.accept_logs import open_log, open_spooled_log
from fanion.app.server import Server, server_application
from fanion.app.services import (
    AppContext,
    RequestWaits,
    Stores,
    build_services,
    opened_spool,
)
from fanion.cohorts.calculation.worker import Calculator
from fanion.config import Settings, read_settings
from fanion.db.engine import Records, open_records
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.tables import (
    feature_flags,
    memberships,
    users,
)
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.counts_query import Counts
from fanion.events.storage.store import EventStore
from fanion.events.turns.places_store import SharedPlaces
from fanion.observability.logging import LineWriter
from fanion.observability.metrics import Metrics
from fanion.projects.model import Level
from fanion.projects.store import move_flag_version
from fanion.web.application import Application
from tests.support.awaited import SOON_S
from tests.support.exchange import MemoryTransport
from tests.support.management import CONSOLE, NOW, Clock, insert_key, insert_project
from tests.support.management import error as error  # tests of the whole application use it too
from tests.support.reused_routes import with_reused_routes

BASE_URL = "http://fanion.test"
INGESTED_S = 60
LOOK_S = 0.05  # interval of checks when another server may have ingested
# A machine that also runs other tests may pause for seconds.
PATIENT = RequestWaits(
    project_s=SOON_S, flags_s=SOON_S, erasure_s=SOON_S, merge_s=SOON_S, split_s=SOON_S
)
# Entries are deleted once they are ingested.
_REMAINS = text("""
SELECT EXISTS (SELECT
                 FROM accept_log_entries
                WHERE id <= CASE WHEN historical THEN CAST(:historical AS bigint)
                                 ELSE CAST(:live AS bigint) END) AS remains
""")

Json = dict[str, Any]


@dataclass(frozen=True)
class _Noted:
    """A completion that notes the entry's id before it calls another one."""

    completion: Completion
    note: Callable[[int], None]

    def done(self) -> bool:
        return self.completion.done()

    def set_result(self, entry_id: int, /) -> None:
        self.note(entry_id)
        self.completion.set_result(entry_id)

    def set_exception(self, exception: Exception, /) -> None:
        self.completion.set_exception(exception)


class WatchedLog:
    """The real accept log, which also records when everything appended has been ingested.

    Attributes:
        without_task: The number of appends without a task.
        last: The last appended envelope.
    """

    def __init__(
        self, log: AcceptLog, records: Records, captured: SpooledLog | None = None
    ) -> None:
        """Watch a log.

        Args:
            captured: What captures are appended to; None if that is the log.
        """
        self._log = log
        self._captured: Appender = captured or log
        self._records = records
        self._appended = {False: 0, True: 0}
        self._trimmed = {False: 0, True: 0}
        self._moved = asyncio.Condition()
        self.without_task = 0
        self.last: Envelope | None = None

    @property
    def positions_prefix(self) -> str:
        return self._log.positions_prefix

    async def append(self, envelope: Envelope) -> int:
        self.last = envelope
        entry_id = await self._captured.append(envelope)
        self._note(envelope.historical, entry_id)
        return entry_id

    def append_for(self, completion: Completion, envelope: Envelope) -> None:
        self.without_task += 1
        self.last = envelope
        noted = _Noted(completion, partial(self._note, envelope.historical))
        self._captured.append_for(noted, envelope)

    async def trim(self, upto: Positions, *, historical: bool = False) -> None:
        """Trim the log like the consumer does, and record up to where."""
        await self._log.trim(upto, historical=historical)
        async with self._moved:
            self._trimmed[historical] = max(self._trimmed[historical], *upto.values())
            self._moved.notify_all()

    def _note(self, lane: bool, entry_id: int) -> None:
        self._appended[lane] = max(self._appended[lane], entry_id)

    async def all_ingested(self) -> None:
        """Wait until everything is ingested, by whichever server."""
        async with asyncio.timeout(INGESTED_S):
            while not await self._is_ingested():
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S), self._moved:
                        await self._moved.wait()

    async def _is_ingested(self) -> bool:
        if isinstance(self._log, SqliteLog):
            return all(self._trimmed[lane] >= self._appended[lane] for lane in (False, True))
        [row] = await self._records.fetch(
            _REMAINS, {"live": self._appended[False], "historical": self._appended[True]}
        )
        return not row.remains

    async def read(
        self,
        after: Positions,
        envelopes_max: int,
        bytes_max: int,
        *,
        historical: bool = False,
        upto: Positions | None = None,
    ) -> Sequence[LogEntry]:
        return await self._log.read(
            after, envelopes_max, bytes_max, historical=historical, upto=upto
        )

    async def backlog(self, after: Positions, *, historical: bool = False) -> Backlog:
        return await self._log.backlog(after, historical=historical)

    async def appended(self, after: Positions, *, historical: bool = False) -> None:
        await self._log.appended(after, historical=historical)

    async def close(self) -> None:
        await self._log.close()


class Breakable:
    """A proxy of an event store; while `is_down` each call fails like a lost connection."""

    def __init__(self, store: EventStore | Counts, *, is_down: bool = False) -> None:
        self._store = store
        self.is_down = is_down

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._store, name)
        if isinstance(attribute, Counts):
            return Breakable(attribute, is_down=self.is_down)
        if not inspect.iscoroutinefunction(attribute):
            return attribute

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.is_down:
                raise EventStoreUnavailable("the event store cannot be reached")
            return await attribute(*args, **kwargs)

        return call


@dataclass(frozen=True)
class AppServer:
    """A serving application.

    Attributes:
        lines: The log lines, complete once `writer` is closed.
    """

    settings: Settings
    records: Records
    events: Breakable
    log: WatchedLog
    clock: Clock
    running: Server
    application: Application
    writer: LineWriter
    lines: io.BytesIO
    ingesting: Sequence["asyncio.Task[None]"]

    def client(self, key: str | None = None, path: str = "") -> httpx.AsyncClient:
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        transport = MemoryTransport(self.application)
        return httpx.AsyncClient(transport=transport, base_url=BASE_URL + path, headers=headers)

    async def browser(self, user_id: int, path: str = "") -> httpx.AsyncClient:
        """Return a client that acts as one of our own pages, signed in."""
        start = self.running.accounts.sign_in.sessions.start_session
        return self.browser_with(await start(user_id, "password", Device("", "")), path)

    def browser_with(self, cookie: str, path: str = "") -> httpx.AsyncClient:
        client = self.client(path=path)
        client.headers.update(CONSOLE)
        client.cookies.set(PLAIN_NAME, cookie)
        return client

    async def ingested(self) -> None:
        """Wait until everything that was accepted can be read."""
        await self.log.all_ingested()

    @property
    def calculator(self) -> Calculator:
        """The calculator of cohorts."""
        return self.running.questions.calculator

    async def calculated(self) -> None:
        """Calculate until no cohort is due any more."""
        while await self.calculator.work_once():
            pass

    async def running_out(self) -> None:
        """Wait until a consumer has died."""
        await asyncio.wait(self.ingesting, return_when=asyncio.FIRST_EXCEPTION)

    async def metric(self, name: str, **labels: str) -> float:
        """Return one sample of /metrics, or 0.0 if there is none."""
        async with self.client() as client:
            text = (await client.get("/metrics")).text
        wanted_labels = ",".join(f'{label}="{value}"' for label, value in labels.items())
        sample = f"{name}{{{wanted_labels}}}" if wanted_labels else name
        lines = [line for line in text.splitlines() if line.startswith(f"{sample} ")]
        return float(lines[0].rpartition(" ")[2]) if lines else 0.0


def _share_places(
    events: EventStore, people: SharedPlaces | None, behind: SharedPlaces | None
) -> None:
    """Restore the places of a shared event store, so that it asks no store that is closed."""
    events.people.places, events.behind.places = people, behind


@asynccontextmanager
async def open_app_server(
    records_url: str, events: EventStore, folder: Any, start: datetime = NOW, **settings: Any
) -> AsyncGenerator[AppServer]:
    """Run an application.

    Args:
        start: The initial time of its clock.
        settings: Further fields of `Settings`.
    """
    values = {"data": folder, "database_url": records_url, "decide_store_timeout_s": SOON_S}
    if "role" in settings:  # the store is handed in, but split roles need the URL of a server
        values["events_url"] = "clickhouse://127.0.0.1:8123/fanion"
    chosen = read_settings({}, values | settings)
    clock, stream = Clock(start), io.BytesIO()
    async with AsyncExitStack() as stack:
        records = await open_records(records_url)
        stack.push_async_callback(records.close)
        opened = await open_log(chosen, records)
        stack.push_async_callback(opened.close)
        spool = await stack.enter_async_context(opened_spool(chosen))
        captured = None
        if spool is not None:
            captured = await open_spooled_log(records, opened, spool)
            stack.push_async_callback(captured.close_lanes)
        log = WatchedLog(opened, records, captured)
        writer = LineWriter(stream)
        stack.callback(writer.close)
        stack.callback(_share_places, events, events.people.places, events.behind.places)
        breakable = Breakable(events)
        metrics = Metrics()
        metrics.describe_server()
        context = AppContext(chosen, metrics, writer, clock.now, waits=PATIENT)
        public = build_services(context, Stores(records, log, spool))
        running = Server(public, cast(EventStore, breakable))
        application = with_reused_routes(partial(server_application, running), stack)
        for consumer in running.ingestion.consumers:
            consumer.reader.linger_s = 0.0  # a test waits for each of its runs
        ingesting = [
            asyncio.create_task(consumer.run()) for consumer in running.ingestion.consumers
        ]
        stack.push_async_callback(_end, running, ingesting)
        yield AppServer(
            chosen, records, breakable, log, clock, running, application, writer, stream, ingesting
        )


async def _end(running: Server, ingesting: Sequence["asyncio.Task[None]"]) -> None:
    """Stop the consumers before their stores are closed, even if one of them has died."""
    for consumer in running.ingestion.consumers:
        consumer.stop()
    if ingesting:
        await asyncio.wait(ingesting)
    await running.close()
    await asyncio.gather(*ingesting)


@dataclass(frozen=True)
class Tenant:
    """An organization for one test: owner, project, both keys, and clients that use them.

    Attributes:
        api: Calls the project's management API.
        public: Has no key.
    """

    server: AppServer
    organization_id: UUID
    user_id: int
    project_id: int
    token: str
    key: str
    api: httpx.AsyncClient
    public: httpx.AsyncClient
    owner: Json = field(default_factory=dict)

    async def capture(self, *items: Json, **common: Any) -> None:
        """Send a batch, and wait until it is ingested."""
        body = {"api_key": self.token, "batch": list(items), **common}
        answer = await self.public.post("/batch/", json=body)
        assert (answer.status_code, answer.json()) == (200, {"status": 1}), answer.text
        await self.server.ingested()

    async def create(self, path: str, **sent: Any) -> Json:
        """Create an object and return it."""
        answer = await self.api.post(path, json=sent)
        assert answer.status_code == 201, answer.text
        created: Json = answer.json()
        return created

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.api.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def events(self, **query: Any) -> list[Json]:
        """Return events, the newest first."""
        results: list[Json] = (await self.get("/events/", **query))["results"]
        return results

    async def person(self, distinct_id: str) -> Json:
        results = (await self.get("/persons/", distinct_id=distinct_id))["results"]
        assert len(results) == 1, results
        person: Json = results[0]
        return person

    async def create_flag(self, **flag: Any) -> Json:
        answer = await self.api.post("/feature_flags/", json=flag)
        assert answer.status_code == 201, answer.text
        created: Json = answer.json()
        return created

    async def create_flag_for_no_person(self, key: str, **filters: Any) -> Json:
        """Create a flag without a condition set, as older versions stored some."""
        flag = await self.create_flag(key=key)
        await self.store_flag(flag, filters={"groups": [], **filters})
        return flag

    async def store_flag(self, flag: Json, **columns: Any) -> None:
        """Write the flag's row without validation, as an older version may have stored it."""
        this = update(feature_flags).where(feature_flags.c.id == flag["id"])
        async with self.server.records.write() as connection:
            await connection.execute(this.values(**columns))
            await connection.run_sync(move_flag_version, self.project_id)

    async def store_cohort(self, cohort: Json, **columns: Any) -> None:
        """Write the cohort's row without validation, as an older version may have stored it."""
        this = update(cohorts).where(cohorts.c.id == cohort["id"])
        async with self.server.records.write() as connection:
            await connection.execute(this.values(**columns))
            await connection.run_sync(move_flag_version, self.project_id)

    async def decide(self, distinct_id: str, query: str = "?v=3", **fields: Any) -> Json:
        body = {"api_key": self.token, "distinct_id": distinct_id, **fields}
        answer = await self.public.post(f"/decide{query}", json=body)
        assert answer.status_code == 200, answer.text
        decided: Json = answer.json()
        return decided


@asynccontextmanager
async def open_tenant(app_server: AppServer, project_id: int) -> AsyncGenerator[Tenant]:
    """Create an organization with an owner and a project.

    Args:
        project_id: An id that the shared event store has not seen.
    """
    name = f"{project_id:x}"
    token, key = f"phc_{name}", f"phx_{name}"
    owner: Json = {
        "uuid": uuid4(),
        "distinct_id": f"owner-{name}",
        "first_name": "Olga",
        "email": f"olga-{name}@example.com",
        "is_email_verified": True,
    }
    async with app_server.records.write() as connection:
        organization_id, _ = await insert_project(connection, name, name, token, id=project_id)
        added = await connection.execute(
            insert(users)
            .values(
                **owner,
                password_hash="",
                is_active=True,
                current_project_id=project_id,
                created_at=NOW,
            )
            .returning(users.c.id)
        )
        user_id = added.scalar_one()
        await connection.execute(
            insert(memberships).values(
                organization_id=organization_id,
                user_id=user_id,
                level=Level.OWNER,
                joined_at=NOW,
            )
        )
        await insert_key(connection, user_id, key)
    returned = {"id": user_id, **owner, "uuid": str(owner["uuid"])}
    api = app_server.client(key, f"/api/projects/{project_id}")
    async with api, app_server.client() as public:
        yield Tenant(
            app_server,
            organization_id,
            user_id,
            project_id,
            token,
            key,
            api,
            public,
            owner=returned,
        )
