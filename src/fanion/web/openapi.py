"""The OpenAPI 3.1 document of the management API and of public endpoints.

The framework writes the former from handlers and structs; here it is brought in line with what is
really answered: trailing slashes, one error shape, paging parameters, bodies that may be absent,
names that are refused.
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
from fanion.projects.activity_api import ENTRIES, ENTRIES_MAX
from fanion.rest.pagination import ROWS, ROWS_MAX, paging_names
from fanion.rest.validation import INTEGER_MAX
from fanion.web.openapi_filters import add_language

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
_REFERENCE = {"$ref": "#/components/schemas/Error"}
_ERROR_RESPONSE = {
    "description": (
        "400 a wrong value, 401 no key or a wrong one, 403 not allowed, 404 not found, "
        "405 wrong method, 413 body too large, 415 wrong content type, 503 try again later."
    ),
    "content": {"application/json": {"schema": _REFERENCE}},
}
_KNOWN_PARAMETERS = {"project_id": "A number, or `@current` for the caller's own."}
_NONSENSE = "What makes no sense as a number counts as not given, more than the most as the most."


def _paging(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": f"{description} {_NONSENSE}",
        "schema": {"type": "integer", **schema},
    }


_BY_OFFSET = (
    _paging("limit", "Results on a page.", minimum=1, maximum=ROWS_MAX, default=ROWS),
    _paging("offset", "Results to skip.", minimum=0, default=0),
)
_BY_NUMBER = (
    _paging("page", "The number of the page, from 1.", minimum=1, default=1),
    _paging("limit", "Results on a page.", minimum=1, maximum=ENTRIES_MAX, default=ENTRIES),
)


def openapi_config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Fanion",
        version=__version__,
        description=(
            "Product analytics and feature flags: the management API, and what applications and "
            "SDKs send. A name that is not described is refused by the former and taken by the "
            "latter. What is stored already is accepted again as it is."
        ),
        use_handler_docstrings=True,
        servers=[Server(url="/")],
        security=[{"bearer": []}],
        components=Components(
            security_schemes={
                "bearer": SecurityScheme(
                    type="http", scheme="bearer", description="A personal API key, `phx_…`."
                ),
                "project": SecurityScheme(
                    type="http", scheme="bearer", description="The project API key, `phc_…`."
                ),
            }
        ),
    )


def document(app: Litestar, others: Mapping[str, Any]) -> dict[str, Any]:
    """app: built with `openapi_config()`; others: paths that something else answers"""
    schema: dict[str, Any] = _plain(_renamed(app.openapi_schema.to_schema()))
    schema["paths"] |= deepcopy(dict(others))
    schemas = schema["components"].setdefault("schemas", {})
    add_language(schema, app)
    for _, _, operation in operations(schema):
        _tell_errors(operation["responses"])
        for parameter in operation.get("parameters", ()):
            parameter.setdefault("description", _KNOWN_PARAMETERS.get(parameter["name"], ""))
            parameter["schema"] = _not_null(parameter["schema"])
        known = {parameter["name"] for parameter in operation.get("parameters", ())}
        added = [one for one in _paging_of(operation, schemas) if one["name"] not in known]
        if added:
            operation["parameters"] = [*operation.get("parameters", ()), *added]
        if body := operation.get("requestBody"):
            body["required"] = all(
                _names_required(resolve(one["schema"], schemas)) for one in body["content"].values()
            )
    schemas["Error"] = _ERROR
    schema["components"]["responses"] = {"Error": _ERROR_RESPONSE}
    schema["paths"] = {
        path.rstrip("/") + "/": item for path, item in sorted(schema["paths"].items())
    }
    return schema


def _names_required(schema: Mapping[str, Any]) -> bool:
    """Whether each form of an object has a field that must be there."""
    forms = schema.get("anyOf", [schema])
    return all(form.get("required") for form in forms)


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
    """A choice of one is no choice: what may be left out is a union with nothing else. And
    bounds of integers are integers."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    plain = {name: _plain(value) for name, value in node.items()}
    if len(plain.get("oneOf", ())) == 1:
        [only] = plain.pop("oneOf")
        plain = only | plain
    if plain.get("type") == "integer":
        for bound in plain.keys() & {"minimum", "maximum"}:
            plain[bound] = min(int(plain[bound]), INTEGER_MAX)
    return plain


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is null is one that is not sent."""
    kinds: list[dict[str, Any]] = [
        one for one in schema.get("oneOf", ()) if one != {"type": "null"}
    ]
    if len(kinds) != 1:
        return schema
    return kinds[0] | {name: value for name, value in schema.items() if name != "oneOf"}


def _tell_errors(responses: dict[str, Any]) -> None:
    """The framework's own idea of a validation error is never sent; an endpoint's own is."""
    refused = responses.pop("400", {}).get("content", {}).get("application/json", {})
    if "$ref" in refused.get("schema", {}):
        both = {"schema": {"anyOf": [refused["schema"], _REFERENCE]}}
        responses["400"] = {
            "description": "Refused, and why.",
            "content": {"application/json": both},
        }
    responses["default"] = {"$ref": "#/components/responses/Error"}


def _paging_of(operation: dict[str, Any], schemas: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """How the answer is paged, by its fields."""
    answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {})
    fields: dict[str, Any] = resolve(answer.get("schema", {}), schemas).get("properties", {})
    names = paging_names(fields)
    if not names:
        return ()
    return _BY_NUMBER if "page" in names else _BY_OFFSET


_OBJECT = {"type": "object", "additionalProperties": {}}
_DEFINITIONS = {
    "type": "object",
    "required": ["flags", "group_type_mapping", "cohorts"],
    "properties": {
        "flags": {"type": "array", "items": _OBJECT, "description": "Active flags."},
        "group_type_mapping": {**_OBJECT, "description": "Index as text → group type."},
        "cohorts": {**_OBJECT, "description": "Cohort id as text → its tree of conditions."},
    },
}
_PROJECT = {
    "name": "project_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
}
_SEND_COHORTS = {
    "name": "send_cohorts",
    "in": "query",
    "required": False,
    "description": "Its presence asks for the cohorts; the value does not matter.",
    "schema": {"type": "string"},
}
_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "The flag's key.",
    "schema": {"type": "string"},
}


def _reading(
    name: str, summary: str, description: str, kind: str, schema: Any, *parameters: Any
) -> Mapping[str, Any]:
    return {
        "get": {
            "tags": ["Feature flags"],
            "operationId": name,
            "summary": summary,
            "description": description,
            "parameters": [_PROJECT, *parameters],
            "responses": {"200": {"description": "OK", "content": {kind: {"schema": schema}}}},
        }
    }


HOT_OPERATIONS: Mapping[str, Any] = {
    "/api/projects/{project_id}/feature_flags/local_evaluation": _reading(
        "LocalEvaluation",
        "Read what SDKs evaluate flags from",
        "Also with the project's secret key. Carries an `ETag`, for `If-None-Match`.",
        "application/json",
        _DEFINITIONS,
        _SEND_COHORTS,
    ),
    "/api/projects/{project_id}/feature_flags/stream": _reading(
        "FlagStream",
        "Be told when flags change",
        "Server-sent events: the present version at once, then one event for each change.",
        "text/event-stream",
        {"type": "string"},
    ),
    "/api/projects/{project_id}/feature_flags/{key}/remote_config": _reading(
        "RemoteConfig",
        "Read the payload of a flag",
        "As JSON text in a JSON string. Also with the project's secret key.",
        "application/json",
        {"type": "string"},
        _KEY,
    ),
}
