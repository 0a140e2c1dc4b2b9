"""The requests that count as those of our own pages."""

import pytest

from fanion.errors import ForgedRequest
from fanion.web.forged_requests import require_own_page

OWN = ("https://fanion.example:8443/below", "https://FANION.example")
CONSOLE = {"x-fanion-console": "1"}


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "same-origin", "origin": "https://proxied.example"},
        {"origin": "https://fanion.example"},
        {"origin": "https://fanion.example:8443"},
    ],
)
def test_our_own_pages_are_admitted(headers: dict[str, str]) -> None:
    require_own_page({**headers, **CONSOLE}, OWN, has_session=True)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "same-site", "origin": "https://fanion.example"},
        {"sec-fetch-site": "same-origin, cross-site"},
        {"origin": "http://fanion.example"},
        {"origin": "https://fanion.example:444"},
        {"origin": "https://fanion.example.evil.test"},
        {"origin": "https://fanion.example/below"},
        {"origin": "null"},
        {"origin": ""},
    ],
)
def test_others_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ForgedRequest):
        require_own_page({**headers, **CONSOLE}, OWN, has_session=True)


@pytest.mark.parametrize(
    ("own", "origin"),
    [
        ("http://fanion.example:80", "http://fanion.example"),
        ("https://fanion.example:443/x", "https://fanion.example"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://[::1]", "http://[::1]"),
    ],
)
def test_the_port_that_the_scheme_implies_is_left_out(own: str, origin: str) -> None:
    require_own_page({"origin": origin, **CONSOLE}, (own,), has_session=True)


def test_a_program_without_a_session_needs_no_headers() -> None:
    require_own_page({}, OWN, has_session=False)
    with pytest.raises(ForgedRequest):
        require_own_page({"origin": "https://evil.test"}, OWN, has_session=False)
