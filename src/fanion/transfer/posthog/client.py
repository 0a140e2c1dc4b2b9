"""Client of the management API of PostHog, or of a server compatible with it.

Retries and pages are bounded, and the key is sent only to the given host.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import msgspec

from fanion import __version__

PAGE_ROWS = 100  # PostHog's own default; some lists have no other maximum
PAGES_MAX = 10_000
RESPONSE_BYTES_MAX = 64 * 1024**2
TRIES_MAX = 6
# PostHog's analytics reads are limited by the hour.
WAIT_S_MAX = 3_600.0
FIRST_WAIT_S = 1.0
TIMEOUT_S = 60.0

Query = tuple[tuple[str, str], ...]


class SourceError(Exception):
    """A failure to read the source; the text is one line."""


class SourceStatusError(SourceError):
    """A response of the source with an error status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class ResponseTooLarge(SourceError):
    """A response larger than RESPONSE_BYTES_MAX."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list.

    Attributes:
        link: The query of the next page; empty if the source names none.
        count: The rows of the whole list; None if the source does not tell.
        is_enclosed: Whether the page is in an object; lists without one have no pages.
    """

    rows: list[Any]
    link: Query = ()
    count: int | None = None
    is_enclosed: bool = True

    def is_last(self, rows: int) -> bool:
        """Return whether nothing can follow this page.

        Args:
            rows: The number of rows up to its end.
        """
        is_counted = self.count is not None and rows >= self.count
        return not self.rows or not self.is_enclosed or is_counted


@dataclass(frozen=True, slots=True)
class Source:
    """A project on another server.

    Attributes:
        project: The id in the paths of the API.
        sleep: Waits between tries.
    """

    client: httpx.AsyncClient
    project: str
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def name(self) -> str:
        """The URL that identifies the source."""
        return f"{self.client.base_url}".rstrip("/") + f"/api/projects/{self.project}"

    def project_path(self, path: str) -> str:
        return f"/api/projects/{self.project}{path}"

    async def get(self, path: str, query: Query = ()) -> Any:
        """Return decoded JSON.

        Raises:
            SourceError: The source cannot be read.
        """
        return await self._request_json("GET", path, query)

    async def post(self, path: str, body: Any) -> Any:
        """Return decoded JSON, for a request that changes nothing on the source.

        Raises:
            SourceError: The source cannot be read.
        """
        return await self._request_json("POST", path, (), body)

    async def _request_json(self, method: str, path: str, query: Query, body: Any = None) -> Any:
        tries = 0
        while True:
            tries += 1
            try:
                response = await self._send_request(method, path, query, body)
            except httpx.HTTPError as error:
                problem, wait_s = _failure(error), _backoff_s(tries)
            else:
                if response.is_success:
                    return _decode_json(path, response.content)
                problem = _problem_text(path, response)
                if not _is_passing(response.status_code):
                    raise SourceStatusError(response.status_code, problem)
                wait_s = _wait_s(response, tries)
            if tries == TRIES_MAX:
                raise SourceError(f"{problem}; gave up after {TRIES_MAX} tries")
            await self.sleep(wait_s)

    async def list_rows(self, path: str, query: Query = ()) -> AsyncIterator[Any]:
        """Yield the items of all pages of a list.

        Raises:
            SourceError: The list cannot be read, or does not end.
        """
        async for page in self.list_pages(path, query):
            for row in page.rows:
                yield row

    async def list_pages(
        self, path: str, query: Query = (), *, is_paged: bool = True
    ) -> AsyncIterator[ListPage]:
        """Yield the pages of a list, up to an empty one, or as many rows as the list counts.

        A page without a link is not taken for the last one unless that is certain.

        Args:
            is_paged: Whether the list takes `limit` and `offset`.

        Raises:
            SourceError: The list cannot be read, or does not end.
        """
        first = (("limit", str(PAGE_ROWS)), *query) if is_paged else query
        next_query, seen, rows = first, set[Query](), 0
        previous: list[Any] = []
        for _ in range(PAGES_MAX):
            seen.add(next_query)
            page = _parse_page(path, await self.get(path, next_query))
            if not page.link and page.rows == previous:
                return  # a server without offsets, or an empty page
            yield page
            previous, rows = page.rows, rows + len(page.rows)
            if not page.link and (not is_paged or page.is_last(rows)):
                return
            next_query = page.link or (*first, ("offset", str(rows)))
            if next_query in seen:
                raise SourceError(f"{path} of the source returns the same page twice")
        raise SourceError(f"{path} of the source has more than {PAGES_MAX} pages")

    async def _send_request(
        self, method: str, path: str, query: Query, body: Any
    ) -> httpx.Response:
        """Return the whole response.

        Raises:
            ResponseTooLarge: The response exceeds RESPONSE_BYTES_MAX.
        """
        sent = {} if body is None else {"json": body}
        async with self.client.stream(method, path, params=list(query), **sent) as response:
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > RESPONSE_BYTES_MAX:
                    raise ResponseTooLarge(
                        f"{path} of the source responds with more than {RESPONSE_BYTES_MAX} bytes"
                    )
            headers = {"retry-after": response.headers.get("retry-after", "")}
            headers["location"] = response.headers.get("location", "")
            return httpx.Response(response.status_code, headers=headers, content=bytes(content))


@asynccontextmanager
async def open_source(
    host: str, key: str, project: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[Source]:
    """Open a source.

    Raises:
        SourceError: The host, the key or the project is not valid.
    """
    if not _is_address(host):
        raise SourceError(f"{host!r} is not an address such as https://eu.posthog.com")
    if not (key.isascii() and key.isprintable() and key.strip()):
        raise SourceError("the personal key is not valid: it must be printable ASCII")
    if not all(letter.isalnum() or letter in "@-_" for letter in project) or not project:
        raise SourceError(f"{project!r} is not a project id")
    headers = {"authorization": f"Bearer {key}", "user-agent": f"fanion/{__version__}"}
    async with httpx.AsyncClient(base_url=host, headers=headers, timeout=TIMEOUT_S) as client:
        yield Source(client, project, sleep)


def _is_address(host: str) -> bool:
    try:
        url = httpx.URL(host)
    except (httpx.InvalidURL, ValueError):
        return False
    is_plain = not url.query and not url.userinfo  # the address is stored and printed
    return url.scheme in {"http", "https"} and bool(url.host) and is_plain


def _parse_page(path: str, body: Any) -> ListPage:
    if isinstance(body, list):
        return ListPage(body, is_enclosed=False)
    results = body.get("results") if isinstance(body, dict) else None
    if not isinstance(results, list):
        raise SourceError(f"{path} of the source is not a list")
    count = body.get("count")
    link = link_of(path, body)
    return ListPage(results, link, count if isinstance(count, int) else None)


def link_of(path: str, page: Mapping[str, Any]) -> Query:
    """Return the query of the link to the next page; empty without a link.

    The host and path of the link are ignored.

    Raises:
        SourceError: The link has no query.
    """
    following = page.get("next")
    if not isinstance(following, str) or not following:
        return ()
    query = tuple(parse_qsl(urlsplit(following).query, keep_blank_values=True))
    if not query:
        raise SourceError(f"{path} of the source links to a next page without a query")
    return query


def _is_passing(status: int) -> bool:
    """Return whether another try may succeed."""
    return status == 429 or (status >= 500 and status != 501)


def _decode_json(path: str, content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (ValueError, RecursionError):
        raise SourceError(f"{path} of the source is not JSON: is this the right address?") from None


def _failure(error: httpx.HTTPError) -> str:
    reason = str(error).partition("\n")[0] or type(error).__name__
    return f"the source cannot be reached: {reason}"


def _problem_text(path: str, response: httpx.Response) -> str:
    """Return the text of an error, with the `detail` of the response if it has one."""
    status, detail = response.status_code, ""
    try:
        decoded = msgspec.json.decode(response.content)
        detail = str(decoded.get("detail") or "") if isinstance(decoded, Mapping) else ""
    except (ValueError, RecursionError):
        pass
    if 300 <= status < 400:
        detail = f"it redirects to {response.headers['location']}; give that address"
    reason = f": {detail}" if detail else ""
    return f"the source responds to {path} with {status}{reason}"


def _wait_s(response: httpx.Response, tries: int) -> float:
    """Return the delay of the header Retry-After, at most WAIT_S_MAX; a backoff without it."""
    requested_s = _retry_after_s(response.headers["retry-after"])
    return _backoff_s(tries) if requested_s is None else min(max(requested_s, 0.0), WAIT_S_MAX)


def _retry_after_s(text: str) -> float | None:
    """Parse the header Retry-After: seconds, or a date."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - datetime.now(UTC)).total_seconds()


def _backoff_s(tries: int) -> float:
    return FIRST_WAIT_S * 2.0 ** (tries - 1)
