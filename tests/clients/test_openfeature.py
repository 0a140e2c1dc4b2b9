"""The OpenFeature SDK for Python with its OFREP provider, against the real server."""

from collections.abc import Iterator
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason

from tests.clients.openfeature import serving_flags
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("real clients of a real server")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    with serving_flags(tmp_path_factory.mktemp("openfeature")) as server:
        yield server


def client_with(server: RealServer, header: str, value: str) -> OpenFeatureClient:
    provider = OFREPProvider(server.url, headers_factory=lambda: {header: value})
    api.set_provider(provider, domain=value)
    return api.get_client(domain=value)


@pytest.fixture
def client(server: tuple[RealServer, Keys]) -> OpenFeatureClient:
    running, keys = server
    return client_with(running, "Authorization", f"Bearer {keys.project_api_key}")


def user(**attributes: Any) -> EvaluationContext:
    return EvaluationContext("user-1", attributes)


@pytest.mark.parametrize(
    ("key", "value", "variant", "reason"),
    [
        ("everyone", True, "on", Reason.STATIC),
        ("most", True, "on", Reason.SPLIT),
        ("pros", True, "on", Reason.TARGETING_MATCH),
        ("nobody", False, "off", Reason.DEFAULT),
        ("inactive", False, "off", Reason.DISABLED),
    ],
)
def test_booleans_are_read_with_variant_and_reason(
    client: OpenFeatureClient, key: str, value: bool, variant: str, reason: Reason
) -> None:
    details = client.get_boolean_details(key, not value, user(plan="pro"))

    assert (details.value, details.variant, details.reason) == (value, variant, reason)
    assert details.error_code is None


def test_metadata_reports_version_and_payload(client: OpenFeatureClient) -> None:
    details = client.get_boolean_details("everyone", False, user())

    assert details.flag_metadata["version"] == 1
    assert details.flag_metadata["payload"] == '{"n": 1}'
    assert details.flag_metadata["reason"] == "condition_match"


def test_variants_are_texts(client: OpenFeatureClient) -> None:
    details: FlagEvaluationDetails[str] = client.get_string_details("color", "red", user())

    assert (details.value, details.variant, details.reason) == ("blue", "blue", Reason.SPLIT)
    assert client.get_string_value("pro-color", "red", user(plan="pro")) == "blue"


def test_a_multivariate_flag_that_is_off_leaves_the_default(client: OpenFeatureClient) -> None:
    details = client.get_string_details("pro-color", "red", user(plan="free"))

    assert details.value == "red"
    assert details.variant in {"off", None}


def test_errors_arrive_as_openfeature_knows_them(
    server: tuple[RealServer, Keys], client: OpenFeatureClient
) -> None:
    running, _ = server

    unknown = client.get_boolean_details("none", True, user())
    anonymous = client.get_boolean_details("everyone", False, EvaluationContext())
    wrong_type = client.get_string_details("everyone", "x", user())
    locked_out = client_with(running, "Authorization", "Bearer phc_wrong").get_boolean_details(
        "everyone", False, user()
    )

    assert (unknown.value, unknown.error_code) == (True, ErrorCode.FLAG_NOT_FOUND)
    assert (anonymous.value, anonymous.error_code) == (False, ErrorCode.TARGETING_KEY_MISSING)
    assert (wrong_type.value, wrong_type.error_code) == ("x", ErrorCode.TYPE_MISMATCH)
    assert (locked_out.value, locked_out.error_code) == (False, ErrorCode.GENERAL)


def test_the_key_may_stand_in_a_header_of_its_own(server: tuple[RealServer, Keys]) -> None:
    running, keys = server

    client = client_with(running, "X-API-Key", keys.project_api_key)

    assert client.get_boolean_value("everyone", False, user()) is True
