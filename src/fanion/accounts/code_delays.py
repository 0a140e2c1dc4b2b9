"""How long an account waits after wrong codes of its second factor. Pure."""

from datetime import datetime
from math import ceil

# Of six digits three codes are valid at a time. At most DELAY_MAX_S apart, guesses of a whole year
# find one with a probability of a tenth; a recovery code is accepted without a delay meanwhile.
FREE_FAILURES = 5
DELAY_FIRST_S = 2.0
DELAY_MAX_S = 900.0
_DOUBLINGS_MAX = 20


def delay_s(failures: int) -> float:
    """After so many wrong codes in a row."""
    beyond = failures - FREE_FAILURES
    if beyond < 0:
        return 0.0
    return min(DELAY_FIRST_S * 2.0 ** min(beyond, _DOUBLINGS_MAX), DELAY_MAX_S)


def wait_s(failures: int, failed_at: datetime | None, now: datetime) -> int:
    """Whole seconds until the next code is checked; 0 for now. A clock that was set back makes
    nobody wait longer than the delay itself."""
    if failed_at is None:
        return 0
    passed = max(0.0, (now - failed_at).total_seconds())
    return max(0, ceil(delay_s(failures) - passed))
