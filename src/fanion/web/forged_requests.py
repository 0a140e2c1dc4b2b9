"""The checks that our own page, and not another site, has made a browser send a request.

Source: OWASP, Cross-Site Request Forgery Prevention; W3C, Fetch Metadata Request Headers.
"""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from fanion.errors import ForgedRequest

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# No form can send this header, and a script of another origin only after a preflight, which is
# refused.
CONSOLE_HEADER, CONSOLE = "x-fanion-console", "1"
FETCH_SITE, SAME_ORIGIN = "sec-fetch-site", "same-origin"
# The user has typed the address, or opened a bookmark.
BY_USER = "none"


def names_console(headers: Mapping[str, str]) -> bool:
    return headers.get(CONSOLE_HEADER) == CONSOLE


def require_own_page(
    headers: Mapping[str, str], own: Collection[str], *, has_session: bool
) -> None:
    """Check a request that changes something.

    Args:
        own: The origins at which the server is reached; they may have a path.
        has_session: Whether the request is made with a session's cookie. Otherwise it signs in,
            and need not come from a browser; a page elsewhere must not sign a visitor in.

    Raises:
        ForgedRequest: Another site may have caused the request.
    """
    is_own = _is_own(headers, own, (SAME_ORIGIN,))
    if is_own is None:
        is_own = not has_session
    if not is_own or (has_session and not names_console(headers)):
        raise ForgedRequest


def require_no_other_page(
    headers: Mapping[str, str], own: Collection[str], *, changes: bool = False
) -> None:
    """Check a GET with a session's cookie.

    No page elsewhere may learn what it answers, or how long that takes.

    Args:
        own: The origins at which the server is reached; they may have a path.
        changes: Whether the GET changes something nevertheless. Then our header must show that one
            of our pages asks for it: over http a browser says nothing else about a GET.

    Raises:
        ForgedRequest: Another site may have caused the request.
    """
    is_own = _is_own(headers, own, (SAME_ORIGIN, BY_USER))
    if is_own is False or (changes and not names_console(headers)):
        raise ForgedRequest


def _is_own(
    headers: Mapping[str, str], own: Collection[str], allowed: Collection[str]
) -> bool | None:
    """Return whether the request comes from our own page, or None if nothing says so.

    Args:
        allowed: The accepted values of Sec-Fetch-Site.
    """
    site, origin = headers.get(FETCH_SITE), headers.get("origin")
    if site is not None:
        return site in allowed
    return None if origin is None else origin.lower() in {origin_of(url) for url in own}


def origin_of(url: str) -> str:
    """Return the origin as browsers send it: without path and without the scheme's default port."""
    parts = urlsplit(url.lower())
    implied = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.removesuffix(implied) if implied else parts.netloc}"
