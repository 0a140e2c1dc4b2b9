"""The command `fanion setup`, which the first start of a server does as well."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fanion.accounts.password_links.store import first_link
from fanion.accounts.passwords.rules import check_password
from fanion.cli.options import NAME_CHARS_MAX, AsJson, Data
from fanion.cli.output import given_password, print_result, refuse, settings_of, with_records
from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.projects.admin_store import AlreadySetUp, Installation, set_up
from fanion.runtime.clock import utc_now
from fanion.runtime.data_dir import create_data_dir


def setup(
    data: Data = None,
    email: Annotated[str, typer.Option(help="The owner's e-mail address.")] = "admin@fanion.local",
    password: Annotated[
        str | None,
        typer.Option(
            help="Visible in the process list; `-` reads standard input. None by default."
        ),
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="A file with the password; `-` reads standard input.")
    ] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    project: Annotated[str, typer.Option(help="The project's name.")] = "Default project",
    as_json: AsJson = False,
) -> None:
    """Create the organization with its owner, project and keys, and print the keys.

    The first start of the server does the same. Fails if they exist already. Without a password,
    prints a link with which the owner signs in once and sets one.
    """
    if not 1 <= len(project) <= NAME_CHARS_MAX:
        refuse(f"--project: the name must have 1 to {NAME_CHARS_MAX} characters.")
    chosen_password = given_password(password, password_file, from_stdin=password_stdin)
    if chosen_password is not None:
        _require_good(chosen_password, email)
    installation = Installation(
        email=email, first_name="Admin", password=chosen_password, project=project
    )
    settings, now = settings_of(data=data), utc_now()

    async def work(records: Records) -> dict[str, Any]:
        created = await set_up(records, installation, now)
        printed = {
            "organization_id": str(created.project.organization_id),
            "project_id": created.project.id,
            "project_api_key": created.project.api_token,
            "personal_api_key": created.personal_key,
            "email": created.user.email,
        }
        if chosen_password is None:
            address = settings.operator_url
            printed["link"] = await first_link(records, address, created.user.id, now)
        return printed

    try:
        result = with_records(settings, work, create_data_dir)
    except AlreadySetUp:
        refuse("Already set up. `fanion keys create` makes another key.")
    print_result(result, as_json)


def _require_good(password: str, email: str) -> None:
    try:
        check_password(password, email)
    except Invalid as error:
        refuse(f"The password: {error.detail}")
