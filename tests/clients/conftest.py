"""One real server for all clients; each client's ids contain its name."""

from collections.abc import Iterator

import pytest

from tests.clients.browser import find_chromium
from tests.clients.management import Api, serving
from tests.clients.victim import Victim, open_victim
from tests.support.server import Keys, RealServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    with serving(tmp_path_factory.mktemp("clients")) as server:
        yield server


@pytest.fixture(scope="session")
def api(server: tuple[RealServer, Keys]) -> Iterator[Api]:
    api = Api(*server)
    yield api
    api.close()


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    if find_chromium() is None:
        pytest.skip("no Chromium found: install the package `chromium`")
    with open_victim(tmp_path_factory.mktemp("victim")) as victim:
        yield victim
