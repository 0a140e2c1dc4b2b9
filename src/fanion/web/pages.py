"""The pages that run no script and load nothing, and their versions for each server address."""

from collections.abc import Callable
from hashlib import sha256
from html import escape

import msgspec
from msgspec import Struct

# A mark in a page that `StaticPage.at` replaces by the address that the client uses.
BASE_URL = "{base_url}"


class StaticPage(Struct, frozen=True):
    """A page that is built once.

    Attributes:
        etag: The body's entity tag.
        escape: Escapes text inside the body.
    """

    body: bytes
    etag: str
    escape: Callable[[str], bytes]

    def at(self, base_url: str) -> "StaticPage":
        """Return the page for a client that reaches the server at this address."""
        body = self.body.replace(BASE_URL.encode(), self.escape(base_url))
        return StaticPage(body, _content_etag(self.etag.encode() + base_url.encode()), self.escape)


def json_page(value: object) -> StaticPage:
    body = msgspec.json.encode(value)
    return StaticPage(body, _content_etag(body), lambda text: msgspec.json.encode(text)[1:-1])


def html_page(document: str) -> StaticPage:
    body = document.encode()
    return StaticPage(body, _content_etag(body), lambda text: escape(text).encode())


def _content_etag(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:32]}"'


def html_document(title: str, style: str, body: str, head: str = "") -> str:
    """Return an HTML document.

    Args:
        body: HTML.
        head: HTML.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{head}<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body>{body}</body></html>"
    )
