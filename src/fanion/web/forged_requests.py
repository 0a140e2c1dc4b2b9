"""Whether our own page asked a browser for a request, or another site did.

source: OWASP, Cross-Site Request Forgery Prevention; W3C, Fetch Metadata Request Headers
"""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from fanion.errors import ForgedRequest

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# No form can send it, and a script of another origin only after a preflight, which is refused.
CONSOLE_HEADER, CONSOLE = "x-fanion-console", "1"
FETCH_SITE, SAME_ORIGIN = "sec-fetch-site", "same-origin"
# Typed, or from a bookmark.
BY_USER = "none"


def names_console(headers: Mapping[str, str]) -> bool:
    return headers.get(CONSOLE_HEADER) == CONSOLE


def require_own_page(
    headers: Mapping[str, str], own: Collection[str], *, has_session: bool
) -> None:
    """For a request that changes something.

    own:         the origins at which the server is reached; they may have a path
    has_session: whether it is made with a session's cookie. Otherwise it signs in, and need not
                 come from a browser; a page elsewhere must not sign a visitor in.
    raises:      ForgedRequest
    """
    is_own = _is_own(headers, own, (SAME_ORIGIN,))
    if is_own is None:
        is_own = not has_session
    if not is_own or (has_session and not names_console(headers)):
        raise ForgedRequest


def require_no_other_page(
    headers: Mapping[str, str], own: Collection[str], *, changes: bool = False
) -> None:
    """For a GET with a session's cookie: no page elsewhere is concerned with what it answers, or
    with how long that takes.

    own:     as of `require_own_page`
    changes: whether it changes something all the same. Our header shows that a page of ours asks
             for it: over http a browser says nothing else of a GET.
    raises:  ForgedRequest
    """
    is_own = _is_own(headers, own, (SAME_ORIGIN, BY_USER))
    if is_own is False or (changes and not names_console(headers)):
        raise ForgedRequest


def _is_own(
    headers: Mapping[str, str], own: Collection[str], allowed: Collection[str]
) -> bool | None:
    """None when nothing says where the request comes from. allowed: of Sec-Fetch-Site"""
    site, origin = headers.get(FETCH_SITE), headers.get("origin")
    if site is not None:
        return site in allowed
    return None if origin is None else origin.lower() in {_origin(one) for one in own}


def _origin(url: str) -> str:
    """As browsers send it: without the path, and without the port that the scheme implies."""
    parts = urlsplit(url.lower())
    implied = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.removesuffix(implied) if implied else parts.netloc}"
