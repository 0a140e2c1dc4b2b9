"""Tools: their schemas, the requests that they make, and the keys that may call them."""

import re

import msgspec
import pytest

from fanion.mcp.model import ApiCall, Tool
from fanion.mcp.tools import TOOLS, allowed_tools
from fanion.projects.auth.model import is_scope
from fanion.rest.validation import read_struct

EVERY = list(TOOLS.values())


def call_of(name: str, connected: int | None = None, /, **arguments: object) -> ApiCall:
    tool = TOOLS[name]
    return tool.call(read_struct(tool.arguments, arguments), connected)


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)
def test_a_tool_is_described_and_takes_only_what_it_knows(tool: Tool) -> None:
    schema = tool.input_schema

    assert tool.description.endswith((".", '"'))
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert "$ref" not in msgspec.json.encode(schema).decode()
    assert set(re.findall(r"\{(\w+)\}", tool.path)) <= schema["properties"].keys()
    assert tool.scope is None or is_scope(tool.scope)
    assert tool.is_read == (tool.method == "GET" or tool.path.endswith("/query/"))


def test_the_descriptions_of_all_tools_are_short() -> None:
    """An assistant reads all of them before its first question."""
    size = sum(len(tool.description) + len(str(tool.input_schema)) for tool in EVERY)

    assert size < 20_000


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            call_of("list_flags", search="a b", active="true"),
            ApiCall(
                "GET",
                "/api/projects/@current/feature_flags/",
                "limit=50&offset=0&search=a+b&active=true",
            ),
        ),
        (
            call_of("get_insight", 7, insight_id=3, refresh=True),
            ApiCall("GET", "/api/projects/7/insights/3/", "refresh=true"),
        ),
        (
            call_of("list_events", 7, project_id=8, properties=[{"key": "a"}], limit=2),
            ApiCall(
                "GET",
                "/api/projects/8/events/",
                "properties=%5B%7B%22key%22%3A%22a%22%7D%5D&limit=2",
            ),
        ),
        (
            call_of("update_flag", flag_id=5, version=2, active=False),
            ApiCall(
                "PATCH",
                "/api/projects/@current/feature_flags/5/",
                body=b'{"version":2,"active":false}',
            ),
        ),
        (
            call_of("run_sql", sql="select 1"),
            ApiCall(
                "POST",
                "/api/projects/@current/query/",
                body=b'{"query":{"kind":"HogQLQuery","query":"select 1"}}',
            ),
        ),
    ],
)
def test_a_tool_is_one_request(call: ApiCall, expected: ApiCall) -> None:
    assert call == expected


@pytest.mark.parametrize("scopes", [None, ["*"], ["feature_flag:write", "*"]])
def test_an_unrestricted_key_may_call_every_tool(scopes: list[str] | None) -> None:
    assert allowed_tools(scopes) == EVERY


def test_scopes_decide_which_tools_there_are() -> None:
    def names(*scopes: str) -> set[str]:
        return {tool.name for tool in allowed_tools(scopes)}

    reading = {"get_key", "list_flags", "get_flag", "evaluate_flags"}
    assert names() == {"get_key"}
    assert names("feature_flag:read") == reading
    assert names("feature_flag:write") == {*reading, "create_flag", "update_flag"}
    assert names("query:read") == {"get_key", "run_query", "run_sql"}
