"""Codes of an authenticator app (TOTP), and recovery codes. Clock and randomness are passed in.

Source: RFC 6238; RFC 4226.
"""

import re
from base64 import b32encode
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from math import ceil

from pyotp import TOTP

SECRET_BYTES = 20  # RFC 4226 section 4, R6
STEP_S = 30
# Codes of the previous and the next step are accepted too, because clocks of phones differ.
STEPS_AROUND = 1
ISSUER = "Fanion"  # as the app shows it

RECOVERY_CODES = 10
# 16 characters: long enough that the hash needs no salt and wrong codes need no delay.
RECOVERY_BYTES = 10
_GROUP_CHARS = 4

# People type codes with separators: apps show them with a space.
CODE_CHARS_MAX = 40
_TOTP_CODE = re.compile(r"[0-9]{6}")
_RECOVERY_CODE = re.compile(r"[a-z2-7]{16}")
_SEPARATORS = str.maketrans("", "", " -")


def totp_secret(random: bytes) -> str:
    """Encode a secret in base32, as apps read it.

    Args:
        random: SECRET_BYTES random bytes.
    """
    return b32encode(random).decode()


def provisioning_uri(secret: str, email: str) -> str:
    """Return the content of the QR code for the app: `otpauth://totp/…`."""
    return TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER)


def plain_code(text: str) -> str:
    """Return a code in lower case, without the separators that people type."""
    return text[:CODE_CHARS_MAX].translate(_SEPARATORS).lower()


def is_totp_code(code: str) -> bool:
    """Return whether the text has the form of an app's code.

    Args:
        code: As returned by `plain_code`.
    """
    return bool(_TOTP_CODE.fullmatch(code))


def is_recovery_code(code: str) -> bool:
    """Return whether the text has the form of a recovery code.

    Args:
        code: As returned by `plain_code`.
    """
    return bool(_RECOVERY_CODE.fullmatch(code))


def matching_step(secret: str, code: str, now: datetime, after: int) -> int | None:
    """Return the time step that has this code, or None for a wrong code.

    Args:
        after: The step of the code that was accepted last. Codes up to this step are used up.

    Source: RFC 6238 section 5.2.
    """
    if not is_totp_code(code):
        return None
    totp, present = TOTP(secret), int(now.timestamp()) // STEP_S
    steps = range(present - STEPS_AROUND, present + STEPS_AROUND + 1)
    matching = [step for step in steps if compare_digest(totp.generate_otp(step), code)]
    return next((step for step in matching if step > after), None)


def recovery_code(random: bytes) -> str:
    """Return a recovery code like `abcd-efgh-ijkl-mnop`.

    Args:
        random: RECOVERY_BYTES random bytes.
    """
    text = b32encode(random).decode().lower()
    return "-".join(text[at : at + _GROUP_CHARS] for at in range(0, len(text), _GROUP_CHARS))


def recovery_codes(random: bytes) -> Sequence[str]:
    """Return RECOVERY_CODES recovery codes.

    Args:
        random: RECOVERY_CODES * RECOVERY_BYTES random bytes.
    """
    return [
        recovery_code(random[at : at + RECOVERY_BYTES])
        for at in range(0, len(random), RECOVERY_BYTES)
    ]


def hash_recovery_code(code: str) -> str:
    """Return the hash that is stored instead of a recovery code.

    Args:
        code: As returned by `plain_code`.
    """
    return "sha256$" + sha256(code.encode()).hexdigest()


# Three of the codes of six digits are valid at a time. At one guess each DELAY_MAX_S, a whole year
# of guesses finds one with a probability of a tenth. Recovery codes are accepted without a delay.
FREE_FAILURES = 5
DELAY_FIRST_S = 2.0
DELAY_MAX_S = 900.0
_DOUBLINGS_MAX = 20


def delay_s(failures: int) -> float:
    """Return the delay after this number of wrong codes in a row."""
    beyond = failures - FREE_FAILURES
    if beyond < 0:
        return 0.0
    return min(DELAY_FIRST_S * 2.0 ** min(beyond, _DOUBLINGS_MAX), DELAY_MAX_S)


def wait_s(failures: int, failed_at: datetime | None, now: datetime) -> int:
    """Return the whole seconds until the next code is checked; 0 for no wait.

    If the clock was set back, the wait is no longer than the delay itself.
    """
    if failed_at is None:
        return 0
    passed = max(0.0, (now - failed_at).total_seconds())
    return max(0, ceil(delay_s(failures) - passed))
