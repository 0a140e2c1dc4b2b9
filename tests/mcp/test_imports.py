"""The SDK is loaded by the first assistant, not by the start of a server.

It takes seconds: a process of its own imports the server.
"""

import subprocess
import sys

LOADED = """
import sys
import fanion.app.application, fanion.mcp.endpoints
print(*{"jsonschema", "mcp", "mcp_types", "pydantic", "starlette"}.intersection(sys.modules))
"""


def test_a_server_without_assistants_does_not_load_the_sdk() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )

    assert done.stdout == "\n"
