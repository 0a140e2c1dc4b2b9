"""Details of events and properties: description, owner, tags and marks, as users set them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from fanion.activity.model import Author
from fanion.errors import Invalid
from fanion.projects.model import UserSummary
from fanion.rest.validation import INTEGER_MAX, normal_tags

DESCRIPTION_CHARS_MAX: Final = 1_000
# Columns of the stored details that have another name than their field.
_USERS: Mapping[str, str] = {
    "owner": "owner_id",
    "verified_by": "verified_by_id",
    "updated_by": "updated_by_id",
}


class Details(Struct, frozen=True, kw_only=True):
    """The description, owner, tags and marks of an event or a property, and who set them."""

    description: str
    tags: list[str]
    owner: UserSummary | None
    hidden: Annotated[bool, Meta(description="Hidden from lists of suggestions.")]
    verified: Annotated[bool, Meta(description="Known to be correct. Excludes `hidden`.")]
    verified_at: datetime | None
    verified_by: UserSummary | None
    updated_at: Annotated[datetime | None, Meta(description="When a user last changed it.")]
    updated_by: UserSummary | None

    @property
    def recorded_details(self) -> Mapping[str, Any]:
        """Return the fields whose changes are recorded in the activity log, as JSON."""
        return {
            "description": self.description,
            "owner": self.owner and self.owner.email,
            "tags": self.tags,
            "hidden": self.hidden,
            "verified": self.verified,
        }


NO_DETAILS: Final = Details(
    description="",
    tags=[],
    owner=None,
    hidden=False,
    verified=False,
    verified_at=None,
    verified_by=None,
    updated_at=None,
    updated_by=None,
)


class Marks(Struct, frozen=True, kw_only=True):
    """The marks that users gave an event; never both."""

    hidden: Annotated[bool, Meta(description="Hidden from lists of suggestions.")]
    verified: Annotated[bool, Meta(description="Known to be correct. Excludes `hidden`.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailQuery:
    """The conditions of a list on details.

    Attributes:
        tags: One of them must match; none of them for any.
        owner: The id of a user, or None for any.
        hidden: True, False, or None for any.
        verified: True, False, or None for any.
    """

    tags: Collection[str] = ()
    owner: int | None = None
    hidden: bool | None = None
    verified: bool | None = None


def read_hidden(hidden: bool | None, exclude_hidden: bool) -> bool | None:
    """Return the value of `hidden`; `exclude_hidden` is another name of `hidden=false`.

    Raises:
        Invalid: The parameters exclude each other.
    """
    if hidden and exclude_hidden:
        raise Invalid("Set hidden or exclude_hidden, not both.", attr="exclude_hidden")
    return False if exclude_hidden else hidden


def changed_columns(before: Details, sent: Mapping[str, Any], author: Author) -> dict[str, Any]:
    """Return the columns to write for the sent fields of a change.

    Each mark takes the place of the other.

    Raises:
        Invalid: Both marks are to be set.
    """
    values = {name: value for name, value in sent.items() if (name, value) != ("tags", None)}
    if "tags" in values:
        values["tags"] = normal_tags(values["tags"])
    if "owner" in values:
        values["owner"] = _owner_id(values["owner"])
    if "description" in values:
        values["description"] = values["description"] or ""
    if values.get("hidden") and values.get("verified"):
        raise Invalid("hidden and verified cannot both be set.", attr="verified")
    if values.get("hidden"):
        values["verified"] = False
    elif values.get("verified"):
        values["hidden"] = False
    if values.get("verified", before.verified) != before.verified:
        verified = values["verified"]
        values["verified_at"] = author.now if verified else None
        values["verified_by"] = author.user_id if verified else None
    if values:
        values["updated_by"] = author.user_id
    return {_USERS.get(name, name): value for name, value in values.items()}


def _owner_id(owner: object) -> int | None:
    """Return the id in an owner as sent: an id, or a user as responses have it."""
    user_id = owner.get("id") if isinstance(owner, dict) else owner
    if user_id is None and owner is None:
        return None
    if isinstance(user_id, bool) or not isinstance(user_id, int) or not 0 < user_id <= INTEGER_MAX:
        raise Invalid("Must be the id of a member of the organization, or null.", attr="owner")
    return user_id


def user_ids(row: Any) -> tuple[int | None, ...]:
    """Return the users in a row with stored details."""
    return tuple(getattr(row, column) for column in _USERS.values())


def stored_details(row: Any, users: Mapping[int, UserSummary]) -> Mapping[str, Any]:
    """Return the fields of details in a row of a definition that may have none.

    Args:
        users: By id. Users who have left the organization are still known.
    """
    verified = bool(row.verified)
    return {
        "description": row.description or "",
        "tags": row.tags or [],
        "owner": users.get(row.owner_id),
        "hidden": bool(row.hidden),
        "verified": verified,
        # A server of an earlier version sets the mark alone.
        "verified_at": row.verified_at if verified else None,
        "verified_by": users.get(row.verified_by_id) if verified else None,
        "updated_at": row.updated_at,
        "updated_by": users.get(row.updated_by_id),
    }
