"""The checks of both stores for `fanion doctor`.

They say whether the stores answer, belong together, and have the same time as this machine.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from fanion.accept_log.port import sum_backlogs
from fanion.accept_log.spool_folder import files_in
from fanion.accept_log.sqlite_file import check_mark
from fanion.app.clocks import DIFFERENCE_S_MAX, ahead_of_records_s, ahead_s, difference_text
from fanion.cli.doctor.engine_failure import DAMAGE_ADVICE, EngineFailed, engine_failures
from fanion.cli.doctor.kafka import examine_kafka
from fanion.cli.doctor.validation import (
    InvalidRow,
    find_invalid_cohorts,
    find_invalid_flags,
    find_invalid_insights,
)
from fanion.config import PREFIX, Role, Settings
from fanion.db.engine import Records, RecordsRefused, RecordsUnavailable, open_records
from fanion.db.file_check import ADVICE, FileReport, damage_text, examine_file
from fanion.db.migrate import NEWEST, read_schema, schema_is_current
from fanion.errors import SchemaRefused, StartRefused
from fanion.events.event import EventStoreUnavailable
from fanion.events.ownership_store import (
    GONE_ADVICE,
    NO_EVENTS,
    ForeignEventStore,
    Installation,
    gone_text,
    is_empty,
    read_installation,
)
from fanion.events.storage.client import engine_at
from fanion.events.storage.cluster_health import ClusterHealth, problems, risks, size_text
from fanion.events.storage.inspection import Inspected, inspect_event_store
from fanion.events.storage.sql_user import SqlUser
from fanion.events.storage.store import cost_of_text
from fanion.ingest.ledger.comparison import ADVICE as ADVICE_ON_LOSS
from fanion.ingest.ledger.comparison import (
    Counted,
    complete_text,
    counted_time,
    missing_events,
    missing_text,
)
from fanion.ingest.ledger.comparison_store import read_ledger
from fanion.runtime.clock import utc_now
from fanion.runtime.data_dir import FolderHolder, events_folder, records_file
from fanion.web.probes import State

# PostgreSQL is away for longer, or something else prevents the server from sending.
SPOOL_S_MAX = 300.0
INVALID_LISTED_MAX = 20  # of each: flags, cohorts, insights


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    ok: bool
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The server that runs on the data folder, if one does.

    Attributes:
        holder: The process that has locked the folder; None if no process has.
        checks: The state of each store, as the server reports it; empty without an answer.
        failure: Why there was no answer.
    """

    holder: FolderHolder | None = None
    is_ready: bool = False
    checks: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""


_Check = Callable[[Settings], Awaitable[Sequence[Finding]]]


async def examine_stores(
    settings: Settings, server: RunningServer, problems: Mapping[str, str]
) -> list[Finding]:
    """Return the findings about the stores.

    Args:
        problems: The settings that are wrong, by name. A store whose setting is wrong is not
            checked.
    """
    are_records_named = "database_url" not in problems
    path = records_file(settings) if are_records_named else None
    file = None if path is None else await asyncio.to_thread(examine_file, path)
    damaged = [] if path is None or file is None else _damage_findings("records store", path, file)
    checks: dict[str, _Check] = {
        "records store": partial(_check_records, "" if file is None else f"; {file.checked}"),
        "flags": partial(_check_definitions, "flags", find_invalid_flags),
        "cohorts": partial(_check_definitions, "cohorts", find_invalid_cohorts),
        # Dashboards are checked with them.
        "insights": partial(_check_definitions, "insights", find_invalid_insights),
        "records clock": _check_records_clock,
        "accept log": _check_accept_log if settings.kafka is None else _check_kafka,
    }
    if not are_records_named:
        checks = {"records store": partial(_not_checked, "records store", "DATABASE_URL")}
    elif damaged:  # the other checks would read the damaged file
        checks = {"accept log": _check_accept_log_alone}
    if settings.has_spool:
        checks["spool"] = partial(_check_spool, server)
    checks["event store"] = partial(_check_events, server, are_records_named and not damaged)
    if "events_url" in problems:
        checks["event store"] = partial(_not_checked, "event store", "EVENTS_URL")
    elif settings.events_sql_url and Role.API in settings.roles:
        checks["SQL user"] = _check_sql_user
    findings = damaged
    for what, check in checks.items():
        findings += await _run_check(what, check, settings)
    return findings


def _damage_findings(what: str, path: Path, file: FileReport) -> list[Finding]:
    """Return a finding if the file of an embedded store is damaged anywhere."""
    damage = file.damage
    return [Finding(what, False, damage_text(path, damage), ADVICE)] if damage else []


async def _check_accept_log_alone(settings: Settings) -> Sequence[Finding]:
    """Check the accept log for damage only, because the records cannot say whose it is."""
    path = settings.accept_log_path
    return _damage_findings("accept log", path, await asyncio.to_thread(examine_file, path))


async def _not_checked(what: str, setting: str, _: Settings) -> Sequence[Finding]:
    return [Finding(what, True, f"not checked: {PREFIX}{setting} is wrong")]


async def _run_check(what: str, check: _Check, settings: Settings) -> Sequence[Finding]:
    try:
        return await check(settings)
    except (SchemaRefused, StartRefused) as error:
        return [Finding(what, False, str(error))]
    except RecordsRefused as error:
        advice = "Correct the user, the password or the database in FANION_DATABASE_URL."
        return [Finding(what, False, f"PostgreSQL answers and refuses: {error}", advice)]
    except (RecordsUnavailable, EventStoreUnavailable, OSError, ValueError) as error:
        advice = "Check that it runs, its URL, and that no other process holds the data folder."
        return [Finding(what, False, str(error), advice)]


async def _check_records(checked: str, settings: Settings) -> Sequence[Finding]:
    """Check the schema.

    Args:
        checked: What was checked of the store's file, to be added to the finding.
    """
    what = "records store"
    if _is_missing(records_file(settings)):
        advice = "`fanion serve` or `fanion setup` creates it. If it exists elsewhere, set --data."
        return [Finding(what, False, f"{records_file(settings)} does not exist", advice)]
    async with _opened_records(settings) as records:
        revision, pending = await read_schema(settings.records_url)
        if pending:
            text = f"migrations are pending: {', '.join(pending)}"
            return [Finding(what, False, text, "Run `fanion migrate`.")]
        schema = "schema up to date"
        if revision > NEWEST:
            schema = f"schema {revision}, newer than {NEWEST} of this version, which may use it"
        return [Finding(what, True, f"{records.dialect}, {schema}{checked}")]


@asynccontextmanager
async def _opened_records(settings: Settings) -> AsyncGenerator[Records]:
    records = await open_records(settings.records_url)
    try:
        yield records
    finally:
        await records.close()


def _is_missing(path: Path | None) -> bool:
    """Return whether an embedded store does not exist; opening it would create it."""
    return path is not None and not path.exists()


async def _check_definitions(
    what: str, find: Callable[[Records], Awaitable[Sequence[InvalidRow]]], settings: Settings
) -> Sequence[Finding]:
    """Return a finding about stored definitions, unless the schema is another version's.

    Args:
        find: Reads tables with the columns that this version knows.
    """
    if _is_missing(records_file(settings)):
        return [Finding(what, True, "not checked: there is no records store")]
    if not await schema_is_current(settings.records_url):
        return [Finding(what, True, "not checked: the schema is another version's")]
    async with _opened_records(settings) as records:
        return [definitions_finding(what, await find(records))]


def definitions_finding(what: str, invalid: Sequence[InvalidRow]) -> Finding:
    """Return the finding about a kind's stored definitions.

    It is never a failure: definitions that the current validation would refuse still work.
    """
    if not invalid:
        return Finding(what, True, "all are valid")
    listed = [
        f"project {row.project_id}, {row.name}: {row.why}" for row in invalid[:INVALID_LISTED_MAX]
    ]
    more = len(invalid) - INVALID_LISTED_MAX
    if more > 0:
        listed.append(f"and {more} more")
    advice = "They still work. Whoever changes one must make it valid."
    return Finding(what, True, "; ".join(listed), advice)


async def _check_records_clock(settings: Settings) -> Sequence[Finding]:
    """Compare the clocks, except with SQLite, which has no clock of its own."""
    if records_file(settings) is not None:
        return []
    async with _opened_records(settings) as records:
        found_s = await ahead_of_records_s(records, utc_now)
    return [_clock_finding("records clock", found_s, "PostgreSQL")]


def _clock_finding(what: str, found_s: float, other: str) -> Finding:
    ok = abs(found_s) <= DIFFERENCE_S_MAX
    advice = "" if ok else "Set both clocks, for example with an NTP client."
    return Finding(what, ok, difference_text(found_s, other), advice)


async def _check_accept_log(settings: Settings) -> Sequence[Finding]:
    """Check an accept log that is a file; in PostgreSQL it is a part of the records."""
    if records_file(settings) is None or not settings.accept_log_path.exists():
        return []
    path = settings.accept_log_path
    file = await asyncio.to_thread(examine_file, path)
    if file.damage:
        return _damage_findings("accept log", path, file)
    if (installation := await _read_own_installation(settings)) is None:
        return []
    check_mark(path, str(installation.id))
    return [Finding("accept log", True, f"belongs to these records; {file.checked}")]


async def _check_kafka(settings: Settings) -> Sequence[Finding]:
    """Check the topics of an accept log in Kafka, and the positions in them."""
    address = settings.kafka
    assert address is not None, "the accept log is in Kafka"
    async with _opened_records(settings) as records:
        examined = await examine_kafka(address, records)
    return [Finding("accept log", not examined.advice, examined.text, examined.advice)]


async def _check_spool(server: RunningServer, settings: Settings) -> Sequence[Finding]:
    """Check what was accepted while PostgreSQL was away, and is not sent on yet."""
    files = await asyncio.to_thread(files_in, settings.spool_path)
    waiting = sum_backlogs(files.values())
    if not waiting.envelopes:
        return [Finding("spool", True, "empty")]
    age_s = waiting.age_s(utc_now())
    text = (
        f"{waiting.envelopes} requests of {waiting.bytes / 1024**2:.1f} MiB wait in "
        f"{settings.spool_path}, the oldest for {age_s:.0f} s"
    )
    if server.holder is None:
        advice = "The next `fanion serve` on this folder sends them on."
        return [Finding("spool", False, text, advice)]
    is_late = age_s > SPOOL_S_MAX
    advice = "See spool_not_sent and spool_file_kept in the server's log." if is_late else ""
    return [Finding("spool", not is_late, text, advice)]


async def _read_own_installation(settings: Settings) -> Installation | None:
    """Return None if the installation cannot be read, which the check of the records reports."""
    if _is_missing(records_file(settings)):
        return None
    with suppress(RecordsUnavailable):
        if await schema_is_current(settings.records_url):
            async with _opened_records(settings) as records:
                return await read_installation(records)
    return None


async def _check_events(
    server: RunningServer, are_records_named: bool, settings: Settings
) -> Sequence[Finding]:
    what, folder = "event store", events_folder(settings)
    if settings.roles == {Role.WEB}:
        return [Finding(what, True, "not checked: the role web needs none")]
    if folder is not None and server.holder is not None:
        return [_events_in_use(server)]
    installation = await _read_own_installation(settings) if are_records_named else None
    if folder is not None and is_empty(folder):
        return [_without_events(settings, folder, installation)]
    now = utc_now()
    # Read the ledger first: events are stored before they are counted.
    counted = None if installation is None else await _read_own_ledger(settings, now)
    try:
        with nullcontext() if folder is None else engine_failures(folder):
            inspected, found_s = await _inspect_events(settings, installation, now)
    except EngineFailed as error:
        return [Finding(what, False, str(error), DAMAGE_ADVICE)]
    # Of the embedded engine the finding about versions tells, whether or not a server uses it.
    advice = "" if folder is not None else cost_of_text(inspected.version)
    findings = [Finding(what, True, f"answers, {_belongs_to(inspected, installation)}", advice)]
    if inspected.cluster is not None:
        findings.append(cluster_finding(inspected.cluster))
    if counted is not None and inspected.is_marked and inspected.accepted is not None:
        findings.append(_compare_counts(counted, inspected.accepted))
    if inspected.session_rows:
        findings.append(Finding("session rows", True, inspected.session_rows))
    if inspected.property_columns:
        findings.append(Finding("property columns", True, inspected.property_columns))
    if folder is None:
        findings.append(_clock_finding("events clock", found_s, "the event store"))
    return findings


async def _check_sql_user(settings: Settings) -> Sequence[Finding]:
    """Check what the user sees by whom SQL of people runs."""
    user = SqlUser(engine_at(settings.events_sql_url))
    try:
        await asyncio.to_thread(user.open, 1)
    finally:
        user.lanes.close()
    return [Finding("SQL user", True, "sees one project, and cannot write")]


async def _read_own_ledger(settings: Settings, now: datetime) -> Counted:
    async with _opened_records(settings) as records:
        return await read_ledger(records, now)


def cluster_finding(health: ClusterHealth) -> Finding:
    """Return the finding about a ClickHouse cluster. A risk is no failure."""
    size, found = size_text(health), problems(health)
    if not found:
        return Finding("event cluster", True, f"{size}, all tables", " ".join(risks(health)))
    advice = "See docs/clickhouse-cluster.md, and the logs of these servers."
    return Finding("event cluster", False, f"{size}; {'; '.join(found)}", advice)


def _compare_counts(counted: Counted, accepted: Mapping[int, int]) -> Finding:
    missing = missing_events(counted, accepted)
    if missing:
        return Finding("stored events", False, missing_text(counted, missing), ADVICE_ON_LOSS)
    return Finding("stored events", True, complete_text(counted))


def _without_events(settings: Settings, folder: Path, installation: Installation | None) -> Finding:
    if installation is None or installation.event_store is None:
        text = "does not exist yet; the first `fanion serve` creates it"
        return Finding("event store", True, text)
    if records_file(settings) is None:  # the file may be on another server
        return Finding("event store", False, str(ForeignEventStore(str(folder), NO_EVENTS)))
    return Finding("event store", False, gone_text(str(folder)), GONE_ADVICE)


async def _inspect_events(
    settings: Settings, installation: Installation | None, now: datetime
) -> tuple[Inspected, float]:
    """Return what the event store holds, and by how many seconds this machine's clock is ahead."""
    results: list[Inspected] = []

    async def ask() -> datetime:
        url = settings.event_store_url
        accepted = counted_time(now)
        results.append(await asyncio.to_thread(inspect_event_store, url, installation, accepted))
        return results[0].now

    found_s = await ahead_s(utc_now, ask)
    return results[0], found_s


def _belongs_to(inspected: Inspected, installation: Installation | None) -> str:
    if not inspected.is_marked:
        return "belongs to no installation yet"
    return "not compared with the records" if installation is None else "belongs to these records"


def _events_in_use(server: RunningServer) -> Finding:
    """Return the state that the server reports: only one process can open the embedded engine."""
    state = server.checks.get("events")
    if state is None:
        return Finding("event store", True, "not checked: another process uses it")
    return Finding(
        "event store", state == State.OK, f"{state}, according to the server that uses it"
    )
