"""Clients of the event engine: opened and migrated, each used by one thread at a time."""

import asyncio
import fcntl
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from clickhouse_connect import get_client
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.errors import SchemaRefused, StartRefused
from fanion.events.event import EventRejected, EventStoreUnavailable, StatementFailed
from fanion.events.storage.cluster_schema import ClusterSchema
from fanion.events.storage.cluster_shards import read_shards
from fanion.events.storage.migrate import check_schema, migrate_events
from fanion.events.storage.rows_read import count_rows_read
from fanion.events.storage.schema import SESSION_SETTINGS, VERSION
from fanion.events.storage.writes import Writes
from fanion.runtime.loaded_pages import release_loaded_pages

INSERT_LANES = 1  # two shared the same cores and merged more parts: no gain on 2 cores
READ_LANES = 4  # for callers that open lanes by themselves
READ_MEMORY_BYTES_MAX = 2 * 2**30
READ_SPILL_BYTES = READ_MEMORY_BYTES_MAX // 4
READ_SECONDS_MAX = 30
CONNECT_SECONDS_MAX = 5
ANSWER_SECONDS_MAX = 120
PROBE_SECONDS_MAX = 5  # for the first answer; without one, nothing more is tried

_MERGES: Final = "background_processing_pool_task_sleep_seconds_when_no_work"
_STREAMS: Final = "background_streaming_processing_pool_task_sleep_seconds_when_no_work"
# The engine's own defaults are meant for a dedicated machine (5 GB for each cache).
EMBEDDED_OPTIONS: Final = {
    "mark_cache_size": 128 * 2**20,
    "index_mark_cache_size": 64 * 2**20,
    "primary_index_cache_size": 64 * 2**20,
    "max_thread_pool_size": 500,
    # How often the engine compares its memory with the system's; with its usual 50 ms an idle
    # engine took 0.2 % of a core for that.
    "memory_worker_period_ms": 1_000,
    # Merges and mutations that take turns on the two threads of the engine, which looks for more
    # four times a second. With its usual four, a deletion passed ten parts a second.
    "background_merges_mutations_concurrency_ratio": 16,
    # Backoff between checks for work, per table, while there is none; an insert or a finished
    # merge resets it. With the default factor of 1.1 and up to a second of jitter, the engine
    # wakes up 75 times a second after a start and 20 times minutes later, and deletions, which
    # wait between checks, take up to twice as long. The second pool is never used: nothing is
    # streamed.
    f"{_MERGES}_multiplier": 2,
    f"{_MERGES}_random_part": 0.1,
    f"{_MERGES}_max": 60,
    f"{_STREAMS}_multiplier": 10,
}

# The niceness of threads that read, so that they give way to those that store events and answer
# flags.
READ_NICENESS: Final = 10

# A statement ON CLUSTER returns when every host has run it, and fails after a minute if one has
# not; it runs there later all the same.
CLUSTER_SETTINGS: Final[Mapping[str, int | str]] = {
    "distributed_ddl_output_mode": "none",
    "distributed_ddl_task_timeout": 60,
    # Answers without the events of a shard would look complete.
    "skip_unavailable_shards": 0,
}

READ_SETTINGS: Final = {
    "max_memory_usage": READ_MEMORY_BYTES_MAX,
    "max_bytes_before_external_group_by": READ_SPILL_BYTES,
    "max_bytes_before_external_sort": READ_SPILL_BYTES,
    "max_execution_time": READ_SECONDS_MAX,
    "optimize_read_in_order": 1,
}

# Codes by which the engine says that a value is at fault, not the store.
_POISON: Final = frozenset(
    (6, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 128, 131, 306, 321, 349, 376, 407)
)

# Codes by which a server says at the first request that the URL is wrong: the database does not
# exist, the user or password is not known, or the account lacks a right that is needed.
_NO_DATABASE: Final = 81
_NO_LOGIN: Final = frozenset((192, 193, 194, 516))
_NO_RIGHT: Final = 497

# Codes by which it says that the store as a whole does not answer now: it is shut down, full,
# read-only, overrun, cut off from its own parts, refuses the login, or cancels what runs.
_AWAY: Final = frozenset(
    (60, 81, 202, 209, 210, 225, 236, 242, 243, 252, 279, 394, 425, 439, 497, 516, 999)
)

CANCEL = """
  KILL QUERY
 WHERE query_kind = 'Select'
   AND position(query, {mark:String}) > 0
 ASYNC
"""

_T = TypeVar("_T")
Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that stores the events.

    Attributes:
        connect: Creates a client.
        where: Names the engine in messages.
        probe: Fails soon if nothing answers; None if connecting fails soon anyway.
        folder: The folder of the embedded engine.
        reads: The settings of the clients that read.
        cluster: How tables are made on its cluster; None for a single server.
        connect_to: Creates a client of another host of the cluster.
    """

    connect: Callable[[], Client]
    where: str
    probe: Callable[[], None] | None = None
    folder: Path | None = None
    reads: Mapping[str, int] = field(default_factory=dict)
    cluster: ClusterSchema | None = None
    connect_to: Callable[[str], Client] | None = None

    @property
    def on_cluster(self) -> str:
        """Return the clause by which a statement runs on every server; empty for one."""
        return "" if self.cluster is None else self.cluster.on_cluster


def engine_at(url: str) -> Engine:
    """Return the engine that a URL names.

    Raises:
        EventStoreUnavailable: The URL is not usable. The message is one line.
    """
    try:
        return _engine(url)
    except ValueError as error:
        raise EventStoreUnavailable(f"the events URL is not usable: {error}") from None


def open_clients(
    engine: Engine,
    reads: int = READ_LANES,
    check: Callable[[Client], None] = lambda _: None,
    *,
    makes_tables: bool = True,
) -> "tuple[list[Client], list[Client]]":
    """Connect, migrate, and return the clients for inserts and for reads.

    Args:
        reads: The number of clients for reads.
        check: Called before anything is changed.
        makes_tables: False if another process makes the tables, and this one waits for them.

    Raises:
        EventStoreUnavailable: The engine does not answer. The message is one line.
        SchemaRefused: Another version has made the tables.
        StartRefused: Retrying will not help.
    """
    clients: list[Client] = []
    try:
        clients.append(connect(engine))
        if engine.cluster is not None:
            read_shards(clients[0], engine.cluster.cluster, engine.where)
        version = check_schema(clients[0])
        if not makes_tables:
            _require_tables(engine, version)
        check(clients[0])
        migrate_events(clients[0], version, engine.cluster)
        clients.extend(engine.connect() for _ in range(INSERT_LANES + reads - 1))
        for client in clients[INSERT_LANES:]:
            apply_settings(client, {**READ_SETTINGS, **engine.reads})
    except (ClickHouseError, OSError) as error:
        close(clients)
        raise open_error(engine, error) from None
    except (SchemaRefused, StartRefused, EventStoreUnavailable):
        close(clients)
        raise
    if engine.folder is not None:
        _release_pages_of_engine()
    return clients[:INSERT_LANES], clients[INSERT_LANES:]


def _require_tables(engine: Engine, version: int) -> None:
    """Raise EventStoreUnavailable until the tables of this program are there."""
    if version < VERSION:
        raise EventStoreUnavailable(
            f"{engine.where} has no tables of this version yet; a server with the role jobs makes "
            "them"
        )


@cache
def _release_pages_of_engine() -> None:
    """Release the pages that loading the engine has read, once per process."""
    release_loaded_pages()


def connect(engine: Engine) -> Client:
    """Connect to the engine.

    Raises:
        EventStoreUnavailable: The engine does not answer. The message is one line.
        StartRefused: Retrying will not help.
    """
    # Checked before connecting, because the engine writes lines of its own to standard error.
    if engine.folder is not None and _is_used(engine.folder, by_others=True):
        raise _used_elsewhere(engine)
    try:
        if engine.probe is not None:
            engine.probe()
        return engine.connect()
    except (ClickHouseError, OSError) as error:
        if engine.folder is not None and _is_used(engine.folder):
            raise _used_elsewhere(engine) from None
        raise open_error(engine, error) from None


def _used_elsewhere(engine: Engine) -> StartRefused:
    return StartRefused(
        f"FANION_EVENTS_URL: {engine.where} is used by another process, and an embedded event "
        "store is opened by one; several servers need a ClickHouse server"
    )


def open_error(
    engine: Engine, error: Exception, setting: str = "FANION_EVENTS_URL"
) -> EventStoreUnavailable | StartRefused:
    """Return the error for a store that cannot be opened, by whether waiting may help.

    Args:
        setting: The setting that names the store.
    """
    code = getattr(error, "code", None)
    if code == _NO_DATABASE:
        why = "there is no such database"
    elif code in _NO_LOGIN:
        why = "the server refuses the user or the password"
    elif code == _NO_RIGHT:
        why = f"the account lacks a right: {_first_line(error)}"
    else:
        return EventStoreUnavailable(f"{engine.where} cannot be opened: {_first_line(error)}")
    return StartRefused(f"{setting}: {engine.where} cannot be used: {why}")


def _is_used(folder: Path, *, by_others: bool = False) -> bool:
    """Return whether the engine of a process has locked the folder.

    Args:
        by_others: Whether to ignore a lock of a process with this one's id. In containers, another
            process may have the same id.
    """
    try:
        with (folder / "status").open() as status:
            fcntl.flock(status, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return not (by_others and f"PID: {os.getpid()}\n" in (folder / "status").read_text())
    except OSError:  # no process has used it yet
        return False
    return False


def open_lanes(url: str) -> "tuple[Lanes, Lanes]":
    """Return opened lanes for inserts and for reads.

    Raises:
        EventStoreUnavailable: The engine does not answer. The message is one line.
        SchemaTooNew: A newer version has migrated the tables.
        StartRefused: Retrying will not help.
    """
    inserts, reads = Lanes("insert"), Lanes("read")
    for lanes, clients in zip((inserts, reads), open_clients(engine_at(url)), strict=True):
        lanes.open(clients)
    return inserts, reads


def close(clients: Sequence[Client]) -> None:
    for client in clients:
        client.close()


def engine_version(client: Client) -> str:
    """Return the engine's answer to `SELECT version()` when the client connected."""
    return client.server_version or ""


# Runs a statement and returns its rows.
Read = Callable[[str, Mapping[str, Any]], Awaitable[Rows]]


def read_rows(
    client: Client,
    statement: str,
    parameters: Mapping[str, Any],
    settings: Mapping[str, int] | None = None,
) -> Rows:
    answer = client.query(
        statement,
        dict(parameters),
        settings=dict(settings or {}),
        column_formats={"properties": "bytes"},
        tz_mode="aware",
    )
    return answer.result_rows


def mark_statement(statement: str, token: str) -> str:
    """Return the statement with a token by which `cancel_statement` finds it."""
    return statement.replace("SELECT", f"SELECT /* {token} */", 1)


def cancel_statement(client: Client, token: str) -> None:
    """Cancel a statement without waiting; it ends with its present block of rows."""
    client.command(CANCEL, {"mark": f"/* {token} */"})


def apply_settings(client: Client, settings: Mapping[str, int]) -> None:
    for name, value in settings.items():
        client.set_client_setting(name, value)


class Lanes:
    """Threads with clients. Each call has a client that no other call is using.

    Args:
        writes: Where each call counts as a write; None for lanes that only read.
    """

    def __init__(self, name: str, writes: Writes | None = None) -> None:
        self._name = name
        self._counted = nullcontext if writes is None else writes.count
        self._clients: Sequence[Client] = ()
        self._free: SimpleQueue[Client] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None
        self.took: Callable[[float], None] | None = None

    def open(self, clients: Sequence[Client]) -> None:
        self._clients = clients
        for client in clients:
            self._free.put(client)
        self._threads = ThreadPoolExecutor(len(clients), thread_name_prefix=f"events-{self._name}")

    async def run(self, work: Callable[..., _T], *arguments: Any) -> _T:
        if self._threads is None:
            raise EventStoreUnavailable("the event store is not open yet")
        try:
            running = self._threads.submit(self._with_client, work, arguments)
        except RuntimeError:
            raise EventStoreUnavailable("the event store is closed") from None
        started = perf_counter()
        try:
            return await asyncio.wrap_future(running)
        finally:
            if self.took is not None:
                self.took(perf_counter() - started)

    def _with_client(self, work: Callable[..., _T], arguments: tuple[Any, ...]) -> _T:
        client = self._free.get()
        try:
            with self._counted():
                return work(client, *arguments)
        except ClickHouseError as error:
            raise _public_error(error) from None
        except OSError as error:
            raise EventStoreUnavailable(f"{type(error).__name__}: {error}") from None
        finally:
            self._free.put(client)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True)
        close(self._clients)


def _public_error(error: ClickHouseError) -> EventRejected | EventStoreUnavailable:
    """Return the error to raise, with only the engine's name for the failure.

    The engine's message quotes statements and rows, hence users' data.
    """
    code, name = getattr(error, "code", None), getattr(error, "name", None)
    reason = f"{name or type(error).__name__} ({code})" if code else _first_line(error)
    if code in _POISON:
        return EventRejected(reason)
    if code and code not in _AWAY:
        return StatementFailed(reason, code)
    return EventStoreUnavailable(reason)


def is_poison(error: Exception) -> bool:
    """Return whether an error says that a value is at fault, not the store."""
    return getattr(error, "code", None) in _POISON


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _engine(url: str) -> Engine:
    parts = urlsplit(url)
    if parts.scheme == "chdb":
        return _embedded(parts)
    if parts.scheme in ("clickhouse", "clickhouses", "clickhouse+https"):
        return _server(parts, secure=parts.scheme != "clickhouse")
    raise ValueError("it must begin with chdb:/// or clickhouse://")


def _embedded(parts: SplitResult) -> Engine:
    if parts.netloc or not parts.path.startswith("/"):
        raise ValueError("chdb:// needs an absolute folder, as in chdb:///var/lib/fanion/events")
    if find_spec("chdb") is None:
        raise EventStoreUnavailable(
            "the embedded engine is not installed; `pip install fanion` installs it, or name a "
            "ClickHouse server in FANION_EVENTS_URL"
        )
    folder = Path(unquote(parts.path))
    database = parse_qs(parts.query).get("database", ["default"])[0]
    threads = max(1, (os.cpu_count() or 1) // 2)

    def connect() -> Client:
        folder.parent.mkdir(parents=True, exist_ok=True)
        client = get_client(
            interface="chdb",
            path=str(folder),
            settings={**SESSION_SETTINGS, "max_threads": threads},
            chdb_options=EMBEDDED_OPTIONS,
        )
        count_rows_read(client)
        client.command("CREATE DATABASE IF NOT EXISTS {name:Identifier}", {"name": database})
        client.database = database
        return client

    where = f"the event store in {folder}"
    reads = {"os_threads_nice_value_query": READ_NICENESS} if may_give_way() else {}
    return Engine(connect, where, folder=folder, reads=reads)


def may_give_way() -> bool:
    """Return whether a thread may lower its priority and raise it again.

    The engine itself only looks whether the process has CAP_SYS_NICE, which does not suffice in a
    user namespace, such as that of a rootless container; there it would end the process.
    """
    allowed: list[bool] = []

    def lower_and_raise() -> None:
        thread = threading.get_native_id()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, READ_NICENESS)
            os.setpriority(os.PRIO_PROCESS, thread, 0)
            allowed.append(True)

    # A thread of its own, which ends with the priority that it could not raise.
    tried = threading.Thread(target=lower_and_raise)
    tried.start()
    tried.join()
    return bool(allowed)


def _server(parts: SplitResult, *, secure: bool) -> Engine:
    if not parts.hostname:
        raise ValueError("clickhouse:// needs a host")
    database = unquote(parts.path.strip("/")) or "default"
    port = parts.port or (8443 if secure else 8123)
    cluster = parse_qs(parts.query).get("cluster", [""])[0]

    def connect(answer_s: int = ANSWER_SECONDS_MAX, host: str = parts.hostname or "") -> Client:
        return get_client(
            host=host,
            port=port,
            username=unquote(parts.username or "default"),
            password=unquote(parts.password or ""),
            database=database,
            secure=secure,
            settings={**SESSION_SETTINGS, **(CLUSTER_SETTINGS if cluster else {})},
            connect_timeout=CONNECT_SECONDS_MAX,
            send_receive_timeout=answer_s,
            autogenerate_session_id=False,
            form_encode_query_params=True,
        )

    def probe() -> None:
        connect(PROBE_SECONDS_MAX).close()

    where = f"the event store at {parts.hostname}:{port}, database {database},"
    if not cluster:
        return Engine(connect, where, probe)
    schema = ClusterSchema(cluster, database)
    return Engine(connect, where, probe, cluster=schema, connect_to=lambda host: connect(host=host))
