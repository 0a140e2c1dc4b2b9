"""Activity of what belongs to a whole organization: each of its projects tells of it."""

from sqlalchemy import Connection

from fanion.activity.diff import Change, changes
from fanion.activity.store import Author, Entry, record
from fanion.projects.changes import OrganizationChange
from fanion.projects.store import projects_of


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
