"""The first start: it creates an organization, owner, project and keys, and shows the keys once."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from fanion.accounts.password_links.store import first_link
from fanion.config import ALL, Settings, roles_text
from fanion.db.engine import Records
from fanion.projects.admin_store import AlreadySetUp, Installation, SetUp, is_set_up, set_up
from fanion.projects.cache import Projects
from fanion.runtime.clock import utc_now
from fanion.runtime.data_dir import FIRST_START_FILE


@dataclass(frozen=True, slots=True)
class FirstStart:
    """The objects that the first start has created.

    Attributes:
        link: Signs the owner in once, and asks for a password.
    """

    created: SetUp
    link: str = field(repr=False)


async def set_up_first_run(
    records: Records, projects: Projects, settings: Settings
) -> FirstStart | None:
    """Set up an empty store: an organization with its owner, project and keys.

    The owner has no password yet, and sets one with the link.

    Returns:
        None if the store is set up already.
    """
    if await is_set_up(records):
        return None
    installation, now = Installation(email="admin@fanion.local", first_name="Admin"), utc_now()
    try:
        created = await set_up(records, installation, now)
    except AlreadySetUp:  # another server did it at the same moment
        return None
    projects.remember(created.project)
    link = await first_link(records, settings.operator_url, created.user.id, now)
    return FirstStart(created, link)


def start_announcement(
    settings: Settings, first_start: FirstStart | None, *, to_terminal: bool
) -> str:
    """Return the text to print once everything is served.

    Keys go only to a terminal. Otherwise standard output may be a journal that others read, so the
    keys are written to a file and the text names its path.
    """
    what = "" if settings.roles == ALL else f"{roles_text(settings.roles)} "
    serves = f"Fanion serves {what}on {settings.address}"
    if first_start is None or to_terminal:
        return (
            serves if first_start is None else f"\n{serves}\n{_secrets_text(settings, first_start)}"
        )
    path = settings.data.resolve() / FIRST_START_FILE
    try:
        _write_private(path, f"{serves}\n{_secrets_text(settings, first_start)}")
    except OSError as error:
        structlog.get_logger().error("first_start_not_written", path=str(path), reason=str(error))
        return (
            f"{serves}\nThe keys could not be written to a file; create another key with "
            "`fanion keys create`, and a link to sign in with `fanion users reset`."
        )
    return (
        f"{serves}\nThis is the first start. The keys, and a link to sign in: {path} "
        "(delete it once you have them)"
    )


def _write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read from its creation on; O_EXCL follows no link.

    Raises:
        OSError: The file cannot be written.
    """
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as written:
        written.write(text)
        written.flush()
        os.fsync(file)


def _secrets_text(settings: Settings, first_start: FirstStart) -> str:
    address, created = settings.address, first_start.created
    token = created.project.api_token
    events = f"{settings.operator_url}/api/projects/@current/events/"
    return f"""
This is the first start. Keep what follows, it is not shown again:

  owner             {created.user.email}
  project API key   {token}
  personal API key  {created.personal_key}

Sign in, and set a password; the link works once, within 24 hours:

  {first_start.link}

Capture a first event:

  curl -d '{{"api_key": "{token}", "event": "hello", "distinct_id": "me"}}' {address}/capture/

and see it:

  curl -H 'Authorization: Bearer {created.personal_key}' {events}
"""
