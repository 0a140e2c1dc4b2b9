"""Where an accept log of each kind is kept."""

from pathlib import Path

import pytest

from tests.support.accept_logs import APART
from tests.support.postgres import ENGINES

KINDS = [*ENGINES, "sqlite-apart"]


def place_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """Where `open_log` opens a log of that kind."""
    if kind == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"{APART if kind == 'sqlite-apart' else ''}{folder / 'accept-log.db'}"
