"""The commands `fanion keys …`."""

from typing import Annotated, Any
from uuid import UUID

import typer

from fanion.cli.options import AsJson, Data, Email
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
from fanion.projects.admin_store import all_keys, user_id_of
from fanion.projects.auth.keys import KEY_LABEL_CHARS_MAX, read_expiry
from fanion.projects.auth.model import is_scope
from fanion.projects.auth.personal_keys_service import PersonalKeyService
from fanion.projects.auth.personal_keys_store import NewPersonalKey, PersonalKeyStore
from fanion.runtime.clock import utc_now

keys = typer.Typer(help="Personal API keys.", no_args_is_help=True)


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
