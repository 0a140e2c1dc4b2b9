"""The checks of an action before it is stored."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec.structs import asdict

from fanion.actions.conditions import check_steps
from fanion.actions.model import ActionRecord, ActionStep
from fanion.projects.named_items.service import NamedItemService
from fanion.rest.validation import normal_tags

ActionService: TypeAlias = NamedItemService[ActionRecord]


async def check_action(_: int, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked fields, with empty values instead of null.

    Raises:
        Invalid: A step cannot be compared.
    """
    return await asyncio.to_thread(_normalised, sent)


def _normalised(sent: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(sent)
    if "tags" in values:
        values["tags"] = normal_tags(values["tags"] or [])
    if "description" in values:
        values["description"] = values["description"] or ""
    if "steps" in values:
        values["steps"] = [ActionStep(**asdict(step)) for step in values["steps"]]
        check_steps(values["steps"])
    return values
