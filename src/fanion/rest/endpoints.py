"""Helpers for Litestar handlers: path parameters, special responses, CSV, OpenAPI operations."""

import csv
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Request
from litestar.openapi.spec import (
    OpenAPIMediaType,
    OpenAPIResponse,
    OpenAPIType,
    Operation,
    Parameter,
    Reference,
    RequestBody,
    Schema,
)
from litestar.params import PathParameter
from litestar.response import Stream
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse

from fanion.rest.validation import INTEGER_MAX

# A handler's path parameter: `flag_id: ObjectId`.
ObjectId = Annotated[int, PathParameter(ge=1, le=INTEGER_MAX)]


def empty_response(status: int, **headers: str) -> ASGIResponse:
    """Return an empty response without a content type, so that clients do not parse it as JSON."""
    response = ASGIResponse(status_code=status, headers=headers)
    response.headers.pop("content-type", None)
    return response


def method_not_allowed(allow: str) -> ASGIResponse:
    """Return the response to DELETE where it is not supported.

    Args:
        allow: The supported methods.

    Source: api.md, "States and transitions".
    """
    return empty_response(405, allow=allow)


async def no_pieces() -> AsyncGenerator[bytes]:
    """Yield nothing, for a response whose body is not sent."""
    pieces: tuple[bytes, ...] = ()
    for piece in pieces:
        yield piece


class Streamed(Stream):
    """A response that is produced while it is sent, one piece in memory at a time."""

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        media_type: str,
        status_code: int | None = None,
        headers: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a response.

        Args:
            pieces: Closed when sending fails because the client has disconnected. If it raises, the
                connection is aborted, so that the incomplete response is recognised.
        """
        super().__init__(pieces, media_type=media_type, status_code=status_code, headers=headers)
        self._pieces = pieces

    def to_asgi_response(
        self,
        app: Any,
        request: Request[Any, Any, Any],
        *,
        headers: dict[str, str] | None = None,
        status_code: int | None = None,
        **_: Any,
    ) -> ASGIStreamingResponse:
        return _Pieces(
            iterator=self._pieces,
            headers={**(headers or {}), **self.headers},
            media_type=self.media_type,
            status_code=self.status_code or status_code or 200,
        )


class _Pieces(ASGIStreamingResponse):
    """A streaming response that ends when everything is sent.

    Litestar's own class then still waits for the end of the connection.
    """

    async def send_body(self, send: Any, receive: Any) -> None:
        try:
            await self._stream(send)
        finally:
            if isinstance(self.iterator, AsyncGenerator):
                await self.iterator.aclose()


# Spreadsheets evaluate a cell that begins with one of these as a formula, and cells contain text
# from clients. East Asian versions also recognise the full-width forms.
# Source: OWASP, "CSV Injection"; ASVS 5.0, 1.2.10.
FORMULA_BEGINS = tuple("=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20")


def text_cell(text: str) -> str:
    """Escape text with a `'` where a spreadsheet would read a formula; not meant for numbers."""
    return f"'{text}" if text.startswith(FORMULA_BEGINS) else text


def table_lines(rows: Iterable[Sequence[str]]) -> str:
    """Return the rows, which consist of cells, as CSV."""
    lines = _Lines()
    csv.writer(lines).writerows(rows)
    return "".join(lines)


class _Lines(list[str]):
    write = list.append


# Parts of the OpenAPI document that a handler's types cannot express, for `operation_class`.

TEXT = Schema(type=OpenAPIType.STRING)


def request_media_type(media_type: str, schema: Schema | Reference) -> type[Operation]:
    """Return an operation class that adds a media type of the body.

    The handler reads this body itself.
    """

    @dataclass
    class Takes(Operation):
        def __post_init__(self) -> None:
            body = self.request_body
            if not isinstance(body, RequestBody):
                body = self.request_body = RequestBody(content={})
            body.content[media_type] = OpenAPIMediaType(schema=schema)

    return Takes


def query_parameters(described: Mapping[str, str], base: type[Operation]) -> type[Operation]:
    """Return an operation class that adds query parameters.

    The handler reads these parameters itself.

    Args:
        described: Descriptions by name.
    """

    @dataclass
    class Asks(base):  # type: ignore[misc,valid-type]  # which class it is depends on the caller
        def __post_init__(self) -> None:
            super().__post_init__()
            added = [
                Parameter(name=name, param_in="query", schema=TEXT, description=text)
                for name, text in described.items()
            ]
            operation: Operation = self
            operation.parameters = [*(operation.parameters or []), *added]

    return Asks


def response_media_type(
    media_type: str, schema: Schema = TEXT, status: int = 200
) -> type[Operation]:
    """Return an operation class that adds a media type of the response."""

    @dataclass
    class Answers(Operation):
        def __post_init__(self) -> None:
            response = (self.responses or {})[str(status)]
            assert isinstance(response, OpenAPIResponse)
            kind = {media_type: OpenAPIMediaType(schema=schema)}
            response.content = {**(response.content or {}), **kind}

    return Answers
