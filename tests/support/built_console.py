"""The console that `make test` builds, for tests that need the real one."""

from pathlib import Path

import pytest

from console import build


def require_built_console() -> Path:
    """Return the folder that the server reads, or skip the test if these sources are not built."""
    if build.built_hash() != build.sources_hash():
        reason = build.FAILED.read_text().partition("\n")[0] if build.FAILED.exists() else ""
        pytest.skip(f"the console is not built: run `make console`. {reason}".rstrip())
    return build.OUTPUT
