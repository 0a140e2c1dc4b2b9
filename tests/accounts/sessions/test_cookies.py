"""The session cookie in a header that other sites of the same host may have written."""

import pytest

from fanion.accounts.sessions.cookies import HEADER_CHARS_MAX, read_cookie

HTTP, HTTPS = "http://127.0.0.1:8000", "https://fanion.example.com/behind/a/path"


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (None, None),
        ("", None),
        ("fanion=a", "a"),
        ("fanion=a==", "a=="),
        ("other=1; fanion=a; more=2", "a"),
        ("other=1;fanion=a;", "a"),
        ("fanion = a ", "a"),
        ("fanion=", None),
        ("fanion", None),
        ("FANION=a", None),
        ("fanion2=a", None),
        ("my-fanion=a", None),
        ("x=fanion=a", None),
        ("__Host-fanion=a", None),
        # Of several cookies, nothing says which one this server has set.
        ("fanion=a; fanion=a", "a"),
        ("fanion=a; fanion=b", None),
        ("fanion=; fanion=b", None),
        ("fanion=a; other=1; fanion=b; fanion=a", None),
        # Two headers, as the HTTP parser joins them.
        ("fanion=a, fanion=b", "a, fanion=b"),
        (";" * 1_000 + "fanion=a", "a"),
        ("fanion=a; other=" + "x" * HEADER_CHARS_MAX, None),
    ],
)
def test_a_cookie_is_read_only_when_there_is_one(header: str | None, value: str | None) -> None:
    assert read_cookie(header, HTTP) == value


@pytest.mark.parametrize("origin", [HTTPS, HTTPS.upper()])
def test_over_https_only_the_name_that_belongs_to_the_host_counts(origin: str) -> None:
    header = "fanion=plain; __Host-fanion=secure; __Secure-fanion=other"

    assert read_cookie(header, origin) == "secure"
    assert read_cookie(header, HTTP) == "plain"
    assert read_cookie("fanion=plain", origin) is None
    assert read_cookie("__Host-fanion=a; __Host-fanion=b", origin) is None
