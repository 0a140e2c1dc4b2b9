"""Tools, the requests that they make to the HTTP API, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import quote, urlencode

import msgspec
from msgspec import UNSET, Struct

CURRENT_PROJECT = "@current"
# The path of the key that makes the request.
CURRENT_KEY = "/api/personal_api_keys/@current/"
Method = Literal["GET", "POST", "PATCH"]


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request to the HTTP API.

    Attributes:
        path: Percent-encoded.
        query: Percent-encoded, without the `?`.
        body: JSON; empty for GET.
    """

    method: Method
    path: str
    query: str = ""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The answer to one request.

    Attributes:
        headers: Names in lower case.
        body: None if it was too large to be received.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | None


class Api(Protocol):
    """The HTTP API of a server, called with one personal API key."""

    async def send(self, call: ApiCall) -> ApiAnswer:
        """Send a request, and return whatever it was answered with."""
        ...


class NoArguments(Struct, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a tool that takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of an assistant, which is one operation of the HTTP API.

    Attributes:
        path: With the names of arguments in braces, and `{project_id}`.
        scope: The scope that a restricted key needs; None if every key may call it.
        body: Makes the body of the arguments; by default they are sent as they are.
        columns: The fields of each result that are shown; all if there are none.
        fixed: Query parameters that are always sent.
        version_header: The header whose number is added to the answer as `version`.
        more: The sentence that says how to get the rest of an answer that was cut.
        destroys: Whether it may replace or delete what there was.
    """

    name: str
    title: str
    description: str
    arguments: type[Struct]
    method: Method
    path: str
    scope: str | None
    body: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    columns: tuple[str, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)
    version_header: str = ""
    more: str = "Ask for less."
    destroys: bool = False

    @property
    def is_read(self) -> bool:
        return self.scope is None or self.scope.endswith(":read")

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        _, schemas = msgspec.json.schema_components([self.arguments])
        schema: dict[str, Any] = dict(schemas[self.arguments.__name__])
        del schema["title"]
        schema.pop("description", None)
        return schema

    def call(self, arguments: Struct, project_id: int | None) -> ApiCall:
        """Return the request that the tool makes.

        Args:
            project_id: The project of arguments that name none; None for the current project of
                the key's owner.
        """
        values = {
            name: value
            for name, value in msgspec.structs.asdict(arguments).items()
            if value is not UNSET
        }
        project = values.pop("project_id", project_id or CURRENT_PROJECT)
        path, rest = _filled_path(self.path, {"project_id": project, **values})
        if self.method == "GET":
            pairs = {name: _query_text(value) for name, value in rest.items()}
            return ApiCall(self.method, path, urlencode({**self.fixed, **pairs}))
        return ApiCall(self.method, path, body=msgspec.json.encode(self.body(rest)))


def _filled_path(path: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path with its values, and the values that are not part of it."""
    rest = {}
    for name, value in values.items():
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", quote(str(value), safe="@"))
        elif name != "project_id":
            rest[name] = value
    return path, rest


def _query_text(value: Any) -> str:
    """Return a value as the API's query parameters have it: lists and objects are JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
