"""The commands `fanion export` and `fanion import`: a project's definitions as one document.

They use the records store directly, whether a server runs or not.
"""

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from fanion.activity.model import Author
from fanion.cli.options import AsJson, Data
from fanion.cli.output import (
    no_user,
    print_result,
    printable,
    refuse,
    settings_of,
    with_records,
    write_out,
)
from fanion.cli.progress import Bar, progress_bar
from fanion.db.engine import Records
from fanion.projects.admin_store import user_id_of
from fanion.projects.model import Project
from fanion.projects.store import ProjectStore
from fanion.runtime.clock import utc_now
from fanion.transfer.document import (
    DOCUMENT_BYTES_MAX,
    SECTIONS,
    Document,
    DocumentError,
    read_document,
    write_document,
)
from fanion.transfer.export_store import export_project as read_export
from fanion.transfer.importing.importer import import_document
from fanion.transfer.report import RESULTS, ObjectOutcome, Report

LINES_SHOWN = 200
COHORT_MEMBER = "cohort member"
# The kinds of objects that the progress bar counts. Tiles and members of roles are part of another
# object.
_COUNTED = {COHORT_MEMBER, *(word for _, word, _ in SECTIONS.values())}

DryRun = Annotated[bool, typer.Option("--dry-run", help="Report the changes without making them.")]
Email = Annotated[
    str | None, typer.Option(help="E-mail of the user named in the activity. None by default.")
]


def export_project(
    project: Annotated[int, typer.Option(help="The project's id.")],
    output: Annotated[
        Path | None, typer.Option(help="The file to write; printed by default.")
    ] = None,
    data: Data = None,
) -> None:
    """Write a project's flags, cohorts, definitions, roles and dashboards as one document.

    The same project gives the same text. Events and persons are not included.
    """

    async def work(records: Records) -> Document:
        source = await project_of(records, project)
        with progress_bar("Reading the project", "rows") as bar:
            return await read_export(records, source, bar if bar.is_visible else None)

    text = write_document(with_records(settings_of(data=data), work))
    if output is None:
        write_out(text)
    else:
        _write_document(output, text)


def import_project(
    file: Annotated[
        Path, typer.Argument(help="A document of `fanion export`; - reads standard input.")
    ],
    project: Annotated[int, typer.Option(help="The id of the project to import into.")],
    dry_run: DryRun = False,
    email: Email = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Create and change the objects of a document.

    Nothing is deleted, and a second import of the same document changes nothing. The whole
    document is checked first, and written in one transaction.
    """
    try:
        document = read_document(_read_document(file))
    except DocumentError as error:
        refuse(printable(str(error)))

    async def work(records: Records) -> Report:
        author = await author_of(records, project, email)
        return await import_into(records, author, document, dry_run)

    report = with_records(settings_of(data=data), work)
    if as_json:
        write_out(msgspec.json.encode(report_as_json(report, dry_run)) + b"\n")
    else:
        show_report(report, dry_run)


async def import_into(
    records: Records, author: Author, document: Document, dry_run: bool
) -> Report:
    try:
        with progress_bar("Importing", "objects") as bar:
            bar.expect(_object_count(document))
            return await import_document(
                records, author, document, dry_run=dry_run, on_outcome=partial(_advance_bar, bar)
            )
    except DocumentError as error:
        refuse("\n".join(printable(line) for line in str(error).split("\n")))


def _object_count(document: Document) -> int:
    """Return the number of objects for which an outcome is reported."""
    members = sum(len(cohort.members) for cohort in document.cohorts if not cohort.deleted)
    return members + sum(len(getattr(document, name)) for name in SECTIONS)


def _advance_bar(bar: Bar, outcome: ObjectOutcome) -> None:
    if outcome.kind in _COUNTED:
        bar.advance(outcome.count)


async def project_of(records: Records, project_id: int) -> Project:
    projects = await ProjectStore(records).by_ids([project_id])
    if project_id not in projects:
        refuse(f"There is no project {project_id}; `fanion projects list` shows them.")
    return projects[project_id]


async def author_of(records: Records, project_id: int, email: str | None) -> Author:
    project = await project_of(records, project_id)
    user_id = None if email is None else await user_id_of(records, email)
    if email is not None and user_id is None:
        refuse(no_user(email))
    return Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=user_id,
        now=utc_now(),
    )


def report_as_json(report: Report, dry_run: bool) -> dict[str, Any]:
    outcomes = [asdict(outcome) for outcome in report.outcomes]
    return {"dry_run": dry_run, "counts": report.counts(), "outcomes": outcomes}


def show_report(report: Report, dry_run: bool) -> None:
    counts = report.counts()
    print_result([_counts_row(kind, results) for kind, results in counts.items()], as_json=False)
    lines = [outcome for outcome in report.outcomes if outcome.result != "unchanged"]
    for outcome in lines[:LINES_SHOWN]:
        number = f"{outcome.count} " if outcome.count > 1 else ""
        why = f": {outcome.why}" if outcome.why else ""
        print(printable(f"{outcome.result:8} {number}{outcome.kind} {outcome.name}{why}"))
    if len(lines) > LINES_SHOWN:
        print(f"and {len(lines) - LINES_SHOWN} more; --json lists all of them")
    if dry_run:
        print("This was a dry run: nothing was changed.")


def _counts_row(kind: str, counts: Any) -> dict[str, Any]:
    return {"": kind, **{result: counts[result] for result in RESULTS}}


def _read_document(file: Path) -> bytes:
    """Read the file, but at most one byte more than is allowed: a device may never end."""
    try:
        if str(file) == "-":
            raw = sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
        else:
            with file.open("rb") as source:
                raw = source.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as error:
        refuse(f"{file} cannot be read: {error.strerror}")
    if len(raw) > DOCUMENT_BYTES_MAX:
        refuse(f"{file} is larger than the maximum of {DOCUMENT_BYTES_MAX} bytes")
    return raw


def _write_document(output: Path, text: bytes) -> None:
    """Write the whole text or nothing: a former file stays until the new one is complete."""
    partial_file = output.with_name(f".{output.name}.new")
    try:
        partial_file.write_bytes(text)
        partial_file.replace(output)
    except OSError as error:
        partial_file.unlink(missing_ok=True)
        refuse(f"{output} cannot be written: {error.strerror}")
