"""A server with a console."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.console.serving.builds import BUILD, client_of
from tests.support.application import AppServer


@pytest.fixture(scope="module")
async def served(app_server: AppServer) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app_server, BUILD) as client:
        yield client
