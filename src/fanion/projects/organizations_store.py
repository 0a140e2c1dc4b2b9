"""Who is in an organization, in the records store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct
from sqlalchemy import Row, func, select

from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, users
from fanion.projects.model import UserSummary

_NAMES = ("id", "uuid", "distinct_id", "first_name", "email", "is_email_verified")

# Columns of a statement that joins the user, none of which may be there.
USER_SUMMARY = tuple(users.c[name].label(f"by_{name}") for name in _NAMES)


def user_summary(row: Row[Any]) -> UserSummary | None:
    """Of a row with the columns USER_SUMMARY."""
    values = row._mapping
    if values["by_id"] is None:
        return None
    return UserSummary(*(values[f"by_{name}"] for name in _NAMES))


_member = memberships.c
_PEOPLE = (
    select(
        _member.level,
        _member.joined_at,
        *USER_SUMMARY,
    )
    .select_from(memberships.join(users, users.c.id == _member.user_id))
    .order_by(_member.joined_at, _member.user_id)
)


class OrganizationMember(Struct, frozen=True, kw_only=True):
    """level: 1 member, 8 administrator, 15 owner"""

    user: UserSummary
    level: int
    joined_at: datetime


async def members_page(
    records: Records, organization_id: UUID, limit: int, offset: int
) -> tuple[Sequence[OrganizationMember], int]:
    """Who joined first stands first, with the number of all of them."""
    theirs = _member.organization_id == organization_id
    async with records.read() as connection:
        total = await connection.scalar(select(func.count()).select_from(memberships).where(theirs))
        rows = await connection.execute(_PEOPLE.where(theirs).limit(limit).offset(offset))
        found = [
            OrganizationMember(level=row[0], joined_at=row[1], user=UserSummary(*row[2:]))
            for row in rows
        ]
        return found, total or 0
