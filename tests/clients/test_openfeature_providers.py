"""OpenFeature's OFREP providers of other languages than Python, against the real server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.clients.compiled import go_program, java_program
from tests.clients.generated.client import NODE_PACKAGES, require_node_packages
from tests.clients.openfeature import Reader, reading, serving_flags
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("real clients of a real server, which goes away and comes back")

NPM = NODE_PACKAGES.parent


@dataclass(frozen=True)
class Provider:
    """A provider and how its program is started.

    Attributes:
        build: It compiles the program where that is needed, and returns its command. It skips the
            test where a tool is missing.
        keeps_values: It asks for all flags at once, and serves the last ones while it gets no
            others.
        missing_key: The error of a context without a targeting key.
        refused: The error of a key that is not valid.
        decides_if_disabled: It serves the server's value of a disabled flag, not the default.
    """

    name: str
    build: Callable[[], list[str]]
    keeps_values: bool = False
    missing_key: str = "TARGETING_KEY_MISSING"
    refused: str = "GENERAL"
    decides_if_disabled: bool = True


def node_program(name: str) -> list[str]:
    require_node_packages()
    return ["node", f"{name}.mjs"]


PROVIDERS = (
    Provider("javascript", partial(node_program, "openfeature_program")),
    Provider(
        "javascript-web",
        partial(node_program, "openfeature_web_program"),
        keeps_values=True,
        missing_key="FLAG_NOT_FOUND",  # it got none at all
        refused="PROVIDER_FATAL",
    ),
    Provider("java", partial(java_program, "OpenfeatureProgram"), missing_key="INVALID_CONTEXT"),
    Provider("go", partial(go_program, "openfeature"), decides_if_disabled=False),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    with serving_flags(tmp_path_factory.mktemp("openfeature")) as server:
        yield server


@pytest.fixture(scope="module", params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    provider: Provider = request.param
    return provider


@pytest.fixture(scope="module")
def command(provider: Provider) -> list[str]:
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
    provider: Provider, reader: Reader, flag: str, value: bool | str, variant: str, reason: str
) -> None:
    default = "red" if isinstance(value, str) else not value
    expected = value if provider.decides_if_disabled or reason != "DISABLED" else default

    details = reader.read(flag, default, plan="pro")

    assert (details["value"], details["variant"], details["reason"]) == (expected, variant, reason)
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
    provider: Provider, command: list[str], server: tuple[RealServer, Keys], reader: Reader
) -> None:
    unknown = reader.read("none", default=True)
    wrong_type = reader.read("everyone", default="x")
    with reading(command, NPM, server[0], "phc_wrong") as locked_out:
        refused = locked_out.read("everyone", default=False)

    assert (unknown["value"], unknown["error"]) == (True, "FLAG_NOT_FOUND")
    assert (wrong_type["value"], wrong_type["error"]) == ("x", "TYPE_MISMATCH")
    assert (refused["value"], refused["error"]) == (False, provider.refused)


def test_a_context_needs_a_targeting_key(
    provider: Provider, command: list[str], server: tuple[RealServer, Keys]
) -> None:
    running, keys = server
    with reading(command, NPM, running, keys.project_api_key) as reader:
        anonymous = reader.read("everyone", default=False, targetingKey=None)

    assert (anonymous["value"], anonymous["error"]) == (False, provider.missing_key)


def test_the_default_or_the_last_value_serves_while_the_server_is_away(
    provider: Provider, server: tuple[RealServer, Keys], reader: Reader
) -> None:
    running, _ = server
    reader.read("color", default="red")
    running.kill()
    try:
        away = reader.read("color", default="red")
    finally:
        running.start()
    back = reader.read("color", default="red")

    kept = ("blue", None) if provider.keeps_values else ("red", "GENERAL")
    assert (away["value"], away.get("error")) == kept
    assert (back["value"], back.get("error")) == ("blue", None)
