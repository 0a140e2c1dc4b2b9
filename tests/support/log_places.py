"""Where an accept log of each engine is stored."""

from pathlib import Path

import pytest


def place_of(engine: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """Where `open_log` opens a log of that engine."""
    if engine == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return str(folder / "accept-log.db")
