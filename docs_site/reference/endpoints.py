"""The reference of the HTTP API, made of its OpenAPI document."""

from typing import Any

from docs_site.reference.markdown import code, plain, table
from fanion.web.openapi.docs_page import Row, body_rows, parameter_row, request_example
from fanion.web.openapi.document import operations_by_tag

_HEAD = """# API

Every operation with its parameters and bodies. The same is at `/api/docs/` of your running server,
with answers, and as an OpenAPI document at `/api/schema/`. [Compatibility](../compatibility.md)
names the differences from PostHog, [Errors](errors.md) what is answered when a request is refused.

"""


def endpoints_page(schema: dict[str, Any]) -> str:
    schemas = schema["components"]["schemas"]
    sections = (
        f"## {tag}\n\n" + "".join(_operation(*operation, schemas) for operation in operations)
        for tag, operations in operations_by_tag(schema).items()
    )
    return _HEAD + "\n".join(sections)


def _operation(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    summary = plain(operation.get("summary") or path)
    parts = [f"### {summary}", code(f"{method.upper()} {path}")]
    if text := operation.get("description"):
        parts.append(plain(text))
    rows = [parameter_row(parameter, schemas) for parameter in operation.get("parameters", ())]
    if body := operation.get("requestBody"):
        rows += body_rows(body, schemas)
    if rows:
        parts.append(table(("Field", "Type", "Meaning"), map(_row, rows)).rstrip())
    if command := request_example(path, method, operation, schemas):
        parts.append(f"```sh\n{command}\n```")
    return "\n\n".join(parts) + "\n\n"


def _row(row: Row) -> Row:
    name, kind, note = row
    return code(name), plain(kind), plain(note)
