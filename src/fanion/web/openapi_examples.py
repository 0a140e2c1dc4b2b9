"""Examples of the OpenAPI document as commands that can be copied."""

from collections.abc import Mapping
from typing import Any

import msgspec

PROJECT_KEY = "<project API key>"
PERSONAL_KEY = "<personal API key>"
_KEY_OF_SCHEME = {"bearer": PERSONAL_KEY, "project": PROJECT_KEY}
_KIND = "application/json"
# Of parameters without an example of their own.
_PLACES = {"project_id": "@current"}


def request_example(
    path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]
) -> str | None:
    """A curl command; None for an operation whose body has no example."""
    sent = example_of(operation.get("requestBody", {}), schemas)
    if sent is None:
        return None
    lines = [f"curl -X {method.upper()}"]
    for scheme in operation.get("security", [{"bearer": []}]):
        lines += [f"-H 'Authorization: Bearer {_KEY_OF_SCHEME[name]}'" for name in scheme]
    lines += [f"-H 'Content-Type: {_KIND}'", f"-d '{written(sent)}'"]
    return " \\\n  ".join([*lines, f"'{{base_url}}{_address(path, operation)}'"])


def example_of(message: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    """Of a body or an answer in JSON: its own, or the first of the component that it is; None
    without any."""
    content = message.get("content", {}).get(_KIND, {})
    if "example" in content:
        return content["example"]
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return next(iter(schemas.get(name, {}).get("examples", ())), None)


def written(value: Any) -> str:
    """JSON over several lines, without a quote that would end the shell's."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text.replace("'", "\\u0027")


def _address(path: str, operation: Mapping[str, Any]) -> str:
    query = []
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        value = parameter.get("example", _PLACES.get(name))
        if value is None:
            continue
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", str(value))
        else:
            query.append(f"{name}={value}")
    return f"{path}?{'&'.join(query)}" if query else path
