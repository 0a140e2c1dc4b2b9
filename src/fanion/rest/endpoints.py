"""Shared by Litestar handlers: path parameters, special responses, CSV, OpenAPI operations."""

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
    RequestBody,
    Schema,
)
from litestar.openapi.spec.enums import OpenAPIFormat
from litestar.params import PathParameter
from litestar.response import Stream
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse

from fanion.rest.validation import INTEGER_MAX

# A handler's path parameter: `flag_id: ObjectId`.
ObjectId = Annotated[int, PathParameter(ge=1, le=INTEGER_MAX)]


def empty(status: int, **headers: str) -> ASGIResponse:
    """Without a content type, so that clients do not parse the empty body as JSON."""
    response = ASGIResponse(status_code=status, headers=headers)
    response.headers.pop("content-type", None)
    return response


def refused(allow: str) -> ASGIResponse:
    """Response to DELETE where it is not supported. source: api.md, "States and transitions"

    allow: the supported methods
    """
    return empty(405, allow=allow)


class Streamed(Stream):
    """Response produced while it is sent, one piece in memory at a time.

    pieces: closed when sending fails because the client has disconnected; an exception of the
            generator aborts the connection, so that an incomplete response is recognised
    """

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        media_type: str,
        status_code: int | None = None,
        headers: Mapping[str, Any] | None = None,
    ) -> None:
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
    """Litestar's own class waits for the end of the connection after everything is sent."""

    async def send_body(self, send: Any, receive: Any) -> None:
        try:
            await self._stream(send)
        finally:
            if isinstance(self.iterator, AsyncGenerator):
                await self.iterator.aclose()


# Spreadsheets evaluate a cell that begins with one of these as a formula, and cells contain text of
# clients. Wide forms count in East Asian versions. source: OWASP, "CSV Injection"; ASVS 5.0, 1.2.10
FORMULA_BEGINS = tuple("=+-@\t\r\n\0\uff1d\uff0b\uff0d\uff20")


def text_cell(text: str) -> str:
    """Escaped with a `'` where a spreadsheet would see a formula. For text only, not numbers."""
    return f"'{text}" if text.startswith(FORMULA_BEGINS) else text


def table_lines(rows: Iterable[Sequence[str]]) -> str:
    """rows: of cells"""
    lines = _Lines()
    csv.writer(lines).writerows(rows)
    return "".join(lines)


class _Lines(list[str]):
    write = list.append


# Parts of the OpenAPI document that a handler's types cannot express: given as `operation_class`.

FILE = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)
TEXT = Schema(type=OpenAPIType.STRING)


def takes(media_type: str, schema: Schema) -> type[Operation]:
    """Adds a media type of the request body, which the handler reads itself."""

    @dataclass
    class Takes(Operation):
        def __post_init__(self) -> None:
            body = self.request_body
            if not isinstance(body, RequestBody):
                body = self.request_body = RequestBody(content={})
            body.content[media_type] = OpenAPIMediaType(schema=schema)

    return Takes


def asks(described: Mapping[str, str], base: type[Operation]) -> type[Operation]:
    """Adds query parameters that the handler reads itself. described: descriptions by name"""

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


def answers(media_type: str, schema: Schema = TEXT, status: int = 200) -> type[Operation]:
    """Adds a media type of the response."""

    @dataclass
    class Answers(Operation):
        def __post_init__(self) -> None:
            response = (self.responses or {})[str(status)]
            assert isinstance(response, OpenAPIResponse)
            kind = {media_type: OpenAPIMediaType(schema=schema)}
            response.content = {**(response.content or {}), **kind}

    return Answers
