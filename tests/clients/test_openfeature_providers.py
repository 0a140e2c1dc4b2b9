"""OpenFeature's OFREP providers of other languages than Python, against the real server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.clients.compiled import java_program
from tests.clients.generated.client import NODE_PACKAGES, require_node_packages
from tests.clients.openfeature import Reader, reading, serving_flags
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("real clients of a real server, which goes away and comes back")

# The provider for Java calls every bad request the second.
MISSING_KEY = {"TARGETING_KEY_MISSING", "INVALID_CONTEXT"}

NPM = NODE_PACKAGES.parent


@dataclass(frozen=True)
class Provider:
    """A provider and how its program is started.

    Attributes:
        build: It compiles the program where that is needed, and returns its command. It skips the
            test where a tool is missing.
    """

    language: str
    build: Callable[[], list[str]]


def javascript() -> list[str]:
    require_node_packages()
    return ["node", "openfeature_program.mjs"]


PROVIDERS = (
    Provider("javascript", javascript),
    Provider("java", partial(java_program, "OpenfeatureProgram")),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    with serving_flags(tmp_path_factory.mktemp("openfeature")) as server:
        yield server


@pytest.fixture(scope="module", params=PROVIDERS, ids=lambda provider: provider.language)
def command(request: pytest.FixtureRequest) -> list[str]:
    provider: Provider = request.param
    return provider.build()


@pytest.fixture(scope="module")
def reader(command: list[str], server: tuple[RealServer, Keys]) -> Iterator[Reader]:
    running, keys = server
    with reading(command, NPM, running, keys.project_api_key) as reader:
        yield reader


@pytest.mark.parametrize(
    ("flag", "value", "variant", "reason"),
    [
        ("everyone", True, "on", "STATIC"),
        ("most", True, "on", "SPLIT"),
        ("pros", True, "on", "TARGETING_MATCH"),
        ("nobody", False, "off", "DEFAULT"),
        ("inactive", False, "off", "DISABLED"),
        ("color", "blue", "blue", "SPLIT"),
        ("pro-color", "blue", "blue", "SPLIT"),
    ],
)
def test_values_are_read_with_variant_and_reason(
    reader: Reader, flag: str, value: bool | str, variant: str, reason: str
) -> None:
    default = "red" if isinstance(value, str) else not value

    details = reader.read(flag, default, plan="pro")

    assert (details["value"], details["variant"], details["reason"]) == (value, variant, reason)
    assert details.get("error") is None


def test_metadata_reports_version_and_payload(reader: Reader) -> None:
    metadata = reader.read("everyone", default=False)["metadata"]

    assert (metadata["version"], metadata["payload"]) == (1, '{"n": 1}')


@pytest.mark.parametrize(("seats", "is_large"), [(7, True), (3, False)])
def test_groups_are_compared_by_their_properties(
    reader: Reader, seats: int, is_large: bool
) -> None:
    groups: dict[str, Any] = {
        "groups": {"company": "acme"},
        "groupProperties": {"company": {"seats": seats}},
    }

    details = reader.read("large", default=not is_large, **groups)

    assert (details["value"], details.get("error")) == (is_large, None)


def test_errors_arrive_as_openfeature_knows_them(
    command: list[str], server: tuple[RealServer, Keys], reader: Reader
) -> None:
    unknown = reader.read("none", default=True)
    anonymous = reader.read("everyone", default=False, targetingKey=None)
    wrong_type = reader.read("everyone", default="x")
    with reading(command, NPM, server[0], "phc_wrong") as locked_out:
        refused = locked_out.read("everyone", default=False)

    assert (unknown["value"], unknown["error"]) == (True, "FLAG_NOT_FOUND")
    assert anonymous["value"] is False
    assert anonymous["error"] in MISSING_KEY
    assert (wrong_type["value"], wrong_type["error"]) == ("x", "TYPE_MISMATCH")
    assert (refused["value"], refused["error"]) == (False, "GENERAL")


def test_the_default_serves_while_the_server_is_away(
    server: tuple[RealServer, Keys], reader: Reader
) -> None:
    running, _ = server
    running.kill()
    try:
        away = reader.read("color", default="red")
    finally:
        running.start()
    back = reader.read("color", default="red")

    assert (away["value"], away["error"]) == ("red", "GENERAL")
    assert (back["value"], back.get("error")) == ("blue", None)
