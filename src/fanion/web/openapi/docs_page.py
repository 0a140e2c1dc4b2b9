"""The OpenAPI document as one HTML page, with its examples as curl commands."""

from collections.abc import Mapping
from html import escape
from typing import Any

import msgspec

from fanion.web.openapi.document import (
    JSON,
    PERSONAL_KEY,
    PROJECT_KEY,
    operations_by_tag,
    resolve_reference,
)
from fanion.web.openapi.filter_language import LANGUAGE
from fanion.web.pages import html_document
from fanion.web.security_headers import content_security_policy, own_style

_KEY_OF_SCHEME = {"bearer": PERSONAL_KEY, "project": PROJECT_KEY}
# The values of path parameters that have no example of their own.
_PATH_PARAMETERS = {"project_id": "@current"}
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; }
nav a { margin-right: 1rem; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; }
summary { cursor: pointer; padding: .5rem .75rem; overflow-wrap: anywhere; }
details > div { padding: 0 .75rem .75rem; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
.method { display: inline-block; min-width: 4.5em; font-weight: 700; }
.path { margin-right: .75rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem;
         border-top: 1px solid var(--line); }
th { background: var(--soft); }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; }
"""

_LANGUAGE_TITLE = "Filter language"
_INTRODUCTION = """
<p>Send a personal API key with every request, and the project API key with captures and
evaluations. Every error has the same format. The OpenAPI document is at
<a href="{base_url}/api/schema/">{base_url}/api/schema/</a>.</p>
<pre>curl -H 'Authorization: Bearer &lt;personal API key&gt;' {base_url}/api/projects/

{"type": "validation_error", "code": "required",
 "detail": "This field is required.", "attr": "name"}</pre>
"""


CONTENT_SECURITY_POLICY = content_security_policy(own_style(_STYLE))


def documentation_page(schema: dict[str, Any]) -> str:
    """Return the page as a whole HTML document."""
    schemas = schema["components"]["schemas"]
    groups = {
        tag: [_operation_html(*operation, schemas) for operation in operations]
        for tag, operations in operations_by_tag(schema).items()
    }
    if language := _filter_language(schemas):
        groups[_LANGUAGE_TITLE] = language
    title = f"{schema['info']['title']} API {schema['info']['version']}"
    links = "".join(f'<a href="#{_tag_anchor(tag)}">{escape(tag)}</a>' for tag in groups)
    sections = "".join(
        f'<section id="{_tag_anchor(tag)}"><h2>{escape(tag)}</h2>{"".join(entries)}</section>'
        for tag, entries in groups.items()
    )
    return html_document(
        title,
        _STYLE,
        f"<header><h1>{escape(title)}</h1>{_INTRODUCTION}<nav>{links}</nav></header>"
        f"<main>{sections}</main>",
    )


def _operation_html(
    path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]
) -> str:
    parts = []
    if text := operation.get("description"):
        parts.append(f"<p>{escape(text)}</p>")
    if parameters := operation.get("parameters"):
        parts.append(
            _table_html(
                "Parameters", [parameter_row(parameter, schemas) for parameter in parameters]
            )
        )
    if body := operation.get("requestBody"):
        parts.append(_table_html("Request body", body_rows(body, schemas)))
    if command := request_example(path, method, operation, schemas):
        parts.append(f'<h3>Example</h3><pre class="request">{escape(command, quote=False)}</pre>')
    for status, response in operation["responses"].items():
        if status != "default":
            parts.append(_table_html(f"Response {status}", body_rows(response, schemas)))
            if (example := example_of(response, schemas)) is not None:
                parts.append(_preformatted_html(format_example(example)))
    return (
        f'<details><summary><code class="method">{method.upper()}</code> '
        f'<code class="path">{escape(path)}</code> {escape(operation.get("summary", ""))}'
        f"</summary><div>{''.join(parts)}</div></details>"
    )


def _preformatted_html(text: str) -> str:
    return f"<pre>{escape(text, quote=False)}</pre>"


def _filter_language(schemas: dict[str, Any]) -> list[str]:
    """Return the components of conditions in bodies, one entry each."""
    return [_component_html(name, schemas) for name in LANGUAGE if name in schemas]


def _component_html(name: str, schemas: dict[str, Any]) -> str:
    component = schemas[name]
    parts = [f"<p>{escape(component.get('description', ''))}</p>"]
    if "properties" in component:
        parts.append(_table_html("Fields", _object_rows(component, schemas)))
    for form in component.get("anyOf", ()):
        if "properties" in form:
            parts.append(_table_html(_form_title(form), _object_rows(form, schemas)))
        else:
            parts.append(f"<p>{escape(_type_text(form, schemas))}</p>")
    parts += [
        _preformatted_html(format_example(example)) for example in component.get("examples", ())
    ]
    return (
        f'<details id="{name}"><summary><code>{name}</code></summary>'
        f"<div>{''.join(parts)}</div></details>"
    )


def _form_title(form: dict[str, Any]) -> str:
    """Return the words that distinguish this form of a condition from the others."""
    fields = form["properties"]
    words: list[str] = []
    for field in (fields.get("type", {}), fields.get("operator", {})):
        for alternative in field.get("anyOf", [field]):
            words += alternative.get("enum", ())
    return " ".join(words)


Row = tuple[str, str, str]


def parameter_row(parameter: dict[str, Any], schemas: dict[str, Any]) -> Row:
    """Return name, type and meaning of a parameter."""
    note = parameter.get("description") or ""
    location = parameter["in"] + (", required" if parameter.get("required") else "")
    return parameter["name"], f"{_type_text(parameter['schema'], schemas)}, {location}", note


def body_rows(message: dict[str, Any], schemas: dict[str, Any]) -> list[Row]:
    """Return the fields of a body, or one row without a name for a body that is not an object."""
    content: dict[str, Any] = next(iter(message.get("content", {}).values()), {})
    node = content.get("schema")
    if node is None:
        return []
    shape = resolve_reference(node, schemas)
    rows = _object_rows(shape, schemas)
    return rows or [("", _type_text(node, schemas), shape.get("description") or "")]


def _object_rows(shape: dict[str, Any], schemas: dict[str, Any]) -> list[Row]:
    """Return the fields of an object."""
    required = set(shape.get("required", ()))
    return [
        (
            name,
            _type_text(field, schemas) + (", required" if name in required else ""),
            field.get("description") or resolve_reference(field, schemas).get("description") or "",
        )
        for name, field in shape.get("properties", {}).items()
    ]


def _table_html(title: str, rows: list[Row]) -> str:
    if not rows:
        return f"<h3>{escape(title)}</h3><p>No body.</p>"
    lines = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td>"
        f"<td>{escape(note)}</td></tr>"
        for name, kind, note in rows
    )
    head = "<tr><th>Name</th><th>Type</th><th>Meaning</th></tr>"
    return f"<h3>{escape(title)}</h3><table>{head}{lines}</table>"


def _type_text(node: dict[str, Any], schemas: dict[str, Any]) -> str:
    """Return a schema in a few words, such as `array of string or null`."""
    if reference := node.get("$ref"):
        return _component_name(reference, schemas)
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in node:
            return " or ".join(
                dict.fromkeys(_type_text(alternative, schemas) for alternative in node[choice])
            )
    if "enum" in node:
        words = [value if isinstance(value, str) else _json_text(value) for value in node["enum"]]
        return " or ".join(words)
    kind = node.get("type", "anything")
    if isinstance(kind, list):
        kind = " or ".join(kind)
    if kind == "array":
        return f"array of {_type_text(node.get('items', {}), schemas)}"
    return f"{kind} ({node['format']})" if "format" in node else str(kind)


def _json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _component_name(reference: str, schemas: dict[str, Any]) -> str:
    name = reference.rpartition("/")[2]
    return str(schemas.get(name, {}).get("title", name))


def _tag_anchor(tag: str) -> str:
    return escape(tag.lower().replace(" ", "-"))


def request_example(
    path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]
) -> str | None:
    """Return a curl command, or None for an operation whose body has no example."""
    example = example_of(operation.get("requestBody", {}), schemas)
    if example is None:
        return None
    lines = [f"curl -X {method.upper()}"]
    for scheme in operation.get("security", [{"bearer": []}]):
        known = [_KEY_OF_SCHEME[name] for name in scheme if name in _KEY_OF_SCHEME]
        lines += [f"-H 'Authorization: Bearer {key}'" for key in known]
    lines += [f"-H 'Content-Type: {JSON}'", f"-d '{format_example(example)}'"]
    return " \\\n  ".join([*lines, f"'{{base_url}}{_example_address(path, operation)}'"])


def example_of(message: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    """Return the JSON example of a body or a response, or its component's first one.

    Returns:
        None if there is none.
    """
    content = message.get("content", {}).get(JSON, {})
    if "example" in content:
        return content["example"]
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return next(iter(schemas.get(name, {}).get("examples", ())), None)


def format_example(value: Any) -> str:
    """Return indented JSON without single quotes, which would end a string of the shell."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text.replace("'", "\\u0027")


def _example_address(path: str, operation: Mapping[str, Any]) -> str:
    query = []
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        value = parameter.get("example", _PATH_PARAMETERS.get(name))
        if value is None:
            continue
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", str(value))
        else:
            query.append(f"{name}={value}")
    return f"{path}?{'&'.join(query)}" if query else path
