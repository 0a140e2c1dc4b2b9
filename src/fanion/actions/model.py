"""Actions: named unions of events, each step of which is an event with conditions."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from fanion.projects.model import UserSummary

NAME_CHARS_MAX: Final = 400
DESCRIPTION_CHARS_MAX: Final = 1_000
EVENT_CHARS_MAX: Final = 200  # names are cut to this length when they are captured
VALUE_CHARS_MAX: Final = 2_000
ACTIONS_MAX: Final = 500  # in one project
STEPS_MAX: Final = 20
# Conditions of all steps of one action. The text of a statement grows with each.
CONDITIONS_MAX: Final = 50

Matching = Literal["exact", "contains", "regex"]
EventName = Annotated[
    str, Meta(max_length=EVENT_CHARS_MAX, description="Name of the event; null for any.")
]
Value = Annotated[str, Meta(max_length=VALUE_CHARS_MAX)]


class ActionStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of an action: an event that fulfils all of the conditions.

    Conditions that are null or empty do not restrict anything.
    """

    event: EventName | None = None
    properties: Annotated[
        list[Any] | None, Meta(description="Conditions on the event and its person.")
    ] = None
    url: Annotated[Value, Meta(description="Compared with `$current_url`.")] | None = None
    url_matching: Annotated[
        Matching | None, Meta(description="How `url` is compared; `contains` if null.")
    ] = None
    text: Annotated[Value, Meta(description="Text of a clicked element.")] | None = None
    text_matching: Annotated[
        Matching | None, Meta(description="How `text` is compared; `exact` if null.")
    ] = None
    href: Annotated[Value, Meta(description="Target of a clicked link.")] | None = None
    href_matching: Annotated[
        Matching | None, Meta(description="How `href` is compared; `exact` if null.")
    ] = None
    selector: Annotated[Value, Meta(description="CSS selector of a clicked element.")] | None = None
    tag_name: (
        Annotated[Value, Meta(description="Tag of a clicked element, such as `button`.")] | None
    ) = None


class PlainAction(Struct, frozen=True, kw_only=True):
    """The fields of an action that users set: those that are recorded, exported and imported."""

    name: str
    description: str = ""
    tags: list[str] = []
    steps: list[ActionStep]


class ActionRecord(PlainAction, frozen=True, kw_only=True):
    """An action as it is stored and returned."""

    id: int
    deleted: bool
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime
