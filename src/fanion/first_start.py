"""The first start makes an organization with its owner, project and keys, and tells them once."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import structlog

from fanion.clock import utc_now
from fanion.config import Settings
from fanion.data_folder import FIRST_START_FILE
from fanion.db.engine import Records
from fanion.projects.directory import Projects
from fanion.projects.operator_store import is_set_up
from fanion.projects.store import AlreadySetUp, Installation, SetUp


@dataclass(frozen=True, slots=True)
class FirstStart:
    """password: made up, told once"""

    set_up: SetUp
    password: str


async def first_start(records: Records, projects: Projects) -> FirstStart | None:
    """On an empty store: an organization with its owner, project and keys."""
    if await is_set_up(records):
        return None
    password = secrets.token_urlsafe(12)
    wanted = Installation(email="admin@fanion.local", first_name="Admin", password=password)
    try:
        return FirstStart(await projects.setup(wanted, utc_now()), password)
    except AlreadySetUp:  # by another server, at the same moment
        return None


def announcement(settings: Settings, made: FirstStart | None, *, to_terminal: bool) -> str:
    """What is printed once everything is served. Login and keys go to a terminal; what else
    standard output may be, a journal or a log that others read, only hears where they are."""
    serves = f"Fanion serves on {settings.address}"
    if made is None or to_terminal:
        return serves if made is None else f"\n{serves}\n{_secrets(settings, made)}"
    path = settings.data.resolve() / FIRST_START_FILE
    try:
        _write_private(path, f"{serves}\n{_secrets(settings, made)}")
    except OSError as error:
        structlog.get_logger().error("first_start_not_written", path=str(path), reason=str(error))
        return f"{serves}\nLogin and keys could not be kept; `fanion keys create` makes a key."
    return (
        f"{serves}\nThis is the first start. Login and keys: {path} (delete it once you have them)"
    )


def _write_private(path: Path, text: str) -> None:
    """A file of the owner's alone from its first moment; O_EXCL follows no link. raises: OSError"""
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as written:
        written.write(text)
        written.flush()
        os.fsync(file)


def _secrets(settings: Settings, made: FirstStart) -> str:
    address = settings.address
    token = made.set_up.project.api_token
    events = f"{settings.management_url}/api/projects/@current/events/"
    return f"""
This is the first start. Keep what follows, it is not shown again:

  e-mail            {made.set_up.user.email}
  password          {made.password}
  project API key   {token}
  personal API key  {made.set_up.personal_key}

Capture a first event:

  curl -d '{{"api_key": "{token}", "event": "hello", "distinct_id": "me"}}' {address}/capture/

and see it:

  curl -H 'Authorization: Bearer {made.set_up.personal_key}' {events}
"""
