"""The command `fanion`: reads flags and settings, calls, prints. Exit code 2 is a refusal."""

import asyncio
import json
import os
import secrets
from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar
from uuid import UUID

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from fanion import __version__
from fanion.config import Settings, SettingsError, read_settings
from fanion.db.engine import Records, RecordsUnavailable, open_records
from fanion.db.migrate import migrate as migrate_records
from fanion.doctor import examine
from fanion.errors import AppError
from fanion.events.event import EventStoreUnavailable
from fanion.main import DataFolderTaken, run_server, utc_now
from fanion.projects.directory import Projects
from fanion.projects.key_store import KeyStore
from fanion.projects.operator_store import (
    all_keys,
    all_projects,
    organization_of,
    revoke_key,
    user_id_of,
)
from fanion.projects.store import AlreadySetUp, Installation, ProjectStore
from fanion.server.serve import PortTaken

T = TypeVar("T")

REFUSED = 2

app = typer.Typer(
    help="Fanion: product analytics and feature flags that PostHog SDKs talk to unchanged.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
keys = typer.Typer(help="Personal API keys.", no_args_is_help=True)
projects = typer.Typer(help="Projects.", no_args_is_help=True)
app.add_typer(keys, name="keys")
app.add_typer(projects, name="projects")

Data = Annotated[Path | None, typer.Option(help="The folder that holds everything.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Email = Annotated[str | None, typer.Option(help="Whose; the first user's by default.")]


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    data: Data = None,
) -> None:
    """Serve until told to stop. The first start makes a project and prints its keys."""
    settings = _settings(host=host, port=port, data=data)
    _run(run_server(settings, lambda text: print(text, flush=True)))


@app.command()
def setup(
    data: Data = None,
    email: Annotated[str, typer.Option(help="The owner's e-mail address.")] = "admin@fanion.local",
    password: Annotated[str | None, typer.Option(help="Made up when left out.")] = None,
    project: Annotated[str, typer.Option(help="The project's name.")] = "Default project",
    as_json: AsJson = False,
) -> None:
    """Do what the first start does, and print the keys. Refuses when that has been done."""
    chosen = password or secrets.token_urlsafe(12)
    wanted = Installation(email=email, first_name="Admin", password=chosen, project=project)

    async def work(records: Records) -> dict[str, Any]:
        made = await Projects(ProjectStore(records)).setup(wanted, utc_now())
        return {
            "organization_id": str(made.project.organization_id),
            "project_id": made.project.id,
            "project_api_key": made.project.api_token,
            "personal_api_key": made.personal_key,
            "email": made.user.email,
            "password": chosen,
        }

    try:
        made = _with_records(_settings(data=data), work)
    except AlreadySetUp:
        _refuse("Already set up. `fanion keys create` makes another key.")
    _show(made, as_json)


@app.command()
def migrate(data: Data = None) -> None:
    """Bring the records store to this version's schema; `serve` does it too."""
    settings = _settings(data=data)
    settings.data.mkdir(parents=True, exist_ok=True)
    _run(migrate_records(settings.records_url))
    print("The records store is up to date.")


@app.command()
def doctor(data: Data = None) -> None:
    """Check settings, stores, disk, clock and versions, and say what to do."""
    findings = _run(examine(_settings(data=data), utc_now()))
    table = Table("", "what", "found", "what to do", box=None)
    for finding in findings:
        mark = "[green]ok[/green]" if finding.ok else "[red]!![/red]"
        table.add_row(mark, finding.what, finding.found, finding.advice)
    Console().print(table)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


@keys.command("create")
def create_key(
    label: Annotated[str, typer.Option(help="What the key is for.")] = "Command line",
    email: Email = None,
    scope: Annotated[list[str] | None, typer.Option(help="Repeat; all by default.")] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Make a personal API key and print it, this once."""

    async def work(records: Records) -> dict[str, Any]:
        user_id = await user_id_of(records, email)
        if user_id is None:
            _refuse(f"There is no user {email}." if email else "Run `fanion setup` first.")
        key, text = await KeyStore(records).create(user_id, label, scope, utc_now())
        return {"id": str(key.id), "label": key.label, "personal_api_key": text}

    _show(_with_records(_settings(data=data), work), as_json)


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
                "created_at": _time(key.created_at),
                "last_used_at": _time(key.last_used_at),
            }
            for key in await all_keys(records)
        ]

    _show(_with_records(_settings(data=data), work), as_json)


@keys.command("revoke")
def revoke(key_id: str, data: Data = None) -> None:
    """Delete a key by its id. Running servers stop accepting it within seconds."""
    try:
        wanted = UUID(key_id)
    except ValueError:
        _refuse(f"{key_id} is no key id; `fanion keys list` shows them.")
    if not _with_records(_settings(data=data), lambda records: revoke_key(records, wanted)):
        _refuse(f"There is no key {key_id}; `fanion keys list` shows them.")
    print("Revoked.")


@projects.command("create")
def create_project(
    name: str,
    timezone: Annotated[str, typer.Option(help="IANA name.")] = "UTC",
    email: Email = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Make a project in the organization of a user."""

    async def work(records: Records) -> dict[str, Any]:
        user_id = await user_id_of(records, email)
        organization = await organization_of(records, user_id) if user_id is not None else None
        if organization is None:
            _refuse(f"There is no user {email}." if email else "Run `fanion setup` first.")
        made = await ProjectStore(records).create(organization, name, timezone, utc_now())
        return {"project_id": made.id, "name": made.name, "project_api_key": made.api_token}

    _show(_with_records(_settings(data=data), work), as_json)


@projects.command("list")
def list_projects(data: Data = None, as_json: AsJson = False) -> None:
    """List all projects with their keys."""

    async def work(records: Records) -> list[dict[str, Any]]:
        return [
            {"project_id": one.id, "name": one.name, "project_api_key": one.api_token}
            for one in await all_projects(records)
        ]

    _show(_with_records(_settings(data=data), work), as_json)


def _settings(**flags: Any) -> Settings:
    try:
        return read_settings(os.environ, flags)
    except SettingsError as error:
        _refuse(str(error))


def _with_records(settings: Settings, work: Callable[[Records], Coroutine[Any, Any, T]]) -> T:
    async def opened() -> T:
        settings.data.mkdir(parents=True, exist_ok=True)
        await migrate_records(settings.records_url)
        records = await open_records(settings.records_url)
        try:
            return await work(records)
        finally:
            await records.close()

    return _run(opened())


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return uvloop.run(work)
    except (PortTaken, DataFolderTaken) as error:
        _refuse(str(error))
    except AppError as error:
        _refuse(error.detail)
    except RecordsUnavailable as error:
        _refuse(f"the records store cannot be used: {error}")
    except EventStoreUnavailable as error:
        _refuse(f"the event store cannot be used: {error}")
    except OSError as error:
        _refuse(f"a file cannot be used: {error}")
    except asyncio.CancelledError:
        raise typer.Exit(1) from None


def _refuse(text: str) -> NoReturn:
    typer.echo(f"fanion: {text}", err=True)
    raise typer.Exit(REFUSED)


def _show(found: dict[str, Any] | list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found))
    elif isinstance(found, dict):
        for name, value in found.items():
            print(f"{name:18} {value}")
    elif found:
        table = Table(*found[0], box=None)
        for row in found:
            table.add_row(*(str(value) for value in row.values()))
        Console().print(table)
    else:
        print("None.")


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="seconds")
