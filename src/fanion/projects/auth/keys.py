"""The text of project tokens, personal keys and secret keys of projects.

Source: capture.md, section 9.1.
"""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Literal

KEY_BYTES = 32
# Keys have 47 characters. Text longer than the column of tokens is not a key, and is not hashed:
# hashing a whole body would block the event loop for tens of milliseconds.
KEY_CHARS_MAX = 200
KEY_LABEL_CHARS_MAX = 40  # as in PostHog
PROJECT_TOKEN_PREFIX = "phc_"
PERSONAL_KEY_PREFIX = "phx_"
SECRET_KEY_PREFIX = "phs_"
LIFETIME_MAX = timedelta(days=3650)  # for personal keys that expire
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DURATION = re.compile(r"([0-9]{1,6})([dh])")
# Schemes are case-insensitive (RFC 9110 section 11.1).
_BEARER = re.compile(r"Bearer\s+(\S.*)", re.DOTALL | re.IGNORECASE | re.ASCII)


def project_token(random: bytes) -> str:
    """Encode a project token.

    Args:
        random: KEY_BYTES random bytes.
    """
    return PROJECT_TOKEN_PREFIX + _base62(random)


def personal_key(random: bytes) -> str:
    """Encode a personal key.

    Args:
        random: KEY_BYTES random bytes.
    """
    return PERSONAL_KEY_PREFIX + _base62(random)


def secret_key(random: bytes) -> str:
    """Encode a secret key of a project.

    Args:
        random: KEY_BYTES random bytes.
    """
    return SECRET_KEY_PREFIX + _base62(random)


def hash_key(key: str) -> str:
    """Return the hash that is stored instead of a key, which is long enough to need no salt."""
    return "sha256$" + hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def mask(key: str) -> str:
    """Return enough of a key to recognise it: its first four and its last four characters."""
    return f"{key[:4]}...{key[-4:]}"


def kind_of(key: str) -> Literal["project", "personal", "secret"]:
    """Return the kind of an unknown key, by its prefix; `project` without a known prefix."""
    if key.startswith(PERSONAL_KEY_PREFIX):
        return "personal"
    return "secret" if key.startswith(SECRET_KEY_PREFIX) else "project"


def prefix_of(key: str) -> str:
    """Return the prefix of an unknown key, for the log.

    Text without a known prefix may be a password and is not logged.
    """
    known = (PROJECT_TOKEN_PREFIX, PERSONAL_KEY_PREFIX, SECRET_KEY_PREFIX)
    return next((prefix for prefix in known if key.startswith(prefix)), "")


def bearer_key(authorization: str | None) -> str | None:
    """Return the key of an Authorization header, or None for another scheme."""
    match = _BEARER.fullmatch((authorization or "").strip())
    return match[1].strip() if match else None


def check_expiry(expires_at: datetime, now: datetime) -> None:
    """Raise ValueError, with the allowed range, unless a key may expire at this time."""
    if expires_at <= now:
        raise ValueError("Ensure this time is in the future.")
    if expires_at - now > LIFETIME_MAX:
        raise ValueError(f"Ensure this time is within {LIFETIME_MAX.days} days.")


def read_expiry(text: str, now: datetime) -> datetime:
    """Parse an expiry: `90d` or `12h` from now, or a date or time in ISO 8601.

    Without an offset it is in UTC.

    Raises:
        ValueError: The message says what is allowed.
    """
    match = _DURATION.fullmatch(text.strip())
    if match:
        amount = int(match[1])
        after = timedelta(days=amount) if match[2] == "d" else timedelta(hours=amount)
        expires_at = now + min(after, LIFETIME_MAX + timedelta(days=1))
    else:
        try:
            expires_at = datetime.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(
                f"{text!r} is not a number of days or hours, as 90d or 12h, nor a date or time."
            ) from None
        if expires_at.tzinfo is None:
            expires_at = expires_at.replace(tzinfo=UTC)
    check_expiry(expires_at, now)
    return expires_at


def _base62(random: bytes) -> str:
    number = int.from_bytes(random)
    digits = []
    while number:
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
