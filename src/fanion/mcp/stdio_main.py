"""The loop of `fanion mcp`: the tools of a server elsewhere over standard input and output."""

import msgspec
from mcp.server.stdio import stdio_server

from fanion.mcp.http_client import http_api
from fanion.mcp.model import CURRENT_KEY, ApiAnswer, ApiCall
from fanion.mcp.service import CallerKey, build_mcp_server


async def serve_stdio(url: str, key: str, project_id: int | None) -> str:
    """Serve until standard input ends.

    Returns:
        Why it cannot serve, or "" at the end.
    """
    async with http_api(url, key) as api:
        answer = await api.send(ApiCall("GET", CURRENT_KEY))
        try:
            caller_key = msgspec.json.decode(answer.body or b"", type=CallerKey)
        except msgspec.MsgspecError:
            return _problem(url, answer)
        server = build_mcp_server(api, caller_key, project_id)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    return ""


class _Detail(msgspec.Struct):
    detail: str


def _problem(url: str, answer: ApiAnswer) -> str:
    try:
        return f"{url}: {msgspec.json.decode(answer.body or b'', type=_Detail).detail}"
    except msgspec.MsgspecError:
        return f"{url} answers {answer.status}, and not as Fanion does. Is it the address of one?"
