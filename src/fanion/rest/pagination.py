"""One page of a list, and the links to its neighbours.

Source: api.md, "Paginated list envelope"; capture.md section 11.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar
from urllib.parse import parse_qsl, urlencode

from msgspec import Meta, Struct

T = TypeVar("T")

ROWS = 100
ROWS_MAX = 10_000  # a larger limit is reduced to this
OFFSET_MAX = 2**31 - 1  # a larger offset is reduced to this; no list is that long
NUMBER_CHARS_MAX = 30


class Paged(Struct, Generic[T]):
    count: Annotated[int, Meta(description="Total number, without paging.")]
    next: Annotated[str | None, Meta(description="Address of the next page.")]
    previous: Annotated[str | None, Meta(description="Address of the previous page.")]
    results: list[T]


@dataclass(frozen=True, slots=True)
class Page:
    """The page that a request asks for.

    Attributes:
        address: The absolute URL of the request, without the query.
    """

    limit: int
    offset: int
    address: str
    query: tuple[tuple[str, str], ...]

    def with_results(self, results: list[T], count: int, seen: int = 0) -> Paged[T]:
        """Return the body of the page.

        Args:
            results: The rows at `limit` and `offset`.
            count: The total number of rows.
            seen: The number of rows that were read, if a page may end early.
        """
        following = self.offset + (seen or self.limit)
        return Paged(
            count=count,
            next=self._link(following) if following < count else None,
            previous=self._link(self.offset - self.limit) if self.offset > 0 else None,
            results=results,
        )

    def _link(self, offset: int) -> str:
        """Return the URL of another page; the first page needs no offset."""
        places = [("limit", str(self.limit))]
        if offset > 0:
            places.append(("offset", str(offset)))
        others = [(name, value) for name, value in self.query if name not in {"limit", "offset"}]
        ordered = sorted(others + places, key=lambda pair: pair[0])
        return f"{self.address}?{urlencode(ordered)}"


def paging_names(fields: Collection[str]) -> frozenset[str]:
    """Return the query parameters that page a response with these fields; none if it is no page."""
    if not {"next", "previous", "results"} <= set(fields):
        return frozenset()
    return frozenset({"page", "limit"} if "total_count" in fields else {"limit", "offset"})


def read_page(address: str, query: str) -> Page:
    """Read the page from a query; invalid numbers count as absent."""
    pairs = tuple(parse_qsl(query, keep_blank_values=True, errors="replace"))
    last = dict(pairs)
    offset = min(read_number(last.get("offset")) or 0, OFFSET_MAX)
    return Page(read_limit(last.get("limit")), offset, address, pairs)


def read_limit(text: str | None) -> int:
    return min(read_number(text) or ROWS, ROWS_MAX)


def read_number(text: str | None) -> int | None:
    """Return the number that a parameter is, or None if it is none."""
    if text is None or len(text) > NUMBER_CHARS_MAX:
        return None
    try:
        number = int(text)
    except ValueError:
        return None
    return number if number >= 0 else None
