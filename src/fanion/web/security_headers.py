"""The headers of pages and of the management API that restrict what browsers may do.

Routes of SDKs have none of them: pages of any origin read those responses.

Source: OWASP, "HTTP Headers", "REST Security" and "XS Leaks" cheat sheets.
"""

from base64 import b64encode
from hashlib import sha256

Header = tuple[str, str]

NOT_STORED: Header = ("cache-control", "no-store")
# Responses contain text that clients have sent: browsers must not read it as a page or script.
NO_SNIFFING: Header = ("x-content-type-options", "nosniff")
# Addresses of the server may contain the token of a link: other servers must not get them.
_REFERRER: Header = ("referrer-policy", "same-origin")
# No page of another origin may load a response as an image, a script or a style.
_OWN_PAGES_ONLY: Header = ("cross-origin-resource-policy", "same-origin")
# A page of another origin that opens a response in a window gets no reference to that window.
_NO_OPENER: Header = ("cross-origin-opener-policy", "same-origin")
_DENIED = ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")

COMMON_HEADERS = (NO_SNIFFING, _REFERRER, _OWN_PAGES_ONLY, _NO_OPENER)


def content_security_policy(*allowed: str) -> str:
    """Return the policy of a page that runs no script, loads nothing and is in no frame.

    Args:
        allowed: Further directives.
    """
    return "; ".join(("default-src 'none'", *allowed, *_DENIED))


def own_style(style: str) -> str:
    """Return the directive that allows a page its only `<style>`."""
    style_hash = b64encode(sha256(style.encode()).digest()).decode()
    return f"style-src 'sha256-{style_hash}'"


def page_headers(policy: str) -> tuple[Header, ...]:
    """Return the headers of a page.

    Args:
        policy: The result of `content_security_policy`.
    """
    return (("content-security-policy", policy), *COMMON_HEADERS)


# The headers of responses that do not set these themselves. Such responses depend on a key or a
# session, so that no cache may keep them. A browser that opens one as a page runs and loads
# nothing.
MANAGEMENT_HEADERS = (*page_headers(content_security_policy()), NOT_STORED)
