"""Cross-origin headers of the public endpoints.

source: capture.md section 1.1, sdk-wire.md section 8
"""

from fanion.server.endpoint import Response
from fanion.server.forwarded import Headers

METHODS = "GET, POST, OPTIONS"
# With credentials `*` stands for nothing, so the answer names what the browser asked for.
DEFAULT_HEADERS = "X-Requested-With,Content-Type"
MAX_AGE_S = "86400"


def cors_headers(headers: Headers, *, credentials: bool) -> tuple[tuple[str, str], ...]:
    """What every public answer to a browser carries, errors included.

    credentials: whether browsers may send cookies along, as those of old clients do with a
                 project key. Answers to personal and secret keys never say so.
    """
    origin = headers.get("origin")
    if not origin:
        return ()
    allowed = (("access-control-allow-credentials", "true"),) if credentials else ()
    return (
        ("access-control-allow-origin", origin),
        *allowed,
        ("access-control-expose-headers", "ETag, Retry-After, X-Request-Id"),
        ("vary", "Origin"),
    )


def preflight(headers: Headers) -> Response:
    """The answer to OPTIONS."""
    asked = headers.get("access-control-request-headers") or DEFAULT_HEADERS
    return Response(
        200,
        b"",
        (
            ("access-control-allow-methods", METHODS),
            ("access-control-allow-headers", asked),
            ("access-control-max-age", MAX_AGE_S),
            ("vary", "Access-Control-Request-Headers"),
        ),
    )
