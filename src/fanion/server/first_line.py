"""What the first line of a request asks for."""

import httptools

from fanion.errors import MalformedRequest


def path_of(request: bytes) -> str:
    """Before anything of it is parsed.

    request: its beginning, with the whole first line; what it names need not be a path
    """
    start = request.find(b" ") + 1
    target = request[start : request.find(b" ", start)]
    query = target.find(b"?")
    return (target if query < 0 else target[:query]).decode("latin-1")


def origin_form(target: bytes) -> bytes:
    """Of a target with scheme and host, as proxies are asked. raises: MalformedRequest"""
    if target == b"*":
        return target
    try:
        url = httptools.parse_url(target)
    except httptools.HttpParserError:
        raise MalformedRequest from None
    return (url.path or b"/") + (b"?" + url.query if url.query else b"")
