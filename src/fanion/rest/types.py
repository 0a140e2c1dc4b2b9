"""Answers without a body."""

from typing import Annotated

from litestar.params import PathParameter
from litestar.response.base import ASGIResponse

from fanion.rest.validation import INTEGER_CHARS_MAX, INTEGER_MAX


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


# A handler's path parameter: `flag_id: ObjectId`.
ObjectId = Annotated[int, PathParameter(ge=1, le=INTEGER_MAX)]


def object_id(text: str) -> int | None:
    """The same, for a path that the gate reads: plain decimal digits only."""
    if not (text.isascii() and text.isdigit() and len(text) <= INTEGER_CHARS_MAX):
        return None
    number = int(text)
    return number if 1 <= number <= INTEGER_MAX else None
