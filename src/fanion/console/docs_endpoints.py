"""The endpoint for the documentation, a static site that `docs_site/` builds next to this module.

Nothing is read before somebody asks for it, and no file is kept in memory.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from fanion.console.build import CODINGS, File, content_type_of
from fanion.console.content_coding import preferred_coding
from fanion.console.endpoints import file_response
from fanion.errors import NotFound
from fanion.server.request import Request
from fanion.server.response import Response
from fanion.web.routes import Route, Routes
from fanion.web.security_headers import Header, content_security_policy, page_headers

DOCS = "/docs/"
BUILT = Path(__file__).parent / "docs"
NOT_BUILT = (
    "The documentation is not part of this server: it has not been built. `make docs` builds it in "
    "a checkout of the sources."
)
_INDEX, _DESCRIPTION = "index.html", "build.json"
# Kept by browsers, which ask each time whether it is still current: an upgrade changes it.
_CHECKED: Header = ("cache-control", "no-cache")


class _KnownFile(Struct, frozen=True):
    """A file of the site, as `build.json` describes it.

    Attributes:
        codings: Those for which a compressed file exists.
    """

    digest: str
    codings: tuple[str, ...]


class Site(Struct, frozen=True):
    """The site, as `build.json` describes it.

    Attributes:
        scripts: The hashes of the scripts within pages.
        files: By path.
        built_ns: When the file was written.
    """

    scripts: tuple[str, ...] = ()
    files: Mapping[str, _KnownFile] = field(default_factory=dict)
    built_ns: int = 0


class DocsEndpoints:
    def __init__(self, folder: Path = BUILT) -> None:
        self._folder = folder
        self._site = Site()

    def is_built(self) -> bool:
        return (self._folder / _DESCRIPTION).is_file()

    async def get(self, request: Request) -> Response:
        """Answer GET /docs/ and every path below.

        Raises:
            NotFound: There is no such page, or no documentation.
        """
        return await asyncio.to_thread(self._answer, request)

    def _answer(self, request: Request) -> Response:
        site = self._current_site()
        name = request.path.removeprefix(DOCS.rstrip("/")).removeprefix("/")
        if f"{name}/{_INDEX}" in site.files or request.path == DOCS.rstrip("/"):
            # Relative, so that it holds below a path too.
            last = request.path.rpartition("/")[2]
            return Response(308, b"", (("location", f"{last}/"), _CHECKED))
        path = f"{name}{_INDEX}" if name == "" or name.endswith("/") else name
        known = site.files.get(path)
        if known is None:
            raise NotFound
        codings = [coding for coding in CODINGS if coding in known.codings]
        coding = preferred_coding(request.headers.get("accept-encoding") or "", codings)
        try:
            body = (self._folder / f"{path}{CODINGS[coding]}").read_bytes()
        except FileNotFoundError:  # another build is being put into its place
            raise NotFound from None
        file = File(content_type_of(path), {coding: body}, known.digest)
        return file_response(request, file, _CHECKED, *page_headers(_content_policy(site)))

    def _current_site(self) -> Site:
        """Return the site as it is now built.

        Raises:
            NotFound: It is not built.
        """
        file = self._folder / _DESCRIPTION
        try:
            built_ns = file.stat().st_mtime_ns
            if built_ns != self._site.built_ns:
                site = msgspec.json.decode(file.read_bytes(), type=Site)
                self._site = msgspec.structs.replace(site, built_ns=built_ns)
        except (OSError, msgspec.DecodeError):
            raise NotFound(NOT_BUILT) from None
        return self._site


def _content_policy(site: Site) -> str:
    """Return a policy for pages that run their own scripts and load nothing from elsewhere."""
    scripts = " ".join(f"'{script}'" for script in site.scripts)
    return content_security_policy(
        f"script-src 'self' {scripts}",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
    )


def docs_routes(docs: DocsEndpoints) -> Routes:
    route = Route("docs", docs.get, ("GET",), cors=False, is_management=True)
    return Routes({DOCS: route}, [(DOCS, "", route)])
