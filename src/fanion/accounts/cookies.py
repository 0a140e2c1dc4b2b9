"""The session cookie: read from a request's header, written for a response.

source: RFC 6265bis sections 4.1.3.2 (`__Host-`) and 5.6.7 (`SameSite`)
"""

import re

from fanion.accounts.model import LIFETIME_MAX

# Over https a browser takes the name with the prefix from this host alone, and with `Secure` only.
SECURE_NAME = "__Host-fanion"
PLAIN_NAME = "fanion"
# A longer header has no session: it takes milliseconds to read one of the largest size.
HEADER_CHARS_MAX = 16 * 1024
_VALUES = {
    name: re.compile(rf"(?:^|;)[ \t]*{name}[ \t]*=([^;]*)") for name in (SECURE_NAME, PLAIN_NAME)
}
_ATTRIBUTES = "; Path=/; HttpOnly; SameSite=Lax"


def cookie_name(origin: str) -> str:
    """origin: of the request, as the client sees it"""
    return SECURE_NAME if origin[:8].lower() == "https://" else PLAIN_NAME


def read_cookie(header: str | None, origin: str) -> str | None:
    """The value of the session's cookie; None without one, and for several different ones.

    header: `Cookie`, in which another site of the same host may have put anything: a browser sends
            the cookie with the longer path first, and does not say who has set it
    """
    if not header or len(header) > HEADER_CHARS_MAX:
        return None
    found = {value.strip() for value in _VALUES[cookie_name(origin)].findall(header)}
    return found.pop() or None if len(found) == 1 else None


def set_cookie(value: str, origin: str) -> str:
    """For `Set-Cookie`. The browser keeps it as long as the session can last at most."""
    return _cookie(value, int(LIFETIME_MAX.total_seconds()), origin)


def clear_cookie(origin: str) -> str:
    """For `Set-Cookie`."""
    return _cookie("", 0, origin)


def _cookie(value: str, age_s: int, origin: str) -> str:
    name = cookie_name(origin)
    secure = "; Secure" if name == SECURE_NAME else ""
    return f"{name}={value}; Max-Age={age_s}{_ATTRIBUTES}{secure}"
