"""The session cookie, and those of a sign-in that is not complete: read from a request's header,
written for a response.

source: RFC 6265bis sections 4.1.3.2 (`__Host-`) and 5.6.7 (`SameSite`)
"""

import re
from dataclasses import dataclass
from functools import cache

from fanion.accounts.model import LIFETIME_MAX

# Over https a browser takes the name with the prefix from this host alone, and with `Secure` only.
SECURE_NAME = "__Host-fanion"
PLAIN_NAME = "fanion"
# A longer header has no session: it takes milliseconds to read one of the largest size.
HEADER_CHARS_MAX = 16 * 1024
_ATTRIBUTES = "; Path=/; HttpOnly; SameSite=Lax"


def cookie_name(origin: str) -> str:
    """origin: of the request, as the client sees it"""
    return SECURE_NAME if origin[:8].lower() == "https://" else PLAIN_NAME


def read_cookie(header: str | None, origin: str) -> str | None:
    """The value of the session's cookie; None without one, and for several different ones.

    header: `Cookie`, in which another site of the same host may have put anything: a browser sends
            the cookie with the longer path first, and does not say who has set it
    """
    return _read(header, cookie_name(origin))


def _read(header: str | None, name: str) -> str | None:
    if not header or len(header) > HEADER_CHARS_MAX:
        return None
    found = {value.strip() for value in _values(name).findall(header)}
    return found.pop() or None if len(found) == 1 else None


@cache
def _values(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|;)[ \t]*{re.escape(name)}[ \t]*=([^;]*)")


def set_cookie(value: str, origin: str) -> str:
    """For `Set-Cookie`. The browser keeps it as long as the session can last at most."""
    return _cookie(cookie_name(origin), value, int(LIFETIME_MAX.total_seconds()))


def clear_cookie(origin: str) -> str:
    """For `Set-Cookie`."""
    return _cookie(cookie_name(origin), "", 0)


@dataclass(frozen=True, slots=True)
class ShortCookie:
    """Binds a sign-in that is not complete to its browser, as well protected as a session's.

    purpose: the end of its name
    """

    purpose: str
    lasts_s: int

    def name(self, origin: str) -> str:
        return f"{cookie_name(origin)}-{self.purpose}"

    def read(self, header: str | None, origin: str) -> str | None:
        return _read(header, self.name(origin))

    def set(self, value: str, origin: str) -> str:
        """For `Set-Cookie`."""
        return _cookie(self.name(origin), value, self.lasts_s)

    def clear(self, origin: str) -> str:
        """For `Set-Cookie`."""
        return _cookie(self.name(origin), "", 0)


def _cookie(name: str, value: str, age_s: int) -> str:
    secure = "; Secure" if name.startswith(SECURE_NAME) else ""
    return f"{name}={value}; Max-Age={age_s}{_ATTRIBUTES}{secure}"
