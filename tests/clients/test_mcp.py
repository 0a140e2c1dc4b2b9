"""The SDK's own client with a real server: over HTTP at `/mcp`, and with `fanion mcp`."""

import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from fanion.mcp.tools import TOOLS
from tests.support.mcp import called, refused
from tests.support.server import COMMAND_S, Keys, RealServer

pytestmark = pytest.mark.long("starts a server, and the command for each test")

Served = tuple[RealServer, Keys]


def arguments(url: str, *more: str) -> list[str]:
    return ["-m", "fanion", "mcp", "--host", url, *more]


def command(url: str, key: str, *more: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=arguments(url, *more),
        env={"POSTHOG_PERSONAL_API_KEY": key},
    )


@pytest.mark.quick
async def test_an_assistant_works_over_http_and_over_standard_input(
    server: Served, tmp_path: Path
) -> None:
    running, keys = server
    log = tmp_path / "errors"
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=COMMAND_S) as client,
        streamable_http_client(f"{running.url}/mcp", http_client=client) as (read, write),
        ClientSession(read, write) as session,
    ):
        greeting = await session.initialize()
        made = await called(session, "create_flag", key="assistant", active=True)

    project = str(keys.project_id)
    with log.open("w") as errors:
        async with (
            stdio_client(
                command(running.url, keys.personal_api_key, "--project", project), errors
            ) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.discover()
            listed = [tool.name for tool in (await session.list_tools()).tools]
            read_flag = await called(session, "get_flag", flag_id=made["id"])
            changed = await called(
                session, "update_flag", flag_id=made["id"], version=1, active=False
            )
            conflict = await refused(session, "update_flag", flag_id=made["id"], version=1)
            rows = await called(session, "run_sql", sql="select 1 + 1")

    assert greeting.server_info.name == "fanion"
    assert listed == list(TOOLS)
    assert read_flag == made
    assert (changed["active"], changed["version"]) == (False, 2)
    assert conflict["status"] == 409
    assert rows["results"] == [[2]]
    assert log.read_text() == ""


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (None, "Set POSTHOG_PERSONAL_API_KEY to a personal API key"),
        ("phx_wrong", "Personal API key found in request Authorization header is invalid."),
    ],
)
def test_a_command_without_a_valid_key_says_so(server: Served, key: str | None, words: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments(server[0].url)],
        env={} if key is None else {"POSTHOG_PERSONAL_API_KEY": key},
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
