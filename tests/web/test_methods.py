"""The methods of a path, and responses without a body."""

import pytest

from tests.support.application import Tenant

ALLOWED = {
    "/feature_flags/": {"GET", "HEAD", "OPTIONS", "POST"},
    "/feature_flags/1/": {"GET", "HEAD", "OPTIONS", "PATCH"},
    "/feature_flags/1/role_access/7/": {"DELETE", "GET", "HEAD", "OPTIONS"},
    "/cohorts/1/": {"GET", "HEAD", "OPTIONS", "PATCH", "PUT"},
    "/event_definitions/none/": {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "PUT"},
    "/insights/trend/": {"GET", "HEAD", "OPTIONS", "POST"},
}
KEPT = ["/feature_flags/1/", "/cohorts/1/", "/dashboards/1/", "/insights/1/"]


@pytest.mark.parametrize("path", ALLOWED)
async def test_options_names_every_supported_method(tenant: Tenant, path: str) -> None:
    answer = await tenant.api.options(path)

    assert (answer.status_code, answer.content) == (204, b"")
    assert set(answer.headers["allow"].split(", ")) == ALLOWED[path]


@pytest.mark.parametrize("path", KEPT)
async def test_a_rejected_deletion_has_no_body_and_no_content_type(
    tenant: Tenant, path: str
) -> None:
    answer = await tenant.api.delete(path)

    assert (answer.status_code, answer.content) == (405, b"")
    assert "content-type" not in answer.headers
    assert "DELETE" not in answer.headers["allow"]


async def test_an_unsupported_method_is_rejected_with_the_supported_ones(tenant: Tenant) -> None:
    answer = await tenant.api.put("/feature_flags/")

    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "POST"}
