"""The command `fanion import-posthog`: copies a project from a server with PostHog's API."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import httpx
import msgspec
import typer

from fanion import __version__
from fanion.accept_log.port import AcceptLog
from fanion.activity.model import Author
from fanion.app.accept_logs import open_log
from fanion.cli.options import AsJson, Data
from fanion.cli.output import printable, refuse, settings_of, with_records, write_out
from fanion.cli.progress import Bar, progress_bar
from fanion.cli.transfer import (
    COHORT_MEMBER,
    DryRun,
    Email,
    author_of,
    import_into,
    project_of,
    report_as_json,
    show_report,
)
from fanion.config import Settings
from fanion.db.engine import Records, RecordsUnavailable
from fanion.ingest.capture.endpoints import ADDRESS_HEADER, NO_ADDRESS
from fanion.ingest.pipeline.position_store import HISTORICAL, is_ingested, lane_backlog
from fanion.projects.model import Project
from fanion.runtime.clock import utc_now
from fanion.runtime.data_dir import DataDirLocked, lock_data_dir, require_data_dir
from fanion.transfer.document import Document
from fanion.transfer.posthog.client import Source, SourceError, open_source
from fanion.transfer.posthog.copy_events import Copied, EventCopy
from fanion.transfer.posthog.event_pages import EventPages
from fanion.transfer.posthog.instant_events import Instants
from fanion.transfer.posthog.reader import read_source
from fanion.transfer.posthog.sink_client import (
    HttpSink,
    LogSink,
    ProgressStore,
    Sink,
    SinkError,
)
from fanion.transfer.report import Report

SEND_S = 60.0

Time = Annotated[str | None, typer.Option(help="ISO 8601; compared with the events' own time.")]


@dataclass(frozen=True)
class ImportOptions:
    """The options of the command.

    Attributes:
        since: None unless events are copied.
        until: Used only if events are copied.
    """

    project_id: int
    email: str | None
    dry_run: bool
    events: bool
    since: datetime | None
    until: datetime


@dataclass
class ImportOutcome:
    """The result of an import.

    Attributes:
        problem: Why the events could not be copied to their end.
    """

    report: Report
    copied: Copied | None = None
    problem: str = ""


def import_posthog(
    host: Annotated[str, typer.Option(help="The source, such as https://eu.posthog.com.")],
    personal_key: Annotated[
        str,
        typer.Option(
            envvar="POSTHOG_PERSONAL_API_KEY", help="A user's key that may read everything."
        ),
    ],
    project: Annotated[str, typer.Option(help="The project's id at the source.")],
    into: Annotated[int, typer.Option(help="The id of the project to import into.")],
    events: Annotated[bool, typer.Option("--events", help="Also copy its events.")] = False,
    since: Time = None,
    until: Time = None,
    dry_run: DryRun = False,
    email: Email = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Import a project's definitions from PostHog, or from another Fanion.

    Works like `fanion import`. What cannot be used here is skipped and reported with the reason.
    Events keep their ids and times: a second copy adds nothing, and continues where the first one
    ended.
    """
    options = _read_options(into, email, dry_run, events, since, until)
    settings = settings_of(data=data)

    async def work(records: Records) -> ImportOutcome:
        async with open_source(host, personal_key, project) as source:
            return await _Import(settings, records, source, options).run()

    try:
        outcome = with_records(settings, work)
    except SourceError as error:
        refuse(printable(str(error)))
    _print_outcome(outcome, options, as_json)


@dataclass(frozen=True)
class _Import:
    settings: Settings
    records: Records
    source: Source
    options: ImportOptions

    async def run(self) -> ImportOutcome:
        """Import the definitions, and then the events if requested.

        Raises:
            SourceError: The source cannot be read; nothing has been written.
        """
        author = await author_of(self.records, self.options.project_id, self.options.email)
        report = Report()
        with progress_bar("Reading the source", "objects") as bar:
            document = await read_source(self.source, report, bar.advance)
        left_out = list(report.outcomes)
        imported = await import_into(self.records, author, document, self.options.dry_run)
        outcome = ImportOutcome(Report([*left_out, *imported.outcomes]))
        if self.options.events and not self.options.dry_run:
            try:
                await self._copy_events(author, document, outcome)
            except (SourceError, SinkError, RecordsUnavailable) as error:
                outcome.problem = str(error)
        return outcome

    async def _copy_events(
        self, author: Author, document: Document, outcome: ImportOutcome
    ) -> None:
        """Copy the events, then import missing members of static cohorts again.

        Some members exist only once their events are ingested.
        """
        options, instants = self.options, Instants(EventPages(self.source))
        progress = ProgressStore(self.records, options.project_id, self.source.name)
        project = await project_of(self.records, options.project_id)
        async with self._sink(project) as sink:
            with progress_bar("Copying events", "events") as bar:
                report = partial(_move_bar, bar, options.until)
                copy = EventCopy(
                    instants, sink, progress, utc_now, options.since, options.until, report
                )
                outcome.copied = copy.copied
                await copy.run()
            if _misses_members(outcome.report) and await sink.await_ingestion():
                again = await import_into(self.records, author, document, dry_run=False)
                outcome.report = _with_members_of(outcome.report, again)

    @asynccontextmanager
    async def _sink(self, project: Project) -> AsyncGenerator[Sink]:
        """Yield where to send events: the server that has locked the data folder, or the log.

        A log in PostgreSQL is shared; a file belongs to the process that locked the folder.
        """
        bytes_max = self.settings.body_bytes_max
        is_shared = self.records.dialect == "postgresql"
        async with AsyncExitStack() as stack:
            serving = None if is_shared else _lock_data_folder(stack, self.settings)
            if serving is not None:
                yield await http_sink(stack, serving, project.api_token, bytes_max)
                return
            log = await open_log(self.settings, self.records)
            stack.push_async_callback(log.close)
            ingested = partial(_is_ingested, self.records, log) if is_shared else None
            yield LogSink(log, project, utc_now, bytes_max, ingested)


async def _is_ingested(records: Records, log: AcceptLog, entry_id: int) -> bool:
    """Return whether all imports up to an entry are ingested; in Kafka, whether all are."""
    if not log.positions_prefix:
        return await is_ingested(records, entry_id, HISTORICAL)
    return not (await lane_backlog(records, log, HISTORICAL)).envelopes


def _lock_data_folder(stack: AsyncExitStack, settings: Settings) -> str | None:
    """Lock the data folder, or return the address of the server that has locked it."""
    require_data_dir(settings)
    try:
        stack.enter_context(lock_data_dir(settings))
    except DataDirLocked as taken:
        if not taken.address:
            refuse(str(taken))
        return taken.address
    return None


async def http_sink(stack: AsyncExitStack, address: str, project_key: str, bytes_max: int) -> Sink:
    headers = {
        "content-type": "application/json",
        "user-agent": f"fanion/{__version__}",
        # Without this header, events without an address would get the address of this process.
        ADDRESS_HEADER: NO_ADDRESS,
    }
    client = httpx.AsyncClient(base_url=address, headers=headers, timeout=SEND_S, trust_env=False)
    return HttpSink(await stack.enter_async_context(client), project_key, bytes_max)


def _misses_members(report: Report) -> bool:
    return any(
        outcome.kind == COHORT_MEMBER and outcome.result == "skipped" for outcome in report.outcomes
    )


def _with_members_of(report: Report, again: Report) -> Report:
    others = [outcome for outcome in report.outcomes if outcome.kind != COHORT_MEMBER]
    return Report(
        [*others, *(outcome for outcome in again.outcomes if outcome.kind == COHORT_MEMBER)]
    )


def _read_options(
    into: int,
    email: str | None,
    dry_run: bool,
    events: bool,
    since: str | None,
    until: str | None,
) -> ImportOptions:
    if (since or until) and not events:
        refuse("--since and --until only apply to events: add --events.")
    now = utc_now()
    start, end = _parse_time("since", since), _parse_time("until", until) or now
    if start is not None and start >= end:
        refuse("--since must be before --until, and before now.")
    return ImportOptions(into, email, dry_run, events, start, min(end, now))


def _parse_time(name: str, text: str | None) -> datetime | None:
    """Parse an ISO 8601 time, taken as UTC if it has no zone."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        refuse(f"--{name}: {text!r} is not a time such as 2024-01-31 or 2024-01-31T12:00:00Z.")


def _move_bar(bar: Bar, until: datetime, copied: Copied, at: datetime) -> None:
    """Move the bar along the time of the events, because their number is not known."""
    if copied.start is not None:
        bar.expect((until - copied.start).total_seconds())
        bar.reach((at - copied.start).total_seconds(), copied.events)


def _print_outcome(outcome: ImportOutcome, options: ImportOptions, as_json: bool) -> None:
    if as_json:
        report = report_as_json(outcome.report, options.dry_run)
        report["events"] = None if outcome.copied is None else asdict(outcome.copied)
        write_out(msgspec.json.encode(report) + b"\n")
    else:
        show_report(outcome.report, options.dry_run)
        if outcome.copied is not None:
            _show_copied(outcome.copied)
    if outcome.problem:
        problem = outcome.problem.removesuffix(".")
        refuse(printable(f"{problem}. Run it again to continue from there"))
    if outcome.copied is not None and not outcome.copied.is_complete:
        raise typer.Exit(1)


def _show_copied(copied: Copied) -> None:
    events = copied.earlier + copied.events
    if copied.start is None and not copied.counted:
        print("The source has no events.")
        return
    print(f"{copied.events} events were handed in to be ingested in the background.")
    if copied.earlier:
        print(f"{copied.earlier} events were handed in before, {events} in all.")
    if copied.unreadable:
        print(f"{copied.unreadable} events were left out: their fields cannot be read.")
    if copied.too_large:
        print(f"{copied.too_large} events were left out: they are larger than a request may be.")
    for moment in copied.incomplete:
        print(printable(f"incomplete {moment}: the source cannot list all events of that time"))
    if copied.counted is None:
        print(printable(f"The source's own count is not known: {copied.uncounted}"))
    elif copied.differs:
        print(f"The source counts {copied.counted} events, but {events} were handed in.")
    else:
        print(f"The source counts {copied.counted} events.")
