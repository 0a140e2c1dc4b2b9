"""The OpenAPI 3.1 document of the management API and of public endpoints.

The framework generates the management API's part from handlers and structs. This module adds what
it cannot know: trailing slashes, the one error format, paging parameters, optional bodies,
rejected names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec
from litestar import Litestar
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme, Server

from fanion import __version__
from fanion.accounts.sessions.cookies import SECURE_NAME
from fanion.cohorts.members_api import FORMATS
from fanion.experiments.schemas import VERSION_HEADER as EXPERIMENT_VERSION
from fanion.exports.model import FORMATS as EXPORT_FORMATS
from fanion.flags.definitions.schemas import VERSION_HEADER
from fanion.projects.activity_api import ENTRIES, ENTRIES_MAX
from fanion.rest.json_schema import one_of, or_null
from fanion.rest.pagination import ROWS, ROWS_MAX, paging_names
from fanion.rest.validation import INTEGER_MAX
from fanion.web.openapi.filter_language import add_filter_language
from fanion.web.openapi.operation_ids import operation_id
from fanion.web.openapi.path_parameters import rename_path_parameters
from fanion.web.openapi.types_for_generators import (
    complete_types,
    describe_defaults,
    publish_null_fields,
)

# Placeholders in examples.
PROJECT_KEY = "<project API key>"
PERSONAL_KEY = "<personal API key>"
JSON = "application/json"
Json = Mapping[str, Any]

_GENERIC = re.compile(rb"\b([A-Z]\w*)_fanion\.[\w.]*?(\w+)_(?=\")")
_METHODS = frozenset({"get", "post", "put", "patch", "delete"})
_ERROR = {
    "type": "object",
    "description": "Body of every error response.",
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
        "code": {"type": "string", "description": "Stable, for use by programs."},
        "detail": {"type": "string", "description": "Explanation for readers; it may change."},
        "attr": {
            "type": ["string", "null"],
            "description": "Name of the invalid field; nested names are joined by `__`.",
        },
    },
}
_REFERENCE = {"$ref": "#/components/schemas/Error"}
_ERROR_RESPONSE = {
    "description": (
        "400 invalid value, 401 missing or invalid key or session, 403 not permitted, "
        "404 not found, 405 method not allowed, 413 body too large, "
        "415 unsupported content type, 503 retry later."
    ),
    "content": {JSON: {"schema": _REFERENCE}},
}
# The framework derives the schema of a header from its value, which headers that only the document
# names do not have.
_VERSION: Json = {"type": "integer", "minimum": 1}
_HEADERS: Json = {VERSION_HEADER: _VERSION, EXPERIMENT_VERSION: _VERSION}
_KNOWN_PARAMETERS = {"project_id": "Numeric id, or `@current` for the project of the key."}
# What the query parameter `format` may be, by the end of the path; "" stands for all others. An
# empty value is accepted where it is the default, and not published.
_FORMATS: Mapping[str, Sequence[str]] = {"/export": EXPORT_FORMATS, "": FORMATS}
_LENIENT = "A value that is not a number is ignored; one above the maximum means the maximum."


def _paging_parameter(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": f"{description} {_LENIENT}",
        "schema": {"type": "integer", **schema},
    }


_BY_OFFSET = (
    _paging_parameter("limit", "Results per page.", minimum=1, maximum=ROWS_MAX, default=ROWS),
    _paging_parameter("offset", "Results to skip.", minimum=0, default=0),
)
_BY_NUMBER = (
    _paging_parameter("page", "Page number, from 1.", minimum=1, default=1),
    _paging_parameter(
        "limit", "Results per page.", minimum=1, maximum=ENTRIES_MAX, default=ENTRIES
    ),
)


def openapi_config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Fanion",
        version=__version__,
        description=(
            "Product analytics and feature flags: the management API, and the endpoints that "
            "applications and SDKs call. The management API rejects unknown names; the other "
            "endpoints accept them. A stored value is accepted again as it is."
        ),
        use_handler_docstrings=True,
        servers=[Server(url="/")],
        security=[{"bearer": []}, {"session": []}],
        components=Components(
            security_schemes={
                "bearer": SecurityScheme(
                    type="http", scheme="bearer", description="A personal API key, `phx_…`."
                ),
                "session": SecurityScheme(
                    type="apiKey",
                    name=SECURE_NAME,
                    security_scheme_in="cookie",
                    description="Set by `/api/login/`; over plain http it is called `fanion`. "
                    "Requests that change something need the header `X-Fanion-Console: 1`.",
                ),
                "project": SecurityScheme(
                    type="http", scheme="bearer", description="The project API key, `phc_…`."
                ),
            }
        ),
    )


def openapi_document(app: Litestar, others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document.

    Args:
        app: Built with `openapi_config()`.
        others: Paths that `app` does not answer.
    """
    schema: dict[str, Any] = _simplify_schema(_rename_components(app.openapi_schema.to_schema()))
    schema["paths"] = rename_path_parameters(schema["paths"]) | deepcopy(dict(others))
    schemas = schema["components"].setdefault("schemas", {})
    publish_null_fields(schemas)
    add_filter_language(schema, app)
    for path, _, operation in iter_operations(schema):
        operation["responses"].get("204", {}).pop("content", None)
        _add_error_responses(operation["responses"])
        _add_header_schemas(operation["responses"])
        for parameter in operation.get("parameters", ()):
            parameter.setdefault("description", _KNOWN_PARAMETERS.get(parameter["name"], ""))
            parameter["schema"] = _not_null(parameter["schema"])
            if parameter["name"] == "format":
                parameter["schema"] |= one_of(_formats_of(path))
        known = {parameter["name"] for parameter in operation.get("parameters", ())}
        added = [
            parameter
            for parameter in _paging_of(operation, schemas)
            if parameter["name"] not in known
        ]
        if added:
            operation["parameters"] = [*operation.get("parameters", ()), *added]
        if body := operation.get("requestBody"):
            body["required"] = all(
                _names_required(resolve_reference(content["schema"], schemas))
                for content in body["content"].values()
            )
    for path, method, operation in iter_operations(schema):
        if path not in others:
            is_list = _is_list(operation, schemas)
            operation["operationId"] = operation_id(method, f"{path}/", is_list=is_list)
    schemas["Error"] = _ERROR
    schema["components"]["responses"] = {"Error": _ERROR_RESPONSE}
    schema["paths"] = {
        path.rstrip("/") + "/": item for path, item in sorted(schema["paths"].items())
    }
    complete_types(schema)
    describe_defaults(schema)
    return schema


def _names_required(schema: Mapping[str, Any]) -> bool:
    """Return whether every alternative of the schema has a required field."""
    forms = schema.get("anyOf", [schema])
    return all(form.get("required") for form in forms)


# Path, method in lower case and operation.
Operation = tuple[str, str, dict[str, Any]]


def iter_operations(schema: dict[str, Any]) -> Iterator[Operation]:
    """Yield the operations, in the document's order."""
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield path, method, operation


def operations_by_tag(schema: dict[str, Any]) -> dict[str, list[Operation]]:
    """Return the operations of each tag, in the document's order."""
    tagged: dict[str, list[Operation]] = {}
    for path, method, operation in iter_operations(schema):
        tag = (operation.get("tags") or ["Other"])[0]
        tagged.setdefault(tag, []).append((path, method, operation))
    return tagged


def resolve_reference(node: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference to a component."""
    name = node.get("$ref", "").removeprefix("#/components/schemas/")
    target: dict[str, Any] = schemas.get(name, {}) if name else node
    return target


def _rename_components(schema: dict[str, Any]) -> dict[str, Any]:
    """Rename components such as `Paged_fanion.flags.api.FlagBody_` to `PagedFlagBody`."""
    text = _GENERIC.sub(rb"\1\2", msgspec.json.encode(schema))
    renamed: dict[str, Any] = msgspec.json.decode(text)
    return renamed


def _simplify_schema(node: Any) -> Any:
    """Return the schema with bounds of integers as integers, and without `const` and idle `oneOf`.

    The framework writes a `oneOf` of a single schema for optional fields, and a `const`, which
    fewer generators of clients know than an enum, for a single word.
    """
    if isinstance(node, list):
        return [_simplify_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    simplified = {name: _simplify_schema(value) for name, value in node.items()}
    if len(simplified.get("oneOf", ())) == 1:
        [only] = simplified.pop("oneOf")
        simplified = only | simplified
    if "const" in simplified:
        simplified["enum"] = [simplified.pop("const")]
    if None in simplified.get("enum", ()):
        simplified = _with_null_apart(simplified)
    if simplified.get("type") == "integer":
        for bound in simplified.keys() & {"minimum", "maximum"}:
            simplified[bound] = min(int(simplified[bound]), INTEGER_MAX)
    return simplified


def _with_null_apart(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an enum with null as an alternative to the enum."""
    words = [word for word in schema["enum"] if word is not None]
    others = {name: value for name, value in schema.items() if name not in ("type", "enum")}
    return {**or_null(one_of(words)), **others}


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop null from a query parameter, which can only be absent."""
    kinds: list[dict[str, Any]] = [
        alternative for alternative in schema.get("oneOf", ()) if alternative != {"type": "null"}
    ]
    if len(kinds) != 1:
        return schema
    return kinds[0] | {name: value for name, value in schema.items() if name != "oneOf"}


def _add_error_responses(responses: dict[str, Any]) -> None:
    """Replace the framework's validation error, which is never sent."""
    responses.pop("400", None)
    responses["default"] = {"$ref": "#/components/responses/Error"}


def _add_header_schemas(responses: dict[str, Any]) -> None:
    for response in responses.values():
        for name, header in response.get("headers", {}).items():
            header.setdefault("schema", _HEADERS[name])


def _response_schema(operation: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the JSON that answers a request, empty if none does."""
    response = operation["responses"].get("200", {}).get("content", {}).get(JSON, {})
    return resolve_reference(response.get("schema", {}), schemas)


def _is_list(operation: dict[str, Any], schemas: dict[str, Any]) -> bool:
    schema = _response_schema(operation, schemas)
    return schema.get("type") == "array" or "results" in schema.get("properties", ())


def _formats_of(path: str) -> Sequence[str]:
    return next(formats for end, formats in _FORMATS.items() if path.endswith(end))


def _paging_of(operation: dict[str, Any], schemas: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the paging parameters that the fields of the response imply."""
    names = paging_names(_response_schema(operation, schemas).get("properties", {}))
    if not names:
        return ()
    return _BY_NUMBER if "page" in names else _BY_OFFSET


def post_operation(
    summary: str,
    description: str,
    schema: Json,
    example: Any,
    response: tuple[Json, Any],
    **more: Any,
) -> Json:
    """Return an operation of POST.

    Args:
        response: Schema and example.
        more: Further members of the operation.
    """
    operation = {
        "summary": summary,
        "description": description,
        "security": [],
        "requestBody": {"content": {JSON: {"schema": schema, "example": example}}},
        "responses": {
            "200": {
                "description": "OK",
                "content": {JSON: {"schema": response[0], "example": response[1]}},
            }
        },
    }
    return {"post": {**operation, **more}}
