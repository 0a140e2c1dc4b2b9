"""A server with a console."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.console.serving.builds import BUILD, client_of
from tests.support.application import Tenant


@pytest.fixture
async def served(tenant: Tenant) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(tenant.server, BUILD) as client:
        yield client
