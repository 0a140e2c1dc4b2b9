"""What the server knows of the built files: all of them, in memory."""

from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct, field

# Content codings in the order in which they are preferred, with the suffix of such files.
CODINGS: Mapping[str, str] = {"br": ".br", "gzip": ".gz", "identity": ""}
_CONTENT_TYPES: Mapping[str, str] = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "map": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webp": "image/webp",
    "woff2": "font/woff2",
}


class File(Struct, frozen=True):
    """bodies: by content coding, "identity" among them"""

    content_type: str
    bodies: Mapping[str, bytes]
    digest: str

    def etag(self, coding: str) -> str:
        """Each coding is another representation. source: RFC 9110 section 8.8.3.3"""
        return f'"{self.digest}"' if coding == "identity" else f'"{self.digest}-{coding}"'


class Build(Struct, frozen=True):
    """index:   the page, with the marks that `page` replaces
    assets:  by name; each name holds a hash of the content
    sdk:     scripts of posthog-js, by name
    sdk_version: of posthog-js; "" without a build
    missing: why there is no console, as a public page may say it; "" when there is one
    """

    index: str = ""
    assets: Mapping[str, File] = field(default_factory=dict)
    sdk: Mapping[str, File] = field(default_factory=dict)
    sdk_version: str = ""
    missing: str = "It has not been built."


NOT_BUILT = Build()


def file_of(name: str, bodies: Mapping[str, bytes]) -> File:
    kind = _CONTENT_TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    return File(kind, bodies, sha256(bodies["identity"]).hexdigest()[:32])
