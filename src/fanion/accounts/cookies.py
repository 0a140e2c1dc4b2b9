"""The session cookie: read from a request's header, written for a response.

source: RFC 6265bis sections 4.1.3.2 (`__Host-`) and 5.6.7 (`SameSite`)
"""

from fanion.accounts.model import LIFETIME_MAX

# Over https a browser takes the name with the prefix from this host alone, and with `Secure` only.
SECURE_NAME = "__Host-fanion"
PLAIN_NAME = "fanion"
_ATTRIBUTES = "; Path=/; HttpOnly; SameSite=Lax"


def cookie_name(origin: str) -> str:
    """origin: of the request, as the client sees it"""
    return SECURE_NAME if origin.startswith("https://") else PLAIN_NAME


def read_cookie(header: str | None, origin: str) -> str | None:
    """The value of the session's cookie; None without one.

    header: `Cookie`, in which another site of the same host may have put anything
    """
    if not header:
        return None
    name = cookie_name(origin)
    for pair in header.split(";"):
        found, equals, value = pair.partition("=")
        if equals and found.strip() == name:
            return value.strip() or None
    return None


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
