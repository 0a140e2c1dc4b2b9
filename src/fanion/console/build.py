"""The built files of the console and of posthog-js, all in memory."""

from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct, field

# Content codings in order of preference, with the suffix of their files.
CODINGS: Mapping[str, str] = {"br": ".br", "gzip": ".gz", "identity": ""}
_CONTENT_TYPES: Mapping[str, str] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "jpg": "image/jpeg",
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
    """A built file.

    Attributes:
        bodies: By content coding, always including "identity".
    """

    content_type: str
    bodies: Mapping[str, bytes]
    digest: str

    def etag(self, coding: str) -> str:
        """Return the entity tag; each coding is a separate representation.

        Source: RFC 9110 section 8.8.3.3.
        """
        return f'"{self.digest}"' if coding == "identity" else f'"{self.digest}-{coding}"'


class Build(Struct, frozen=True):
    """The built console and scripts.

    Attributes:
        index: The page, with the marks that `page` replaces.
        assets: By name; each name contains a hash of the content.
        sdk: Scripts of posthog-js, by name.
        sdk_version: The version of posthog-js; "" without a build.
        missing: Why there is no console, in words for a public page; "" if there is one.
    """

    index: str = ""
    assets: Mapping[str, File] = field(default_factory=dict)
    sdk: Mapping[str, File] = field(default_factory=dict)
    sdk_version: str = ""
    missing: str = "It has not been built."


NOT_BUILT = Build()


def content_type_of(name: str) -> str:
    return _CONTENT_TYPES.get(name.rpartition(".")[2], "application/octet-stream")


def file_of(name: str, bodies: Mapping[str, bytes]) -> File:
    return File(content_type_of(name), bodies, sha256(bodies["identity"]).hexdigest()[:32])
