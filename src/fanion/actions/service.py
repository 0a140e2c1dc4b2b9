"""Changes of actions, each in one transaction."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import asdict
from sqlalchemy import Connection

from fanion.actions.conditions import check_steps
from fanion.actions.model import ActionRecord, ActionStep
from fanion.actions.store import ActionStore, create_action, get_action, write_action
from fanion.activity.model import Author
from fanion.errors import AppError, NotFound
from fanion.rest.uses import in_use
from fanion.rest.validation import normal_tags

# Returns the names of what uses an action of a project, such as `insight "Sign-ups"`.
UsesOf = Callable[[Connection, int, int], Sequence[str]]


class StaleAction(AppError):
    """The action has changed since the caller read it."""

    status, type, default_code = 409, "invalid_request", "conflict"
    default_detail = (
        "The action was changed since you read it. Review the current version and try again."
    )


@dataclass(frozen=True, slots=True)
class ActionService:
    """The changes of the actions of a project.

    Attributes:
        uses_of: Find what uses an action: saved insights, cohorts. Their packages are built on this
            one.
    """

    store: ActionStore
    uses_of: Sequence[UsesOf] = ()

    async def create_action(self, author: Author, sent: Mapping[str, Any]) -> ActionRecord:
        """Create an action.

        Raises:
            Invalid: A step cannot be compared, the name is taken, or the project has too many.
        """
        values = await asyncio.to_thread(_normalised, sent)
        async with self.store.records.write() as connection:
            return await connection.run_sync(create_action, author, values)

    async def change_action(
        self, author: Author, action_id: int, sent: Mapping[str, Any]
    ) -> ActionRecord:
        """Change an action, in everything that uses it; a deleted one only accepts its restoration.

        Raises:
            NotFound: There is no such action.
            Invalid: A step cannot be compared, the name is taken, or an action to be deleted is
                used.
            StaleAction: It was changed since `expected_updated_at`.
        """
        values = await asyncio.to_thread(_normalised, sent)
        expected = values.pop("expected_updated_at", None)
        async with self.store.records.write() as connection:
            return await connection.run_sync(self._change, author, action_id, values, expected)

    def _change(
        self,
        connection: Connection,
        author: Author,
        action_id: int,
        values: Mapping[str, Any],
        expected: object,
    ) -> ActionRecord:
        before = get_action(connection, author.project_id, action_id, for_update=True)
        if before.deleted and values.get("deleted") is not False:
            raise NotFound
        if expected is not None and before.updated_at != expected:
            raise StaleAction(attr="expected_updated_at")
        if values.get("deleted"):
            self._require_unused(connection, author.project_id, action_id)
        return write_action(connection, author, before, values)

    def _require_unused(self, connection: Connection, project_id: int, action_id: int) -> None:
        """Raise Invalid if something uses the action."""
        uses = [use for find in self.uses_of for use in find(connection, project_id, action_id)]
        if uses:
            raise in_use("action", uses)


def _normalised(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked fields, with empty values instead of null."""
    values = dict(sent)
    if "tags" in values:
        values["tags"] = normal_tags(values["tags"] or [])
    if "description" in values:
        values["description"] = values["description"] or ""
    if "steps" in values:
        values["steps"] = [ActionStep(**asdict(step)) for step in values["steps"]]
        check_steps(values["steps"])
    return values
