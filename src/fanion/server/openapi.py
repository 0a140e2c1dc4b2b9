"""The OpenAPI 3.1 document of the management API.

The framework writes it from handlers and structs; here it is brought in line with what is
really answered: trailing slashes, one error shape, paging parameters.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import msgspec
from litestar import Litestar
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme, Server

from fanion import __version__
from fanion.rest.page import ROWS

_GENERIC = re.compile(rb"\b([A-Z]\w*)_fanion\.[\w.]*?(\w+)_(?=\")")
_METHODS = frozenset({"get", "post", "put", "patch", "delete"})
_ERROR = {
    "type": "object",
    "description": "Every failure, on every endpoint.",
    "required": ["type", "code", "detail", "attr"],
    "properties": {
        "type": {
            "type": "string",
            "enum": [
                "validation_error",
                "invalid_request",
                "authentication_error",
                "throttled_error",
                "server_error",
            ],
        },
        "code": {"type": "string", "description": "Stable, for programs."},
        "detail": {"type": "string", "description": "For people."},
        "attr": {
            "type": ["string", "null"],
            "description": "The field that is wrong; nested names are joined by `__`.",
        },
    },
}
_ERROR_RESPONSE = {
    "description": (
        "400 a wrong value, 401 no key or a wrong one, 403 not allowed, 404 not found, "
        "405 wrong method, 413 body too large, 415 wrong content type, 503 try again later."
    ),
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_KNOWN_PARAMETERS = {"project_id": "A number, or `@current` for the caller's own."}
_PAGE_PARAMETERS = (
    {
        "name": "limit",
        "in": "query",
        "required": False,
        "description": "Results on a page.",
        "schema": {"type": "integer", "minimum": 1, "default": ROWS},
    },
    {
        "name": "offset",
        "in": "query",
        "required": False,
        "description": "Results to skip.",
        "schema": {"type": "integer", "minimum": 0, "default": 0},
    },
)


def openapi_config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Fanion",
        version=__version__,
        description="Product analytics and feature flags: the management API.",
        use_handler_docstrings=True,
        servers=[Server(url="/")],
        security=[{"bearer": []}],
        components=Components(
            security_schemes={
                "bearer": SecurityScheme(
                    type="http", scheme="bearer", description="A personal API key, `phx_…`."
                )
            }
        ),
    )


def document(app: Litestar, others: Mapping[str, Any]) -> dict[str, Any]:
    """app: built with `openapi_config()`; others: paths that something else answers"""
    schema: dict[str, Any] = _plain(_renamed(app.openapi_schema.to_schema()))
    schema["paths"] |= deepcopy(dict(others))
    schemas = schema["components"].setdefault("schemas", {})
    for _, _, operation in operations(schema):
        responses = operation["responses"]
        # The framework's own idea of a validation error is never sent.
        responses.pop("400", None)
        responses["default"] = {"$ref": "#/components/responses/Error"}
        for parameter in operation.get("parameters", ()):
            parameter.setdefault("description", _KNOWN_PARAMETERS.get(parameter["name"], ""))
        if _is_paged(responses, schemas):
            operation["parameters"] = [*operation.get("parameters", ()), *_PAGE_PARAMETERS]
    schemas["Error"] = _ERROR
    schema["components"]["responses"] = {"Error": _ERROR_RESPONSE}
    schema["paths"] = {
        path.rstrip("/") + "/": item for path, item in sorted(schema["paths"].items())
    }
    return schema


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method in lower case and operation, in the document's order."""
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield path, method, operation


def resolve(node: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference to a component."""
    name = node.get("$ref", "").removeprefix("#/components/schemas/")
    found: dict[str, Any] = schemas.get(name, {}) if name else node
    return found


def _renamed(schema: dict[str, Any]) -> dict[str, Any]:
    """`Paged_fanion.flags.api.FlagBody_` reads better as `PagedFlagBody`."""
    text = _GENERIC.sub(rb"\1\2", msgspec.json.encode(schema))
    renamed: dict[str, Any] = msgspec.json.decode(text)
    return renamed


def _plain(node: Any) -> Any:
    """A choice of one is no choice: what may be left out is a union with nothing else."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    plain = {name: _plain(value) for name, value in node.items()}
    if len(plain.get("oneOf", ())) == 1:
        [only] = plain.pop("oneOf")
        plain = only | plain
    return plain


def _is_paged(responses: dict[str, Any], schemas: dict[str, Any]) -> bool:
    answer = responses.get("200", {}).get("content", {}).get("application/json", {})
    fields: dict[str, Any] = resolve(answer.get("schema", {}), schemas).get("properties", {})
    return {"count", "next", "previous", "results"} <= fields.keys()
