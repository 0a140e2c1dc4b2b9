"""The server of the MCP SDK: lists the tools that a key may call, and calls them.

Loading the SDK takes most of a second and 33 MB of a server's memory, so that it is imported only
where assistants are answered.
"""

import asyncio
from collections.abc import Collection
from typing import Any, Final

import mcp_types as types
import msgspec
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from msgspec import Struct

from fanion import __version__
from fanion.errors import Invalid
from fanion.mcp.answers import answer_text, is_error
from fanion.mcp.model import Api, Tool
from fanion.mcp.tools import INSTRUCTIONS, TOOLS, allowed_tools
from fanion.rest.validation import read_struct

_ENCODED_ON_LOOP_BYTES_MAX = 64 * 1024
Context = ServerRequestContext[Any]


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.is_read,
            destructive_hint=tool.destroys,
            open_world_hint=False,
        ),
    )


# They are built when the SDK is loaded, in a thread: it takes some milliseconds.
_LISTED: Final = {tool.name: _listed(tool) for tool in TOOLS.values()}


class CallerKey(Struct):
    """The part of the API's answer about the caller's key that decides about tools."""

    scopes: list[str] | None


def build_mcp_server(api: Api, key: CallerKey, project_id: int | None) -> Server[Any]:
    """Build the server for the requests of one key.

    Args:
        project_id: The project of calls that name none; None for the current one of the owner.
    """

    async def list_tools(
        _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[_LISTED[tool.name] for tool in allowed_tools(key.scopes)]
        )

    async def call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, _unknown_tool(params.name, TOOLS))
        return await _call_tool(api, tool, params.arguments or {}, project_id)

    server: Server[Any] = Server(
        "fanion",
        title="Fanion",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # the spans of the SDK; the server has its own
    return server


def _unknown_tool(name: str, known: Collection[str]) -> str:
    return f"There is no tool '{name[:100]}'. The tools are {', '.join(known)}."


async def _call_tool(
    api: Api, tool: Tool, arguments: dict[str, Any], project_id: int | None
) -> types.CallToolResult:
    try:
        read = read_struct(tool.arguments, arguments)
    except Invalid as error:
        fields = {"status": error.status, **error.fields()}
        return _result(msgspec.json.encode(fields).decode(), failed=True)
    answer = await api.send(tool.call(read, project_id))
    if len(answer.body or b"") <= _ENCODED_ON_LOOP_BYTES_MAX:
        text = answer_text(tool, answer)
    else:
        text = await asyncio.to_thread(answer_text, tool, answer)
    return _result(text, failed=is_error(answer))


def _result(text: str, *, failed: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)
