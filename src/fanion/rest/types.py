"""Answers without a body."""

from litestar.response.base import ASGIResponse


def empty(status: int, **headers: str) -> ASGIResponse:
    """What has no body has no content type either: clients would try to read it as JSON."""
    response = ASGIResponse(status_code=status, headers=headers)
    response.headers.pop("content-type", None)
    return response


def refused(allow: str) -> ASGIResponse:
    """DELETE of what is never removed for good. source: api.md, "States and transitions"

    allow: the methods that are served
    """
    return empty(405, allow=allow)
