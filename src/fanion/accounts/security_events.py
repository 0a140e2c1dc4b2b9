"""What happens at an account, as the activity of its organizations records it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

# `logged_in` and `logged_out` are PostHog's words.
SecurityActivity = Literal[
    "logged_in",
    "login_failed",
    "logged_out",
    "session_ended",
    "password_changed",
    "password_reset_requested",
    "email_changed",
    "second_factor_added",
    "second_factor_removed",
    "recovery_codes_replaced",
    "recovery_code_used",
    "invite_created",
]
SECURITY_ACTIVITIES: tuple[str, ...] = get_args(SecurityActivity)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityEvent:
    """user_id: of the account
    by_user:  who did it; None for the operator, the server, and somebody who is not signed in
    details:  circumstances, such as `method` and `address`; never a secret
    """

    activity: SecurityActivity
    user_id: int
    by_user: int | None
    now: datetime
    details: Mapping[str, Any] = field(default_factory=dict)


def by_owner(
    activity: SecurityActivity, user_id: int, now: datetime, **details: Any
) -> SecurityEvent:
    """What the account's owner did."""
    return SecurityEvent(
        activity=activity, user_id=user_id, by_user=user_id, now=now, details=details
    )
