"""The head of a response as bytes."""

import pytest

from fanion.server.response import response_head

DATE = "date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"


def test_a_head_tells_the_length_and_whether_the_connection_ends() -> None:
    head = response_head(200, [("x-a", "b")], DATE, 5, keep_alive=False)

    assert head == (
        b"HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 5\r\n"
        + DATE.encode()
        + b"connection: close\r\n\r\n"
    )


def test_a_length_that_a_header_tells_is_told_once() -> None:
    head = response_head(200, [("content-length", "7")], DATE, 0, keep_alive=True)

    assert head == b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n" + DATE.encode() + b"\r\n"


def test_a_status_without_a_name_is_written() -> None:
    head = response_head(299, [], DATE, None, keep_alive=True)

    assert head == b"HTTP/1.1 299 \r\n" + DATE.encode() + b"\r\n"


@pytest.mark.parametrize("value", ["a\r\nset-cookie: b", "a\nb", "a\rb"])
def test_a_header_that_would_be_two_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="line end"):
        response_head(200, [("x-a", value)], DATE, 0, keep_alive=True)


def test_a_length_in_a_value_is_none() -> None:
    head = response_head(200, [("x-a", "content-length: 9")], DATE, 3, keep_alive=True)

    assert b"\r\ncontent-length: 3\r\n" in head
