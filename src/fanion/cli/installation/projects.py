"""The commands `fanion projects …`."""

from datetime import timedelta
from typing import Annotated, Any
from zoneinfo import available_timezones

import typer

from fanion.cli.exports.archive import archive_project, restore_project
from fanion.cli.options import NAME_CHARS_MAX, AsJson, Data, Email
from fanion.cli.output import (
    NOT_SET_UP,
    no_user,
    print_result,
    refuse,
    settings_of,
    time_text,
    with_records,
)
from fanion.db.engine import Records
from fanion.projects.admin_store import all_projects, organization_of, user_id_of
from fanion.projects.auth.secret_keys_service import SecretKeys
from fanion.projects.auth.secret_keys_store import SecretKeyStore
from fanion.projects.model import FORMER_VALID_S, FORMER_VALID_S_MAX
from fanion.projects.store import ProjectStore
from fanion.runtime.clock import utc_now

projects = typer.Typer(help="Projects.", no_args_is_help=True)
projects.command("archive")(archive_project)
projects.command("restore")(restore_project)


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
