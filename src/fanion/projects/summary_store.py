"""Users as others see them, beside what they made."""

from typing import Any

from sqlalchemy import Row

from fanion.db.schema.tables import users
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
