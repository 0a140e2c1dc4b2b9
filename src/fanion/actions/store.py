"""Actions in the records store."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from fanion.actions.conditions import ResolvedAction, resolve_action
from fanion.actions.model import ACTIONS_MAX, ActionRecord, ActionStep, PlainAction
from fanion.db.engine import Records
from fanion.db.schema.events import actions
from fanion.projects.named_items.store import NamedItems


def _action_of(values: Mapping[str, Any]) -> ActionRecord:
    steps = msgspec.convert(values["steps"], list[ActionStep])
    return ActionRecord(**{**values, "steps": steps})


ACTIONS: Final = NamedItems(
    table=actions,
    columns=tuple(name for name in ActionRecord.__struct_fields__ if name != "created_by"),
    recorded=(*PlainAction.__struct_fields__, "deleted"),
    read=_action_of,
    scope="Action",
    article="an",
    noun="action",
    count_max=ACTIONS_MAX,
)


async def resolve_actions(
    records: Records, project_id: int, ids: Collection[int]
) -> Mapping[int, ResolvedAction]:
    """Return the actions with these ids, by id, without deleted and unknown ones."""
    if not ids:
        return {}
    async with records.read() as connection:
        found = await connection.run_sync(ACTIONS.some, project_id, ids)
    return {action.id: resolve_action(action) for action in found}
