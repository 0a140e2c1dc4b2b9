"""Activity of projects themselves, which know nothing of it."""

from typing import Any

import msgspec
from sqlalchemy import Connection

from fanion.activity.diff import Change, changes
from fanion.activity.store import Author, Entry, record
from fanion.projects.auth.keys import mask
from fanion.projects.changes import OrganizationChange, SecretKeyChange
from fanion.projects.model import Project
from fanion.projects.store import ProjectChange, load_projects, projects_of

_TOLD = ("name", "timezone", "api_token", "ingestion")


def tell_of_project(connection: Connection, change: ProjectChange) -> None:
    """In the transaction of the change."""
    after, before = change.after, change.before
    differing = None
    if before is not None:
        differing = changes("Project", _told(before), _told(after), _TOLD)
    record(
        connection,
        Entry(
            author=Author(project=after, user_id=change.user_id, now=change.now),
            scope="Project",
            item_id=str(after.id),
            activity="created" if before is None else "updated",
            name=after.name,
            changes=differing,
        ),
    )


def tell_of_secret_key(connection: Connection, change: SecretKeyChange) -> None:
    """That there is another one; of the key itself only how it is shown."""
    project = load_projects(connection, [change.project_id]).get(change.project_id)
    if project is None:
        return
    before, after = {"secret_key": change.before}, {"secret_key": change.after}
    record(
        connection,
        Entry(
            author=Author(project=project, user_id=change.user_id, now=change.now),
            scope="Project",
            item_id=str(project.id),
            activity="updated",
            name=project.name,
            changes=changes("Project", before, after, before),
        ),
    )


def _told(project: Project) -> dict[str, Any]:
    """Of ingestion, what differs from the defaults; of the key how it is shown, masked."""
    return {
        "name": project.name,
        "timezone": project.timezone,
        "api_token": mask(project.api_token),
        "ingestion": msgspec.to_builtins(project.ingestion),
    }


def tell_of_organization(connection: Connection, change: OrganizationChange) -> None:
    """In the transaction of the change; an update without changes is not told."""
    activity, differing = _difference(change)
    for project in projects_of(connection, change.organization_id):
        entry = Entry(
            author=Author(project=project, user_id=change.user_id, now=change.now),
            scope=change.scope,
            item_id=change.item_id,
            activity=activity,
            name=change.name,
            changes=differing,
        )
        record(connection, entry)


def _difference(change: OrganizationChange) -> tuple[str, list[Change] | None]:
    if change.before is None:
        return "created", None
    if change.after is None:
        return "deleted", None
    return "updated", changes(change.scope, change.before, change.after, change.before)
