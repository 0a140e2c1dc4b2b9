"""The command `fanion`: reads options and settings, calls, prints. Exit code 2 is a refusal."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID
from zoneinfo import available_timezones

import typer

from fanion import __version__
from fanion.accounts.password_links.store import first_link
from fanion.accounts.passwords.rules import check_password
from fanion.cli.doctor.command import doctor
from fanion.cli.flags import flags
from fanion.cli.import_posthog import import_posthog
from fanion.cli.ingestion import dead_letters, ingestion
from fanion.cli.maintenance.backup import backup, backups, restore
from fanion.cli.maintenance.move import move
from fanion.cli.maintenance.spool import spool
from fanion.cli.migrate import migrate
from fanion.cli.options import AsJson, Data
from fanion.cli.output import (
    NOT_SET_UP,
    given_password,
    no_user,
    print_result,
    refuse,
    settings_of,
    time_text,
    with_records,
)
from fanion.cli.serve.command import HELP, HELP_OPTIONS, serve
from fanion.cli.stores import stores
from fanion.cli.transfer import export_project, import_project
from fanion.cli.users import roles, users
from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.observability.logging import open_command_logs
from fanion.projects.admin_store import (
    AlreadySetUp,
    Installation,
    all_keys,
    all_projects,
    organization_of,
    set_up,
    user_id_of,
)
from fanion.projects.auth.keys import KEY_LABEL_CHARS_MAX, read_expiry
from fanion.projects.auth.model import is_scope
from fanion.projects.auth.personal_keys_service import PersonalKeyService
from fanion.projects.auth.personal_keys_store import NewPersonalKey, PersonalKeyStore
from fanion.projects.auth.secret_keys_service import SecretKeys
from fanion.projects.auth.secret_keys_store import SecretKeyStore
from fanion.projects.model import FORMER_VALID_S, FORMER_VALID_S_MAX
from fanion.projects.store import ProjectStore
from fanion.runtime.clock import utc_now
from fanion.runtime.data_dir import create_data_dir

NAME_CHARS_MAX = 200  # the API's limit

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings=HELP_OPTIONS,
)
app.command()(serve)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(__version__)
        raise typer.Exit


@app.callback()
def fanion(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Accept the options of the command itself, which precede the name of a subcommand."""
    open_command_logs()


keys = typer.Typer(help="Personal API keys.", no_args_is_help=True)
projects = typer.Typer(help="Projects.", no_args_is_help=True)
app.add_typer(keys, name="keys")
app.add_typer(projects, name="projects")
app.add_typer(flags, name="flags")
app.add_typer(users, name="users")
app.add_typer(roles, name="roles")
app.add_typer(dead_letters, name="dead-letters")
app.add_typer(stores, name="stores")
app.add_typer(spool, name="spool")

Email = Annotated[str | None, typer.Option(help="A user's e-mail; the first user by default.")]


@app.command()
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


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


app.command()(migrate)
app.command()(move)
app.command()(doctor)
app.command()(ingestion)
app.command()(backup)
app.command()(backups)
app.command()(restore)
app.command("export")(export_project)
app.command("import")(import_project)
app.command("import-posthog")(import_posthog)


@keys.command("create")
def create_key(
    label: Annotated[str, typer.Option(help="What the key is for.")] = "Command line",
    email: Email = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="A scope; repeatable. All by default.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(help="`90d`, `12h`, a date, a time, or never."),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Create a personal API key and print it. It is not shown again."""
    now = utc_now()
    try:
        expires_at = None if expires is None else read_expiry(expires, now)
    except ValueError as error:
        refuse(f"--expires: {error}")
    if not 1 <= len(label) <= KEY_LABEL_CHARS_MAX:
        refuse(f"--label: a label has 1 to {KEY_LABEL_CHARS_MAX} characters.")
    for scope_name in scope or ():
        if not is_scope(scope_name):
            refuse(f"--scope: {scope_name} is not a scope; use *, <object>:read or <object>:write.")

    async def work(records: Records) -> dict[str, Any]:
        user_id = await user_id_of(records, email)
        if user_id is None:
            refuse(no_user(email) if email else NOT_SET_UP)
        new = NewPersonalKey(user_id, label, scope, now, expires_at, by_operator=True)
        key, text = await _personal_keys(records).create_key(new)
        return {
            "id": str(key.id),
            "label": key.label,
            "personal_api_key": text,
            "expires_at": time_text(key.expires_at),
        }

    print_result(with_records(settings_of(data=data), work), as_json)


@keys.command("list")
def list_keys(data: Data = None, as_json: AsJson = False) -> None:
    """List all personal API keys, without the keys themselves."""

    async def work(records: Records) -> list[dict[str, Any]]:
        return [
            {
                "id": str(key.id),
                "email": key.email,
                "label": key.label,
                "mask_value": key.mask_value,
                "created_at": time_text(key.created_at),
                "last_used_at": time_text(key.last_used_at),
                "expires_at": time_text(key.expires_at),
            }
            for key in await all_keys(records)
        ]

    print_result(with_records(settings_of(data=data), work), as_json)


@keys.command("revoke")
def revoke(key_id: str, data: Data = None) -> None:
    """Delete a key by its id. Running servers stop accepting it within seconds."""
    try:
        key_uuid = UUID(key_id)
    except ValueError:
        refuse(f"{key_id} is not a key id; `fanion keys list` shows them.")

    async def work(records: Records) -> bool:
        return await _personal_keys(records).delete_key(key_uuid, utc_now()) is not None

    if not with_records(settings_of(data=data), work):
        refuse(f"There is no key {key_id}; `fanion keys list` shows them.")
    print("Revoked.")


def _personal_keys(records: Records) -> PersonalKeyService:
    return PersonalKeyService(PersonalKeyStore(records))


@projects.command("create")
def create_project(
    name: str,
    timezone: Annotated[str, typer.Option(help="An IANA name.")] = "UTC",
    email: Email = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Create a project in the organization of a user."""
    if not 1 <= len(name) <= NAME_CHARS_MAX:
        refuse(f"The name must have 1 to {NAME_CHARS_MAX} characters.")
    if timezone not in available_timezones():
        refuse(f"--timezone: {timezone} is not an IANA name such as Europe/Berlin.")

    async def work(records: Records) -> dict[str, Any]:
        user_id = await user_id_of(records, email)
        organization = await organization_of(records, user_id) if user_id is not None else None
        if organization is None:
            refuse(no_user(email) if email else NOT_SET_UP)
        store = ProjectStore(records)
        created = await store.create_project(organization, name, timezone, utc_now())
        return {
            "project_id": created.id,
            "name": created.name,
            "project_api_key": created.api_token,
        }

    print_result(with_records(settings_of(data=data), work), as_json)


FormerValidS = Annotated[
    int,
    typer.Option(
        min=0,
        max=FORMER_VALID_S_MAX,
        help="Seconds for which the former key stays valid; 0 ends all former keys at once.",
    ),
]


@projects.command("reset-key")
def reset_project_key(
    project_id: int,
    former_valid_s: FormerValidS = FORMER_VALID_S,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Replace the API key of a project, and print the new one.

    Running servers follow within seconds.
    """

    async def work(records: Records) -> dict[str, Any]:
        store, now = ProjectStore(records), utc_now()
        project = await store.reset_token(project_id, former_valid_s, now)
        if project is None:
            refuse(f"There is no project {project_id}; `fanion projects list` shows them.")
        return {
            "project_id": project.id,
            "project_api_key": project.api_token,
            "former_key_valid_until": time_text(now + timedelta(seconds=former_valid_s)),
        }

    print_result(with_records(settings_of(data=data), work), as_json)


@projects.command("secret-key")
def make_secret_key(
    project_id: int, former_valid_s: FormerValidS = 0, data: Data = None, as_json: AsJson = False
) -> None:
    """Create a key that reads flag definitions, and print it. It is not shown again.

    Former keys end, unless `--former-valid-s` keeps the current one valid for a while.
    """

    async def work(records: Records) -> dict[str, Any]:
        if project_id not in await ProjectStore(records).by_ids([project_id]):
            refuse(f"There is no project {project_id}; `fanion projects list` shows them.")
        store = SecretKeyStore(records)
        key = await SecretKeys(store, utc_now).rotate_key(project_id, None, former_valid_s)
        return {"project_id": project_id, "secret_api_key": key}

    print_result(with_records(settings_of(data=data), work), as_json)


@projects.command("list")
def list_projects(data: Data = None, as_json: AsJson = False) -> None:
    """List all projects with their keys."""

    async def work(records: Records) -> list[dict[str, Any]]:
        return [
            {"project_id": project.id, "name": project.name, "project_api_key": project.api_token}
            for project in await all_projects(records)
        ]

    print_result(with_records(settings_of(data=data), work), as_json)
