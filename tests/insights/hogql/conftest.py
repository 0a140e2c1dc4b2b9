import pytest

from tests.support.histories import Analyst
from tests.support.sql import OTHER, OWN, Asker


@pytest.fixture(scope="session")
async def asker(analyst: Analyst) -> Asker:
    """Return an asker of a project beside which another one has events."""
    await analyst.store(OTHER)
    return Asker(analyst, await analyst.store(OWN))
