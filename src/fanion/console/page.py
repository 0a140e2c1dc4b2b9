"""The console's page for one request, with a nonce and the prefix of its addresses."""

import re
from html import escape

from fanion.web.security_headers import NOT_STORED, Header, page_headers

# The frame around all screens of a signed-in user, which browsers draw before any script has run.
_FRAME = re.compile(r"\s*<!-- frame -->.*<!-- /frame -->", re.DOTALL)
_NONCE, _PREFIX, _DOCS, _ASSETS = "__NONCE__", "__PREFIX__", "__DOCS__", '="./assets/'


def render_page(index: str, nonce: str, prefix: str, *, has_docs: bool, has_frame: bool) -> bytes:
    """Return the page with what it needs to know filled in.

    Args:
        prefix: The start of the server's paths as the browser sees them; empty, or with a slash
            first.
        has_docs: Whether the server has the documentation.
        has_frame: Whether the page shows the frame of the screens of a signed-in user until its
            scripts have run.
    """
    safe = escape(prefix)
    framed = index if has_frame else _FRAME.sub("", index)
    return (
        framed.replace(_NONCE, nonce)
        .replace(_PREFIX, safe)
        .replace(_DOCS, "built" if has_docs else "")
        .replace(_ASSETS, f'="{safe}/console/assets/')
        .encode()
    )


def console_headers(nonce: str) -> tuple[Header, ...]:
    return (NOT_STORED, *page_headers(_content_policy(nonce)))


def _content_policy(nonce: str) -> str:
    """Return the content security policy of one response.

    The nonce belongs to that response, so that no script runs that the page does not name, and
    none that a public route of this origin serves.
    """
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'nonce-{nonce}' 'strict-dynamic'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )
