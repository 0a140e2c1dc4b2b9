"""`fanion import-posthog`: a project of a server that speaks PostHog's API, taken over."""

from typing import Annotated

import typer

from fanion.cli_transfer import DryRun, Email, author_of, import_into, show_report
from fanion.db.engine import Records
from fanion.terminal import AsJson, Data, printable, refuse, settings_of, with_records
from fanion.transfer.outcome import Report
from fanion.transfer.source_client import SourceError, open_source
from fanion.transfer.source_reading import read_source


def import_posthog(
    host: Annotated[str, typer.Option(help="Its address, such as https://eu.posthog.com.")],
    personal_key: Annotated[
        str,
        typer.Option(envvar="POSTHOG_PERSONAL_API_KEY", help="Of a user who may read it all."),
    ],
    project: Annotated[str, typer.Option(help="Its id there.")],
    into: Annotated[int, typer.Option(help="The id of the project here.")],
    dry_run: DryRun = False,
    email: Email = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Take over a project's definitions from PostHog, or from another Fanion.

    As `fanion import` does; what cannot be used here is left out, and told with the reason.
    """

    async def work(records: Records) -> Report:
        author = await author_of(records, into, email)
        report = Report()
        async with open_source(host, personal_key, project) as source:
            document = await read_source(source, report)
        imported = await import_into(records, author, document, dry_run)
        return Report([*report.outcomes, *imported.outcomes])

    try:
        report = with_records(settings_of(data=data), work)
    except SourceError as error:
        refuse(printable(str(error)))
    show_report(report, dry_run, as_json)
