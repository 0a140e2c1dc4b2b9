"""The session cookie and the cookies of unfinished sign-ins.

They are read from the header of a request, and written for a response.

Source: RFC 6265bis sections 4.1.3.2 (`__Host-`) and 5.6.7 (`SameSite`).
"""

import re
from dataclasses import dataclass
from functools import cache

from fanion.accounts.model import LIFETIME_MAX

# Over https a browser accepts a name with this prefix only from this host, and only with `Secure`.
SECURE_NAME = "__Host-fanion"
PLAIN_NAME = "fanion"
# A longer header is not read: reading one of the largest size takes milliseconds.
HEADER_CHARS_MAX = 16 * 1024
_ATTRIBUTES = "; Path=/; HttpOnly; SameSite=Lax"


def cookie_name(origin: str) -> str:
    """Return the name of the session cookie, which depends on the scheme.

    Args:
        origin: The origin of the request, as the client sees it.
    """
    return SECURE_NAME if origin[:8].lower() == "https://" else PLAIN_NAME


def read_cookie(header: str | None, origin: str) -> str | None:
    """Return the value of the session cookie, or None if there is none or there are different ones.

    Args:
        header: The `Cookie` header. Another site of the same host may have put anything into it: a
            browser sends the cookie with the longer path first, and does not say who has set it.
    """
    return _read_value(header, cookie_name(origin))


def _read_value(header: str | None, name: str) -> str | None:
    if not header or len(header) > HEADER_CHARS_MAX:
        return None
    values = {value.strip() for value in _value_pattern(name).findall(header)}
    return values.pop() or None if len(values) == 1 else None


@cache
def _value_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|;)[ \t]*{re.escape(name)}[ \t]*=([^;]*)")


def set_cookie(value: str, origin: str) -> str:
    """Return the `Set-Cookie` header of a session, kept as long as a session can last at most."""
    return _set_cookie_header(cookie_name(origin), value, int(LIFETIME_MAX.total_seconds()))


def clear_cookie(origin: str) -> str:
    """Return the `Set-Cookie` header that removes the session cookie."""
    return _set_cookie_header(cookie_name(origin), "", 0)


@dataclass(frozen=True, slots=True)
class ShortCookie:
    """A cookie that binds an unfinished sign-in to its browser, as well protected as a session's.

    Attributes:
        purpose: The end of the cookie's name.
    """

    purpose: str
    lasts_s: int

    def name(self, origin: str) -> str:
        return f"{cookie_name(origin)}-{self.purpose}"

    def read(self, header: str | None, origin: str) -> str | None:
        return _read_value(header, self.name(origin))

    def set(self, value: str, origin: str) -> str:
        """Return the `Set-Cookie` header that sets the cookie."""
        return _set_cookie_header(self.name(origin), value, self.lasts_s)

    def clear(self, origin: str) -> str:
        """Return the `Set-Cookie` header that removes the cookie."""
        return _set_cookie_header(self.name(origin), "", 0)


def _set_cookie_header(name: str, value: str, age_s: int) -> str:
    secure = "; Secure" if name.startswith(SECURE_NAME) else ""
    return f"{name}={value}; Max-Age={age_s}{_ATTRIBUTES}{secure}"
