"""The first start makes an organization with its owner, project and keys, and tells them once."""

import secrets
from dataclasses import dataclass

from fanion.clock import utc_now
from fanion.config import Settings
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


def greeting(settings: Settings, made: FirstStart | None) -> str:
    address = settings.address
    if made is None:
        return f"Fanion serves on {address}"
    token = made.set_up.project.api_token
    events = f"{settings.management_url}/api/projects/@current/events/"
    return f"""
Fanion serves on {address}

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
