"""The command `fanion import-events`: events from files, sent to a server's capture."""

import csv
import os
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from fanion.cli.import_posthog import SEND_S, http_sink
from fanion.cli.imports.events_report import show_preview, show_progress
from fanion.cli.options import AsJson
from fanion.cli.output import printable, refuse, run_command, warn
from fanion.cli.progress import Bar, progress_bar
from fanion.runtime.clock import utc_now
from fanion.transfer.event_files.blocks_reader import EventRows, ImportedFiles
from fanion.transfer.event_files.comparison_client import (
    Target,
    TargetError,
    require_server,
)
from fanion.transfer.event_files.files.file_reader import SourceFile, open_sources
from fanion.transfer.event_files.files.rows import FIELD_CHARS_MAX
from fanion.transfer.event_files.files.rows_reader import GENERIC, Kind
from fanion.transfer.event_files.formats.amplitude import AmplitudeRows
from fanion.transfer.event_files.formats.mixpanel import MixpanelRows
from fanion.transfer.event_files.formats.posthog import PosthogRows
from fanion.transfer.event_files.formats.umami import UmamiRows
from fanion.transfer.event_files.import_service import EventImport
from fanion.transfer.event_files.mapping import (
    EventMapping,
    MappedRows,
    read_mapping,
    read_zone,
    write_mapping,
)
from fanion.transfer.event_files.model import FileProblem
from fanion.transfer.event_files.preview_reader import guess_of, preview_of
from fanion.transfer.event_files.progress_store import Progress, ProgressFile, job_of
from fanion.transfer.event_files.side_tables_store import SideTablesStore, load_side_tables
from fanion.transfer.posthog.sink_client import SinkError

ERRORS_MAX = 1000
NICENESS = 10  # a server on this machine comes first
BYTES_MAX = 4 * 1024**2


class Format(StrEnum):
    """The program that wrote the files, or their format."""

    POSTHOG = "posthog"
    MIXPANEL = "mixpanel"
    AMPLITUDE = "amplitude"
    UMAMI = "umami"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


@dataclass(frozen=True)
class FileOptions:
    """The options that say what the rows of the files mean."""

    paths: list[Path]
    kind: Kind
    map: Path | None
    zone: str | None
    website: str


def import_events(
    files: Annotated[
        list[Path], typer.Argument(help="Read in this order; also in gzip, Zstandard or zip.")
    ],
    source: Annotated[Format, typer.Option("--from", help="What wrote the files.")],
    host: Annotated[str, typer.Option(help="The server.")] = "http://127.0.0.1:8000",
    project: Annotated[
        int | None, typer.Option(help="The id of the project; needs a personal key.")
    ] = None,
    personal_key: Annotated[
        str | None,
        typer.Option(
            envvar="POSTHOG_PERSONAL_API_KEY",
            help="A key with project:read, event:read and query:read. The counts are compared.",
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The project key; without comparing the counts.")
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option("--map", help="A mapping for csv, jsonl and parquet.")
    ] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show the first events and the mapping; send nothing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read all rows and report; send nothing.")
    ] = False,
    zone: Annotated[
        str | None, typer.Option(help="The time zone of times without one; UTC by default.")
    ] = None,
    website: Annotated[str, typer.Option(help="Umami: the id of the only website to import.")] = "",
    max_errors: Annotated[
        int, typer.Option(min=0, help="The import ends after more refused rows.")
    ] = ERRORS_MAX,
    state: Annotated[
        Path | None,
        typer.Option(help="Where the progress is kept; FILE.import.json by default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import events from files.

    Rows become events with ids of their own, so that a second import of a file adds nothing. A run
    that was interrupted is continued by the same command.
    """
    csv.field_size_limit(FIELD_CHARS_MAX)
    options = FileOptions(files, source.value, mapping, zone, website)
    is_sent = not (preview or dry_run)
    if is_sent and (project is None) == (key is None):
        refuse("Give --project with a personal key, or --key.")
    if is_sent and project is not None and not personal_key:
        refuse("--project needs a personal key, in POSTHOG_PERSONAL_API_KEY or --personal-key.")
    server = Server(host, project, personal_key or "", key or "") if is_sent else None
    state_file = ProgressFile(state or files[0].with_name(f"{files[0].name}.import.json"))
    try:
        with SideTables(options) as tables:
            events, used = _event_rows(options, tables, preview)
            target = "" if server is None else f"{host} {project} {key}"
            meaning = "" if used is None else write_mapping(used)
            job = job_of(files, source.value, meaning, zone or "", website, target)
            imported = ImportedFiles(tables.sources, options.kind, events, job)
            if preview:
                show_preview(preview_of(imported), used, as_json)
                return
            run_command(_run(imported, server, state_file, max_errors, as_json))
    except FileProblem as problem:
        refuse(printable(str(problem)))


@dataclass(frozen=True)
class Server:
    """The server into which is imported, with either key."""

    host: str
    project: int | None
    personal_key: str
    key: str


class SideTables:
    """The files of an import, opened, with those of them that are tables beside the events."""

    def __init__(self, options: FileOptions) -> None:
        self._options = options
        self.sources: list[SourceFile] = []
        self.store = SideTablesStore()

    def __enter__(self) -> "SideTables":
        self.sources = open_sources(self._options.paths)
        if self._options.kind == "umami":
            load_side_tables(self.store, self.sources)
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()


def _event_rows(
    options: FileOptions, tables: SideTables, is_preview: bool
) -> tuple[EventRows, EventMapping | None]:
    """Return what makes events of rows, and the mapping that it uses, if any."""
    now = utc_now()
    zone = None if options.zone is None else read_zone(options.zone)
    if options.kind not in GENERIC and options.map is not None:
        raise FileProblem(f"--map is for {', '.join(GENERIC)}; {options.kind} has its own.")
    if options.website and options.kind != "umami":
        raise FileProblem("--website is for Umami.")
    match options.kind:
        case "posthog":
            return PosthogRows(now, zone), None
        case "mixpanel":
            return MixpanelRows(now, zone), None
        case "amplitude":
            return AmplitudeRows(now, zone), None
        case "umami":
            return UmamiRows(now, tables.store, options.website, zone), None
        case _:
            mapping = _mapping(options, tables, is_preview)
            return MappedRows(mapping, now, zone), mapping


def _mapping(options: FileOptions, tables: SideTables, is_preview: bool) -> EventMapping:
    if options.map is not None:
        try:
            return read_mapping(options.map.read_bytes(), options.map.name)
        except OSError as error:
            raise FileProblem(f"{options.map} cannot be read: {error.strerror}") from None
    guess = guess_of(tables.sources, options.kind)
    if guess.mapping is None or not (is_preview or guess.is_certain):
        raise FileProblem(
            "The columns are not called event, timestamp and distinct_id: --preview shows a "
            "mapping, which you save, correct and give with --map."
        )
    return guess.mapping


# ── The import ───────────────────────────────────────────────────────────────────────────


async def _run(
    files: ImportedFiles,
    server: Server | None,
    state: ProgressFile,
    max_errors: int,
    as_json: bool,
) -> None:
    async with AsyncExitStack() as stack:
        target = None if server is None else await _target(stack, server)
        sink = None
        begun_at = utc_now()
        if server is not None:
            try:
                if target is None:
                    token = server.key
                    await require_server(server.host)
                else:
                    token, begun_at = await target.project_key(), await target.now()
            except TargetError as error:
                refuse(printable(str(error)))
            sink = await http_sink(stack, server.host, token, BYTES_MAX)
        progress = Progress(files.job) if sink is None else state.load(files.job)
        is_done = progress.is_finished
        problem = ""
        if is_done:
            warn(f"this import is finished; {state.path} says so. Delete it to send all again.")
        else:
            problem = await _import(files, sink, state, progress, max_errors)
        comparison = None
        if target is not None and not problem:
            try:
                comparison = await target.compare(progress, begun_at)
            except TargetError as error:
                problem = f"the counts cannot be compared: {error}"
        show_progress(progress, comparison, is_sent=sink is not None, as_json=as_json)
        if problem:
            again = "" if progress.is_finished or sink is None else " Run it again to continue."
            refuse(printable(problem + again))
        if progress.refused or progress.too_large or (comparison and comparison.differences):
            raise typer.Exit(1)


async def _target(stack: AsyncExitStack, server: Server) -> Target | None:
    if server.project is None:
        return None
    client = httpx.AsyncClient(
        base_url=server.host,
        headers={"authorization": f"Bearer {server.personal_key}"},
        timeout=SEND_S,
        trust_env=False,
    )
    return Target(await stack.enter_async_context(client), server.project)


async def _import(
    files: ImportedFiles,
    sink: Any,
    state: ProgressFile,
    progress: Progress,
    max_errors: int,
) -> str:
    """Run the import, and return why it ended early."""
    if sink is not None:
        os.nice(NICENESS)
    total = sum(source.stored_bytes for source in files.sources)
    with progress_bar("Importing", "events") as bar:
        bar.expect(total)

        def report(progress: Progress) -> None:
            _move(bar, files, progress)

        run = EventImport(files, sink, state, progress, max_errors, time.monotonic, report)
        try:
            await run.run()
        except (FileProblem, SinkError) as error:
            return str(error)
    return ""


def _move(bar: Bar, files: ImportedFiles, progress: Progress) -> None:
    """Move the bar by the size of the files; within a compressed one the place is not known."""
    before = sum(source.stored_bytes for source in files.sources[: progress.file])
    source = files.sources[progress.file]
    within = 0 if source.is_compressed or source.path else progress.end
    bar.reach(before + within, progress.events)
