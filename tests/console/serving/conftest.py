"""A server with a console."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.console.serving.builds import BUILD, client_of
from tests.support.application import Home


@pytest.fixture
async def served(home: Home) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(home.site, BUILD) as client:
        yield client
