"""What a browser shows when a sign-in by OpenID Connect has failed."""

from html import escape

from fanion.errors import AppError

CONTENT_SECURITY_POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Not signed in</title>
<h1>You are not signed in</h1>
<p>{detail}</p>
<p><a href="{home}">Back to Fanion</a></p>
<p><small>{code}</small></p>
</html>
"""


def wants_page(accept: str) -> bool:
    """Whether a browser shows the answer, and no program reads it."""
    kinds = [kind.partition(";")[0].strip().lower() for kind in accept.split(",")]
    return "text/html" in kinds


def failure_page(error: AppError, home: str) -> bytes:
    """home: the path of the start page"""
    page = _PAGE.format(detail=escape(error.detail), home=escape(home), code=escape(error.code))
    return page.encode()
