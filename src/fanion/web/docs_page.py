"""The OpenAPI document as one page that needs nothing from elsewhere."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from html import escape
from typing import Any

import msgspec
from msgspec import Struct

from fanion.web.html import content_security_policy, html_document
from fanion.web.openapi import operations, resolve
from fanion.web.openapi_examples import example_of, request_example, written
from fanion.web.openapi_filters import LANGUAGE

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
evaluations. A failure of any kind has one shape. The machine-readable description is at
<a href="{base_url}/api/schema/">{base_url}/api/schema/</a>.</p>
<pre>curl -H 'Authorization: Bearer &lt;personal API key&gt;' {base_url}/api/projects/

{"type": "validation_error", "code": "required",
 "detail": "This field is required.", "attr": "name"}</pre>
"""


CONTENT_SECURITY_POLICY = content_security_policy(_STYLE)


# In the document and the page, for the address that the client uses, which `Page.at` puts there.
BASE_URL = "{base_url}"


class Page(Struct, frozen=True):
    """etag: of these bytes; written: how a text is written in them"""

    body: bytes
    etag: str
    written: Callable[[str], bytes]

    def at(self, base_url: str) -> "Page":
        """As a client is to see it that reaches the server there."""
        body = self.body.replace(BASE_URL.encode(), self.written(base_url))
        return Page(body, _etag(self.etag.encode() + base_url.encode()), self.written)


class Pages(Struct, frozen=True):
    schema: Page
    documentation: Page


class DescribedApi:
    """The OpenAPI document and the page made of it, encoded; made in a thread when one of them is
    first asked for, once for all who ask meanwhile: it takes most of a second."""

    def __init__(self, describe: Callable[[], dict[str, Any]]) -> None:
        """describe: makes the document"""
        self._describe = describe
        self._making: asyncio.Task[Pages] | None = None

    async def pages(self) -> Pages:
        """A caller that leaves cancels it for no other; a failure is retried by the next call."""
        if self._making is None or self._has_failed():
            self._making = asyncio.create_task(asyncio.to_thread(self._make))
        return await asyncio.shield(self._making)

    def _has_failed(self) -> bool:
        making = self._making
        if making is None or not making.done():
            return False
        return making.cancelled() or making.exception() is not None

    def _make(self) -> Pages:
        schema = {**self._describe(), "servers": [{"url": BASE_URL}]}
        documentation = documentation_page(schema).encode()
        return Pages(_page(msgspec.json.encode(schema), _in_json), _page(documentation, _in_html))


def _page(body: bytes, written: Callable[[str], bytes]) -> Page:
    return Page(body, _etag(body), written)


def _etag(of: bytes) -> str:
    return f'"{sha256(of).hexdigest()[:32]}"'


def _in_json(text: str) -> bytes:
    return msgspec.json.encode(text)[1:-1]


def _in_html(text: str) -> bytes:
    return escape(text).encode()


def documentation_page(schema: dict[str, Any]) -> str:
    """HTML, complete."""
    schemas = schema["components"]["schemas"]
    groups: dict[str, list[str]] = {}
    for path, method, operation in operations(schema):
        tag = (operation.get("tags") or ["Other"])[0]
        groups.setdefault(tag, []).append(_operation(path, method, operation, schemas))
    if language := _language(schemas):
        groups[_LANGUAGE_TITLE] = language
    title = f"{schema['info']['title']} API {schema['info']['version']}"
    links = "".join(f'<a href="#{_anchor(tag)}">{escape(tag)}</a>' for tag in groups)
    sections = "".join(
        f'<section id="{_anchor(tag)}"><h2>{escape(tag)}</h2>{"".join(entries)}</section>'
        for tag, entries in groups.items()
    )
    return html_document(
        title,
        _STYLE,
        f"<header><h1>{escape(title)}</h1>{_INTRODUCTION}<nav>{links}</nav></header>"
        f"<main>{sections}</main>",
    )


def _operation(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    parts = []
    if text := operation.get("description"):
        parts.append(f"<p>{escape(text)}</p>")
    if parameters := operation.get("parameters"):
        parts.append(_table("Parameters", [_parameter(one, schemas) for one in parameters]))
    if body := operation.get("requestBody"):
        parts.append(_table("Request body", _fields(body, schemas)))
    if command := request_example(path, method, operation, schemas):
        parts.append(f'<h3>Example</h3><pre class="request">{escape(command, quote=False)}</pre>')
    for status, response in operation["responses"].items():
        if status != "default":
            parts.append(_table(f"Answer {status}", _fields(response, schemas)))
            if (told := example_of(response, schemas)) is not None:
                parts.append(_preformatted(written(told)))
    return (
        f'<details><summary><code class="method">{method.upper()}</code> '
        f'<code class="path">{escape(path)}</code> {escape(operation.get("summary", ""))}'
        f"</summary><div>{''.join(parts)}</div></details>"
    )


def _preformatted(text: str) -> str:
    return f"<pre>{escape(text, quote=False)}</pre>"


def _language(schemas: dict[str, Any]) -> list[str]:
    """What bodies take where they ask for conditions, one entry for each component."""
    return [_component(name, schemas) for name in LANGUAGE if name in schemas]


def _component(name: str, schemas: dict[str, Any]) -> str:
    component = schemas[name]
    parts = [f"<p>{escape(component.get('description', ''))}</p>"]
    if "properties" in component:
        parts.append(_table("Fields", _rows(component, schemas)))
    for form in component.get("anyOf", ()):
        if "properties" in form:
            parts.append(_table(_form_title(form), _rows(form, schemas)))
        else:
            parts.append(f"<p>{escape(_type(form, schemas))}</p>")
    parts += [_preformatted(written(one)) for one in component.get("examples", ())]
    return (
        f'<details id="{name}"><summary><code>{name}</code></summary>'
        f"<div>{''.join(parts)}</div></details>"
    )


def _form_title(form: dict[str, Any]) -> str:
    """What tells this form of a condition from the others."""
    fields = form["properties"]
    told = [fields[name].get("const", "") for name in ("type",) if name in fields]
    told += fields.get("operator", {}).get("enum", ())
    return " ".join(str(one) for one in told if one)


Row = tuple[str, str, str]


def _parameter(parameter: dict[str, Any], schemas: dict[str, Any]) -> Row:
    note = parameter.get("description") or ""
    place = parameter["in"] + (", required" if parameter.get("required") else "")
    return parameter["name"], f"{_type(parameter['schema'], schemas)}, {place}", note


def _fields(message: dict[str, Any], schemas: dict[str, Any]) -> list[Row]:
    """The fields of a body, or one nameless row for a body that is no object."""
    content: dict[str, Any] = next(iter(message.get("content", {}).values()), {})
    node = content.get("schema")
    if node is None:
        return []
    shape = resolve(node, schemas)
    rows = _rows(shape, schemas)
    return rows or [("", _type(node, schemas), shape.get("description") or "")]


def _rows(shape: dict[str, Any], schemas: dict[str, Any]) -> list[Row]:
    """The fields of an object."""
    required = set(shape.get("required", ()))
    return [
        (
            name,
            _type(field, schemas) + (", required" if name in required else ""),
            field.get("description") or resolve(field, schemas).get("description") or "",
        )
        for name, field in shape.get("properties", {}).items()
    ]


def _table(title: str, rows: list[Row]) -> str:
    if not rows:
        return f"<h3>{escape(title)}</h3><p>No body.</p>"
    lines = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td>"
        f"<td>{escape(note)}</td></tr>"
        for name, kind, note in rows
    )
    head = "<tr><th>Name</th><th>Type</th><th>Meaning</th></tr>"
    return f"<h3>{escape(title)}</h3><table>{head}{lines}</table>"


def _type(node: dict[str, Any], schemas: dict[str, Any]) -> str:
    """A few words for a schema, for example `array of string or null`."""
    if reference := node.get("$ref"):
        return _name(reference, schemas)
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in node:
            return " or ".join(dict.fromkeys(_type(one, schemas) for one in node[choice]))
    if "const" in node:
        return _json(node["const"])
    if "enum" in node:
        words = [one if isinstance(one, str) else _json(one) for one in node["enum"]]
        return " or ".join(words)
    kind = node.get("type", "anything")
    if isinstance(kind, list):
        kind = " or ".join(kind)
    if kind == "array":
        return f"array of {_type(node.get('items', {}), schemas)}"
    return f"{kind} ({node['format']})" if "format" in node else str(kind)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _name(reference: str, schemas: dict[str, Any]) -> str:
    name = reference.rpartition("/")[2]
    return str(schemas.get(name, {}).get("title", name))


def _anchor(tag: str) -> str:
    return escape(tag.lower().replace(" ", "-"))
