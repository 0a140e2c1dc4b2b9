"""Request and response bodies of the actions endpoints."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.actions.model import (
    DESCRIPTION_CHARS_MAX,
    NAME_CHARS_MAX,
    ActionRecord,
    ActionStep,
)
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_ACTION,
    OF_ACTION_STEP,
    UNSUPPORTED_OF_ACTION,
)
from fanion.rest.validation import shared_fields

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
Description = Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)]
ExpectedTime = Annotated[
    datetime,
    Meta(description="`updated_at` of what the change is based on; 409 if it is older."),
]


class SentStep(ActionStep, frozen=True, kw_only=True):
    also_known: ClassVar[frozenset[str]] = OF_ACTION_STEP


Steps = Annotated[list[SentStep], Meta(description="An event counts if it matches any of them.")]


class NewAction(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_ACTION
    unsupported: ClassVar[Mapping[str, str]] = {
        **UNSUPPORTED_OF_ACTION,
        "deleted": "This field can only be set after creation.",
    }

    name: Name
    steps: Steps
    description: Description | None = None
    tags: list[str] | None = None


class ActionChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_ACTION
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_ACTION

    name: Name | UnsetType = UNSET
    steps: Steps | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    deleted: bool | UnsetType = UNSET
    expected_updated_at: ExpectedTime | UnsetType | None = UNSET


class ActionBody(ActionRecord, frozen=True, kw_only=True):
    is_action: bool = True
    is_calculating: bool = False
    last_calculated_at: datetime
    post_to_slack: bool = False
    slack_message_format: str = ""


def action_body(action: ActionRecord) -> ActionBody:
    """Return the body of an action; nothing is calculated ahead, so it is always up to date."""
    own = shared_fields(action, ActionRecord)
    return ActionBody(**own, last_calculated_at=action.updated_at)
