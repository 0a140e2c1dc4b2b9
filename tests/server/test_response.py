"""The head of a response, without its date and its end."""

import pytest

from fanion.server.response import response_head


def test_a_head_has_the_length_of_the_body() -> None:
    head = response_head(200, [("x-a", "b")], 5)

    assert head == "HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 5\r\n"


def test_a_length_that_a_header_has_is_written_once() -> None:
    head = response_head(200, [("content-length", "7")], 0)

    assert head == "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n"


def test_a_status_without_a_phrase_is_written() -> None:
    assert response_head(299, [], None) == "HTTP/1.1 299 \r\n"


@pytest.mark.parametrize("value", ["a\r\nset-cookie: b", "a\nb", "a\rb"])
def test_a_header_that_would_be_two_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="line end"):
        response_head(200, [("x-a", value)], 0)


def test_a_length_within_a_value_does_not_count() -> None:
    head = response_head(200, [("x-a", "content-length: 9")], 3)

    assert "\r\ncontent-length: 3\r\n" in head
