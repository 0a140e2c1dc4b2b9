"""The text of project tokens, personal keys and secret keys of projects.

source: capture.md section 9.1
"""

import hashlib
import re

KEY_BYTES = 32
SECRET_KEY_PREFIX = "phs_"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BEARER = re.compile(r"Bearer\s+(\S.*)", re.DOTALL)


def project_token(chance: bytes) -> str:
    """chance: KEY_BYTES random bytes"""
    return "phc_" + _base62(chance)


def personal_key(chance: bytes) -> str:
    """chance: KEY_BYTES random bytes"""
    return "phx_" + _base62(chance)


def secret_key(chance: bytes) -> str:
    """Of a project. chance: KEY_BYTES random bytes"""
    return SECRET_KEY_PREFIX + _base62(chance)


def hash_key(key: str) -> str:
    """What is kept of a personal key. A random key is long enough to need no salt."""
    return "sha256$" + hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def mask(key: str) -> str:
    """Enough to recognise a key: its first four and its last four characters."""
    return f"{key[:4]}...{key[-4:]}"


def bearer_key(authorization: str | None) -> str | None:
    """The key of an Authorization header; another scheme counts as none."""
    found = _BEARER.fullmatch((authorization or "").strip())
    return found[1].strip() if found else None


def _base62(chance: bytes) -> str:
    number = int.from_bytes(chance)
    digits = []
    while number:
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
