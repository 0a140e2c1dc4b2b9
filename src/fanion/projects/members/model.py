"""Members of an organization as other members and the operator change them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from fanion.errors import Invalid
from fanion.projects.model import Level


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an organization.

    Attributes:
        keys: The number of personal keys.
        last_used_at: The latest use of any of the keys.
    """

    user_id: int
    uuid: UUID
    email: str
    first_name: str
    level: Level
    is_active: bool
    joined_at: datetime
    keys: int
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewMember:
    """A member that is to be added.

    Attributes:
        email: Normalised by `read_email`.
        key_label: The label of the first personal key.
        key_expires_at: The expiry of the first personal key.
    """

    email: str
    first_name: str
    level: Level
    key_label: str
    key_expires_at: datetime | None = None


def address_taken() -> Invalid:
    return Invalid("There is already a user with this e-mail address.", code="unique", attr="email")


def last_owner(member: Member) -> Invalid:
    return Invalid(
        f"{member.email} is the last active owner. Make another member an owner first.",
        code="last_owner",
    )
