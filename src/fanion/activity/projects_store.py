"""Activity of projects themselves, which know nothing of it."""

from typing import Any

import msgspec
from sqlalchemy import Connection

from fanion.activity.changes import changes
from fanion.activity.store import Author, Entry, record
from fanion.projects.model import Project
from fanion.projects.store import ProjectChange

_TOLD = ("name", "timezone", "ingestion")


def tell_of_project(connection: Connection, change: ProjectChange) -> None:
    """In the transaction of the change."""
    after = change.after
    record(
        connection,
        Entry(
            author=Author(project=after, user_id=change.user_id, now=change.now),
            scope="Project",
            item_id=str(after.id),
            activity="updated",
            name=after.name,
            changes=changes("Project", _told(change.before), _told(after), _TOLD),
        ),
    )


def _told(project: Project) -> dict[str, Any]:
    """Of ingestion, what differs from the defaults."""
    return {
        "name": project.name,
        "timezone": project.timezone,
        "ingestion": msgspec.to_builtins(project.ingestion),
    }
