"""Paging: the rows that a request asks for, and the links to neighbouring pages."""

import pytest

from fanion.rest.pagination import OFFSET_MAX, ROWS_MAX, read_page

ADDRESS = "https://a.example.com/api/things/"


@pytest.mark.parametrize(
    ("query", "limit", "offset"),
    [
        ("", 100, 0),
        ("limit=5&offset=7", 5, 7),
        ("limit=9999", 9_999, 0),
        ("limit=10001", ROWS_MAX, 0),
        ("limit=1000000000&offset=1000000000", ROWS_MAX, 10**9),
        ("limit=0&offset=0", 100, 0),
        ("limit=-1&offset=-1", 100, 0),
        ("limit=x&offset=1.5", 100, 0),
        ("limit=&offset=", 100, 0),
        ("limit=1&limit=2", 2, 0),
        (f"limit={10**20}&offset={2**63}", ROWS_MAX, OFFSET_MAX),
        (f"limit={'9' * 5000}", 100, 0),
    ],
)
def test_what_makes_no_sense_counts_as_not_given(query: str, limit: int, offset: int) -> None:
    page = read_page(ADDRESS, query)

    assert (page.limit, page.offset) == (limit, offset)


@pytest.mark.parametrize(
    ("query", "count", "following", "previous"),
    [
        ("", 100, None, None),
        ("", 101, "limit=100&offset=100", None),
        ("offset=100", 101, None, "limit=100"),
        ("limit=10&offset=5", 30, "limit=10&offset=15", "limit=10"),
        ("limit=10&offset=20", 31, "limit=10&offset=30", "limit=10&offset=10"),
        ("limit=10&offset=500", 31, None, "limit=10&offset=490"),
        ("limit=1&z=2&a=&z=1", 2, "a=&limit=1&offset=1&z=2&z=1", None),
        ("limit=1&q=a%26b+c%C3%BC", 2, "limit=1&offset=1&q=a%26b+c%C3%BC", None),
        ("limit=0", 200, "limit=100&offset=100", None),
        ("limit=1000000000", 10_001, "limit=10000&offset=10000", None),
        ("limit=1000000000", 10_000, None, None),
    ],
)
def test_neighbours_are_linked(
    query: str, count: int, following: str | None, previous: str | None
) -> None:
    paged = read_page(ADDRESS, query).with_results(["row"], count)

    assert (paged.count, paged.results) == (count, ["row"])
    assert paged.next == (following and f"{ADDRESS}?{following}")
    assert paged.previous == (previous and f"{ADDRESS}?{previous}")


def test_a_page_that_ends_early_is_followed_by_what_it_lacks() -> None:
    page = read_page(ADDRESS, "limit=50&offset=10")

    early, last = (
        page.with_results(["row"] * 7, 30, seen=7),
        page.with_results(["row"] * 20, 30, seen=20),
    )

    assert early.next == f"{ADDRESS}?limit=50&offset=17"
    assert last.next is None
