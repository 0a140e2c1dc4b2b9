"""The management API of a server that speaks PostHog's, as a personal key sees it.

Requests are repeated a bounded number of times, pages are followed a bounded number of times,
and the key goes to no other host than the one that was named.
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
    """The source cannot be read; the text is one line."""


class SourceRefused(SourceError):
    """The source refused to return this."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class AnswerTooLarge(SourceError):
    """More than RESPONSE_BYTES_MAX."""


@dataclass(frozen=True, slots=True)
class Source:
    """project: its id as the API takes it; sleep: how waiting is done"""

    client: httpx.AsyncClient
    project: str
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def name(self) -> str:
        """Identifies the source."""
        return f"{self.client.base_url}".rstrip("/") + f"/api/projects/{self.project}"

    def of_project(self, path: str) -> str:
        return f"/api/projects/{self.project}{path}"

    async def get(self, path: str, query: Query = ()) -> Any:
        """Decoded JSON. raises: SourceError"""
        tried = 0
        while True:
            tried += 1
            try:
                answer = await self._request(path, query)
            except httpx.HTTPError as error:
                problem, wait_s = _failure(error), _backoff_s(tried)
            else:
                if answer.status_code == 200:
                    return _decoded(path, answer.content)
                problem = _problem(path, answer)
                if answer.status_code != 429 and answer.status_code < 500:
                    raise SourceRefused(answer.status_code, problem)
                wait_s = _wait_s(answer, tried)
            if tried == TRIES_MAX:
                raise SourceError(f"{problem}; given up after {TRIES_MAX} tries")
            await self.sleep(wait_s)

    async def rows(
        self, path: str, query: Query = (), *, is_paged: bool = True
    ) -> AsyncIterator[Any]:
        """The items of all pages of a list. raises: SourceError

        is_paged: the list takes `limit`
        """
        asked, seen = (("limit", str(PAGE_ROWS)), *query) if is_paged else query, set[Query]()
        for _ in range(PAGES_MAX):
            seen.add(asked)
            page = await self.get(path, asked)
            results, following = _page(path, page)
            for one in results:
                yield one
            if not following:
                return
            asked = _query_of(path, following)
            if asked in seen:
                raise SourceError(f"{path} of the source repeats a page")
        raise SourceError(f"{path} of the source has more than {PAGES_MAX} pages")

    async def _request(self, path: str, query: Query) -> httpx.Response:
        """The whole answer, once it is known to be no larger than it may be."""
        async with self.client.stream("GET", path, params=list(query)) as answer:
            body = bytearray()
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > RESPONSE_BYTES_MAX:
                    raise AnswerTooLarge(
                        f"{path} answers with more than {RESPONSE_BYTES_MAX} bytes"
                    )
            headers = {"retry-after": answer.headers.get("retry-after", "")}
            headers["location"] = answer.headers.get("location", "")
            return httpx.Response(answer.status_code, headers=headers, content=bytes(body))


@asynccontextmanager
async def open_source(
    host: str, key: str, project: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[Source]:
    """raises: SourceError for an address that is none"""
    if not _is_address(host):
        raise SourceError(f"{host!r} is no address such as https://eu.posthog.com")
    if not (key.isascii() and key.isprintable() and key.strip()):
        raise SourceError("the personal key is not one")
    if not all(letter.isalnum() or letter in "@-_" for letter in project) or not project:
        raise SourceError(f"{project!r} is no project id")
    headers = {"authorization": f"Bearer {key}", "user-agent": f"fanion/{__version__}"}
    async with httpx.AsyncClient(base_url=host, headers=headers, timeout=TIMEOUT_S) as client:
        yield Source(client, project, sleep)


def _is_address(host: str) -> bool:
    try:
        url = httpx.URL(host)
    except (httpx.InvalidURL, ValueError):
        return False
    is_plain = not url.query and not url.userinfo  # the address is written down
    return url.scheme in {"http", "https"} and bool(url.host) and is_plain


def _page(path: str, page: Any) -> tuple[list[Any], str]:
    """Some lists are bare; of the others `next` leads on."""
    if isinstance(page, list):
        return page, ""
    results = page.get("results") if isinstance(page, dict) else None
    if not isinstance(results, list):
        raise SourceError(f"{path} of the source is no list")
    following = page.get("next")
    return results, following if isinstance(following, str) else ""


def _query_of(path: str, following: str) -> Query:
    """Of a link to the next page only what it asks is taken, never where it leads."""
    query = tuple(parse_qsl(urlsplit(following).query, keep_blank_values=True))
    if not query:
        raise SourceError(f"{path} of the source has a next page that asks for nothing")
    return query


def _decoded(path: str, content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (ValueError, RecursionError):
        raise SourceError(f"{path} of the source is not JSON: is this the right address?") from None


def _failure(error: httpx.HTTPError) -> str:
    reason = str(error).partition("\n")[0] or type(error).__name__
    return f"the source cannot be reached: {reason}"


def _problem(path: str, answer: httpx.Response) -> str:
    """In the source's own words, where it has some."""
    status, detail = answer.status_code, ""
    try:
        answered = msgspec.json.decode(answer.content)
        detail = str(answered.get("detail") or "") if isinstance(answered, Mapping) else ""
    except (ValueError, RecursionError):
        pass
    if 300 <= status < 400:
        detail = f"it leads to {answer.headers['location']}; name that address"
    told_text = f": {detail}" if detail else ""
    return f"the source answers {path} with {status}{told_text}"


def _wait_s(answer: httpx.Response, tried: int) -> float:
    """What the source asks for, within reason."""
    asked = _retry_after_s(answer.headers["retry-after"])
    return _backoff_s(tried) if asked is None else min(max(asked, 0.0), WAIT_S_MAX)


def _retry_after_s(text: str) -> float | None:
    """Seconds, or a date."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - datetime.now(UTC)).total_seconds()


def _backoff_s(tried: int) -> float:
    return FIRST_WAIT_S * 2.0 ** (tried - 1)
