"""How many backups are kept, as settings and commands say it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

KEEP_MAX: Final = 10_000
KEEP_DAYS_MAX: Final = 36_500


@dataclass(frozen=True, slots=True)
class Keep:
    """How many backups, or those of how much time, are kept; the newest one always is."""

    number: int | None = None
    age: timedelta | None = None


def read_keep(text: str) -> Keep:
    """Parse `14` (backups) or `30d` (days); an empty text keeps all.

    Raises:
        ValueError: The text is neither. Its message names the text and what is allowed.
    """
    if not text:
        return Keep()
    digits, is_days = text.removesuffix("d"), text.endswith("d")
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0
    if not 1 <= number <= (KEEP_DAYS_MAX if is_days else KEEP_MAX):
        raise ValueError(
            f"{text!r} is neither a number of backups, 1 to {KEEP_MAX}, nor of days, 1d to "
            f"{KEEP_DAYS_MAX}d"
        )
    return Keep(age=timedelta(days=number)) if is_days else Keep(number=number)
