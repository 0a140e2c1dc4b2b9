"""The commands `fanion projects archive` and `fanion projects restore`.

They are the commands that export and import a project's document and its rows, one after another.
"""

import shutil
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from fanion import __version__
from fanion.cli.exports.options import Host, read_from_server, server_address
from fanion.cli.imports.events import Format, import_events
from fanion.cli.options import AsJson, Data, Email
from fanion.cli.output import print_result, printable, refuse
from fanion.cli.progress import progress_bar
from fanion.cli.transfer import export_project, import_project
from fanion.events.storage.export_query import ExportFormat
from fanion.exports.download_client import Download, PageReader
from fanion.runtime.clock import utc_now
from fanion.runtime.durable_file import write_durably
from fanion.transfer.archive_store import (
    DOCUMENT,
    EVENTS,
    LIST,
    ArchiveError,
    ArchiveList,
    archived_files,
    unpack_archive,
    write_archive,
)

_ROWS: dict[str, ExportFormat] = {EVENTS: "parquet", "persons": "jsonl", "groups": "jsonl"}


def archive_project(
    project: Annotated[int, typer.Option(help="The project's id.")],
    output: Annotated[Path, typer.Option(help="The file to write, such as shop.tar.")],
    personal_key: Annotated[
        str,
        typer.Option(
            envvar="POSTHOG_PERSONAL_API_KEY",
            help="A user's key with event:read, person:read and group:read.",
        ),
    ],
    host: Host = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write a project with its events, persons and groups to one file.

    If the command is interrupted, run it again: it continues where it ended. Until the file is
    complete its parts are in a folder beside it.
    """
    parts = output.with_name(f"{output.name}.parts")
    parts.mkdir(mode=0o700, parents=True, exist_ok=True)
    export_project(project, parts / DOCUMENT, data)
    address = server_address(host, data)
    counts = {name: _written_rows(parts, name, project, address, personal_key) for name in _ROWS}
    files = archived_files(parts)
    listed = ArchiveList(
        version=__version__, created_at=utc_now(), project=str(project), rows=counts, files=files
    )
    try:
        write_archive(parts, listed, output)
    except OSError as error:
        refuse(f"{output} cannot be written: {error.strerror}")
    shutil.rmtree(parts)
    print_result([{**counts, "bytes": output.stat().st_size, "output": str(output)}], as_json)


def _written_rows(parts: Path, name: str, project: int, address: str, personal_key: str) -> int:
    """Write rows unless a former run has written all of them, and return their number."""
    counted = parts / f".{name}.count"
    if not counted.exists():
        path = f"/api/projects/{project}/{name}/export/"
        write = partial(_write_rows, name=name, path=path, parts=parts)
        rows = read_from_server(write, address, personal_key)
        write_durably(counted, str(rows).encode())
    return int(counted.read_bytes())


async def _write_rows(pages: PageReader, name: str, path: str, parts: Path) -> int:
    chosen = _ROWS[name]
    target = parts / (name if chosen == "parquet" else f"{name}.{chosen}")
    with progress_bar(f"Exporting {name}", name) as bar:
        download = Download(
            pages,
            path,
            {"format": chosen},
            chosen,
            target,
            lambda so_far: bar.reach(0, so_far.rows),
        )
        return (await download.run()).rows


def restore_project(
    file: Annotated[Path, typer.Argument(help="An archive of `fanion projects archive`.")],
    project: Annotated[int, typer.Option(help="The id of the project to restore into.")],
    personal_key: Annotated[
        str,
        typer.Option(
            envvar="POSTHOG_PERSONAL_API_KEY",
            help="A user's key with project:read, event:read and query:read.",
        ),
    ],
    host: Host = None,
    email: Email = None,
    data: Data = None,
) -> None:
    """Import an archive into a project, of this installation or of another one.

    Nothing is deleted, and what is there already is not added again. If the command is interrupted,
    run it again: it continues where it ended. The numbers of sent and stored events are compared.
    """
    folder = file.with_name(f"{file.name}.restore")
    listed = _unpacked(file, folder)
    import_project(folder / DOCUMENT, project, email=email, data=data)
    events = sorted((folder / EVENTS).glob("*.parquet"))
    if listed.rows[EVENTS]:
        address = server_address(host, data)
        import_events(
            events, Format.POSTHOG, host=address, project=project, personal_key=personal_key
        )
        print("Once more, for members of cohorts whose persons are there now:")
        import_project(folder / DOCUMENT, project, email=email, data=data)
    shutil.rmtree(folder)


def _unpacked(file: Path, folder: Path) -> ArchiveList:
    """Return the list of an archive whose files are in a folder, by this run or a former one."""
    complete = folder / LIST
    try:
        if complete.exists():
            return msgspec.json.decode(complete.read_bytes(), type=ArchiveList)
        folder.mkdir(mode=0o700, exist_ok=True)
        listed = unpack_archive(file, folder)
        write_durably(complete, msgspec.json.encode(listed))
        return listed
    except ArchiveError as error:
        refuse(printable(f"{file}: {error}"))
    except OSError as error:
        refuse(printable(f"{error.filename or file}: {error.strerror}"))
