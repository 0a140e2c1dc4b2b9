"""What the OpenAPI document says of an endpoint, where its handler's types cannot say it.

Given to a handler as its `operation_class`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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

FILE = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)
TEXT = Schema(type=OpenAPIType.STRING)


def takes(media_type: str, schema: Schema) -> type[Operation]:
    """A body that the handler reads by itself, or one more kind of it."""

    @dataclass
    class Takes(Operation):
        def __post_init__(self) -> None:
            body = self.request_body
            if not isinstance(body, RequestBody):
                body = self.request_body = RequestBody(content={})
            body.content[media_type] = OpenAPIMediaType(schema=schema)

    return Takes


def asks(described: Mapping[str, str], base: type[Operation]) -> type[Operation]:
    """Parameters of the query that the handler reads by itself, all text, each described."""

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
    """One more kind of answer."""

    @dataclass
    class Answers(Operation):
        def __post_init__(self) -> None:
            response = (self.responses or {})[str(status)]
            assert isinstance(response, OpenAPIResponse)
            kind = {media_type: OpenAPIMediaType(schema=schema)}
            response.content = {**(response.content or {}), **kind}

    return Answers
