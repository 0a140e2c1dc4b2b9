"""The commands `fanion persons export` and `fanion groups export`."""

from pathlib import Path
from typing import Annotated, Any

import typer

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
from fanion.cli.progress import progress_bar
from fanion.exports.download_client import Download, PageReader
from fanion.exports.model import FORMATS

Output = Annotated[
    Path, typer.Option(help="The file to write; with --format parquet a folder of files.")
]
PersonKey = Annotated[
    str,
    typer.Option(
        envvar="POSTHOG_PERSONAL_API_KEY", help="A user's key with the scope person:read."
    ),
]
GroupKey = Annotated[
    str,
    typer.Option(envvar="POSTHOG_PERSONAL_API_KEY", help="A user's key with the scope group:read."),
]

persons = typer.Typer(help="The persons of a project.", no_args_is_help=True)
groups = typer.Typer(help="The groups of a project.", no_args_is_help=True)


@persons.callback()
def _persons() -> None:
    """Let the group have a single command."""


@groups.callback()
def _groups() -> None:
    """Let the group have a single command."""


@persons.command("export")
def export_persons(
    project: ProjectId,
    output: Output,
    personal_key: PersonKey,
    host: Host = None,
    start: From = None,
    end: To = None,
    file_format: Format = "csv",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write persons, by the time of their creation, to a file, or in Parquet to a folder of files.

    If the command is interrupted, run it again with the same options: it continues where it ended.
    """
    query = _query(file_format, start, end)
    write = _Rows(f"/api/projects/{project}/persons/export/", query, output, "persons")
    run_export(write, host, data, personal_key, as_json=as_json)


@groups.command("export")
def export_groups(
    project: ProjectId,
    output: Output,
    personal_key: GroupKey,
    host: Host = None,
    start: From = None,
    end: To = None,
    group_type: Annotated[
        int | None, typer.Option(min=0, max=4, help="Only groups of the type with this index.")
    ] = None,
    file_format: Format = "csv",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write groups, by the time of their creation, to a file, or in Parquet to a folder of files.

    If the command is interrupted, run it again with the same options: it continues where it ended.
    """
    query = _query(file_format, start, end)
    if group_type is not None:
        query["group_type_index"] = str(group_type)
    write = _Rows(f"/api/projects/{project}/groups/export/", query, output, "groups")
    run_export(write, host, data, personal_key, as_json=as_json)


def _query(file_format: str, start: str | None, end: str | None) -> dict[str, str]:
    times = {
        "start_at": time_text(read_time(start, "--from")),
        "end_at": time_text(read_time(end, "--to")),
    }
    chosen = read_choice(file_format, FORMATS, "--format")
    return {"format": chosen, **{name: text for name, text in times.items() if text}}


class _Rows:
    """The rows of one export, which are written to a file."""

    def __init__(self, path: str, query: dict[str, str], output: Path, words: str) -> None:
        self._path = path
        self._query = query
        self._output = output
        self._words = words

    async def __call__(self, pages: PageReader) -> list[dict[str, Any]]:
        chosen = read_choice(self._query["format"], FORMATS, "--format")
        with progress_bar(f"Exporting {self._words}", self._words) as bar:
            progress = await Download(
                pages,
                self._path,
                self._query,
                chosen,
                self._output,
                lambda so_far: bar.reach(0, so_far.rows),
            ).run()
        return [{"rows": progress.rows, "output": str(self._output)}]
