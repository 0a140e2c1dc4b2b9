"""The command `fanion events export`: events of a running server, written to files."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fanion.backup.destination import open_destination
from fanion.cli.exports.options import (
    Format,
    From,
    Host,
    ProjectId,
    To,
    read_choice,
    read_time,
    run_export,
    time_text,
)
from fanion.cli.options import AsJson, Data
from fanion.cli.output import refuse
from fanion.cli.progress import Bar, progress_bar
from fanion.events.storage.export_query import ExportFormat
from fanion.exports.download_client import Download, PageReader, Progress
from fanion.exports.intervals.client import RegularExport
from fanion.exports.intervals.model import EVERY, Every
from fanion.exports.model import FORMATS
from fanion.runtime.clock import utc_now

events = typer.Typer(help="The events of a project.", no_args_is_help=True)


@events.callback()
def _events() -> None:
    """Let the group have a single command."""


@events.command("export")
def export_events(
    project: ProjectId,
    output: Annotated[
        str,
        typer.Option(
            help="The file to write; with --format parquet a folder of files; with --every a "
            "folder, or s3://bucket/prefix."
        ),
    ],
    personal_key: Annotated[
        str,
        typer.Option(
            envvar="POSTHOG_PERSONAL_API_KEY", help="A user's key with the scope event:read."
        ),
    ],
    host: Host = None,
    start: From = None,
    end: To = None,
    event: Annotated[str | None, typer.Option(help="Only events of this name.")] = None,
    file_format: Format = "csv",
    every: Annotated[
        str | None,
        typer.Option(help="hour or day: write each one that is over and not written yet."),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write events to a file, or in Parquet to a folder of files.

    If the command is interrupted, run it again with the same options: it continues where it ended.
    With --every, events are chosen by the time at which they were accepted, and each hour or day is
    written once: run the command as often.
    """
    options = _Options(
        project=f"/api/projects/{project}",
        format=read_choice(file_format, FORMATS, "--format"),
        start=read_time(start, "--from"),
        end=read_time(end, "--to"),
        event=event,
        every=None if every is None else read_choice(every, EVERY, "--every"),
    )
    if options.every and options.end:
        refuse("--to cannot be used with --every")
    write = _write_intervals if options.every else _write_file
    write_output = partial(write, options=options, output=output)
    run_export(write_output, host, data, personal_key, as_json=as_json)


@dataclass(frozen=True)
class _Options:
    """The options of the command; `project` is its address."""

    project: str
    format: ExportFormat
    start: datetime | None
    end: datetime | None
    event: str | None
    every: Every | None

    def query(self, **times: str | None) -> dict[str, str]:
        query = {"format": self.format, **times, "event": self.event}
        return {name: value for name, value in query.items() if value}


async def _write_file(pages: PageReader, options: _Options, output: str) -> list[dict[str, Any]]:
    query = options.query(start_at=time_text(options.start), end_at=time_text(options.end))
    path = f"{options.project}/events/export/"
    with progress_bar("Exporting events", "events") as bar:
        show = partial(_show, bar, options.start, options.end)
        download = Download(pages, path, query, options.format, Path(output), show)
        progress = await download.run()
    return [{"rows": progress.rows, "output": output}]


async def _write_intervals(
    pages: PageReader, options: _Options, output: str
) -> list[dict[str, Any]]:
    bucket, project = open_destination(output), options.project.rpartition("/")[2]
    assert options.every is not None
    with progress_bar("Exporting events", "events") as bar:
        export = RegularExport(
            pages,
            options.project,
            bucket,
            f"project-{project}",
            options.every,
            options.query(),
            lambda manifest: bar.advance(manifest.rows),
        )
        written = await export.run(options.start, utc_now())
    return [
        {"start": each.start.isoformat(), "rows": each.rows, "files": len(each.files)}
        for each in written
    ]


def _show(bar: Bar, first: datetime | None, last: datetime | None, progress: Progress) -> None:
    """Show how many of the days are written, if it is known which there are."""
    if first is None or last is None or progress.day is None:
        bar.reach(0, progress.rows)
        return
    bar.expect((last - first) / timedelta(days=1))
    bar.reach((progress.day - first.date()).days, progress.rows)
