"""A simulation: servers, clients and faults, all of it decided by one number."""

import asyncio
import contextvars
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Never
from uuid import UUID

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.errors import NotFound, Unavailable
from tests.simulation.accepted import Accepted
from tests.simulation.checker import Violation, check
from tests.simulation.events import Tables
from tests.simulation.loop import PROCESS, VirtualLoop
from tests.simulation.network import Network
from tests.simulation.records import Database
from tests.simulation.server import Server
from tests.simulation.traffic import USERS, Traffic

FAULTS_S = 16.0  # how long there are faults
SENT_S = 11.0  # how long events are sent
ENVELOPES = 26
DONE_S = 240.0  # after the last fault; by then everything must be ingested
LOOK_S = 1.0
QUIET = 3  # looks without any change


@dataclass(frozen=True, slots=True)
class Options:
    partitions: int = 4
    servers: int = 3
    late_s: float = 0.5


class Simulation:
    def __init__(self, seed: int, options: Options = Options()) -> None:
        self.seed, self.options = seed, options
        self.random = Random(seed)
        self.loop = VirtualLoop(self.random)
        self.loop.set_exception_handler(self._failed)
        self.network = Network(self.loop, self.random, options.late_s)
        self.database = Database(self.network, options.partitions)
        self.tables = Tables()
        self.accepted = Accepted(self.network, options.partitions)
        self.traffic = Traffic(self.random)
        self._servers: list[Server] = []
        self._started = 0
        self._dead: list[Server] = []
        self._failures: list[str] = []

    def run(self) -> None:
        """Run the simulation, and raise Violation if a condition does not hold."""
        try:
            with _traced(self.network):
                self.loop.run_until_complete(self._run())
        finally:
            self._close()

    async def _run(self) -> None:
        for _ in range(self.options.servers):
            self._start()
        await asyncio.gather(self._send(), self._edit(), self._harm())
        self.network.is_calm = True
        self.network.note("calm")
        for server in list(self._servers):
            server.process.resume()
        self._start()  # the others may be about to end
        await self._finished()
        if self._failures:
            raise Violation("\n".join(self._failures))
        check(self)

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not self.network.is_closed:
            self._failures.append(f"{context['message']}: {context.get('exception')!r}")

    # ── Servers ──────────────────────────────────────────────────────────────────────────

    def _start(self) -> None:
        self._started += 1
        server = Server(
            f"s{self._started}", self.network, self.database, self.tables, self.accepted
        )
        self._servers.append(server)
        context = contextvars.copy_context()
        context.run(PROCESS.set, server.process)
        self.network.note(f"starts {server.process.name}")
        task = self.loop.create_task(server.run(), context=context)
        task.add_done_callback(lambda done: self._ended(server, done))

    def _ended(self, server: Server, task: "asyncio.Task[None]") -> None:
        if server in self._servers:
            self._servers.remove(server)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failures.append(f"{server.process.name} ended: {error!r}")

    # ── Clients ──────────────────────────────────────────────────────────────────────────

    async def _send(self) -> None:
        moments = sorted(self.random.uniform(0.0, SENT_S) for _ in range(ENVELOPES))
        began = self.loop.time()
        for moment in moments:
            await asyncio.sleep(max(0.0, began + moment - self.loop.time()))
            envelope = self.traffic.next_envelope(self.loop.time())
            for entry in self.accepted.append(envelope):
                lane = "historical" if envelope.historical else "live"
                body = entry.envelope.body.decode()
                self.network.note(f"accepted {lane}/{entry.partition} {entry.id}: {body}")

    async def _edit(self) -> None:
        for _ in range(self.random.randrange(16)):
            await asyncio.sleep(self.random.uniform(0.0, SENT_S / 6))
            name = self.random.choice(USERS)
            persons = self.database.rows(
                "SELECT p.uuid FROM persons p JOIN person_distinct_ids l ON l.person_id = p.id"
                " WHERE l.distinct_id = ?",
                name,
            )
            alive = [candidate for candidate in self._servers if candidate.process.is_running]
            if not persons or not alive:
                continue
            server, person = self.random.choice(alive), UUID(persons[0][0])
            context = contextvars.copy_context()
            context.run(PROCESS.set, server.process)
            self.loop.create_task(self._change(server, person, name), context=context)

    async def _change(self, server: Server, person: UUID, distinct_id: str) -> None:
        value = self.random.choice((1, 2))
        self.traffic.expected.request(distinct_id, value)
        self.network.note(f"sets contended_{distinct_id} of {person} to {value}")
        with suppress(RecordsUnavailable, NotFound, Unavailable):
            await server.change(person, f"contended_{distinct_id}", value)
        self.traffic.expected.answer(distinct_id, value)
        self.network.note(f"has set contended_{distinct_id}")

    # ── Faults ───────────────────────────────────────────────────────────────────────────

    async def _harm(self) -> None:
        until = self.loop.time() + FAULTS_S
        while self.loop.time() < until:
            await asyncio.sleep(self.random.uniform(0.0, 6.0))
            if self._servers:
                fault = self.random.choice(
                    (self._kill, self._kill, self._pause, self._cut, self._end)
                )
                fault(self.random.choice(self._servers))
            if len(self._servers) < self.options.servers and self.random.random() < 0.6:
                self._start()

    def _kill(self, server: Server) -> None:
        self.network.note(f"kills {server.process.name}")
        server.process.die()
        self._servers.remove(server)
        self._dead.append(server)

    def _pause(self, server: Server) -> None:
        seconds = self.random.choice((1.0, 4.0, 7.0, 12.0)) * self.random.uniform(0.7, 1.3)
        self.network.note(f"pauses {server.process.name} for {seconds:.2f} s")
        server.process.pause()
        self.network.later(seconds, server.process.resume)

    def _cut(self, server: Server) -> None:
        link = self.random.choice(server.links)
        link.cut_until = self.loop.time() + self.random.uniform(0.2, 9.0)
        self.network.note(
            f"cuts {server.process.name} from {link.failure.__name__} until "
            f"{link.cut_until - 1_000:.2f}"
        )

    def _end(self, server: Server) -> None:
        self.network.note(f"stops {server.process.name}")
        server.stop()

    # ── The end ──────────────────────────────────────────────────────────────────────────

    async def _finished(self) -> None:
        """Wait until everything is ingested and mirrored, and no squash is in progress."""
        give_up, quiet = self.loop.time() + DONE_S, 0
        while quiet < QUIET:
            await asyncio.sleep(LOOK_S)
            quiet = quiet + 1 if self._is_quiet() else 0
            if self.loop.time() > give_up:
                raise Violation("not everything is ingested and mirrored")

    def _is_quiet(self) -> bool:
        waiting = self.database.rows(
            "SELECT 1 FROM log_positions WHERE partition > 0 AND claimed > position UNION ALL "
            "SELECT 1 FROM mirror_outbox"
        )
        return not (waiting or self.tables.pending or self._unread())

    def _unread(self) -> bool:
        rows = self.database.rows(
            "SELECT consumer, partition, position FROM log_positions WHERE partition > 0"
        )
        return any(
            self.accepted.behind({partition: position}, consumer.startswith("historical"))
            for consumer, partition, position in rows
        )

    def _close(self) -> None:
        self.network.is_closed = True
        for server in (*self._servers, *self._dead):
            server.process.revive()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


@contextmanager
def _traced(network: Network) -> Iterator[None]:
    """Add the product's log to the trace."""

    def note(_: object, __: str, entry: MutableMapping[str, Any]) -> Never:
        error = entry.pop("exc_info", None)
        shown = " ".join(f"{name}={value}" for name, value in entry.items() if name != "event")
        network.note(
            f"{entry['event']} {shown} {error!r}" if error else f"{entry['event']} {shown}"
        )
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[note])
    try:
        yield
    finally:
        structlog.configure(**before)
