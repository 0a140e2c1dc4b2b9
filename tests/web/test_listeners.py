"""Two listeners: the public one serves SDKs, the other one management."""

import pytest

from fanion.web.application import Application, for_management_listener, for_public_listener
from tests.support import plain_http
from tests.support.application import BASE_URL, Tenant, error
from tests.support.exchange import MemoryTransport

NOT_FOUND = error("invalid_request", "not_found", "Not found.")
# Paths of the API that SDKs read with a personal or a secret key.
OF_SDKS = ("/local_evaluation", "/feature_flags/stream", "/remote_config")


async def status(application: Application, method: str, path: str) -> int:
    """Return the status of a request without a key: 404 without a route, 400 for other 404s."""
    client = plain_http.AsyncClient(transport=MemoryTransport(application), base_url=BASE_URL)
    async with client:
        answer = await client.request(method, path)
    if answer.status_code == 404:
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
        return 404 if answer.json() == NOT_FOUND else 400
    return answer.status_code


async def test_the_public_listener_does_not_serve_management(tenant: Tenant) -> None:
    whole = tenant.server.application
    public, managers = for_public_listener(whole), for_management_listener(whole)
    documented = (await tenant.public.get("/api/schema/")).json()["paths"]
    routes = {
        (method, path.replace("{", "").replace("}", ""))
        for path, item in documented.items()
        for method in item
        if path.startswith("/api/") and method in {"get", "post", "put", "patch", "delete"}
    }
    routes |= {("get", "/api/schema/"), ("get", "/api/docs/"), ("get", "/metrics")}

    for_sdks = {route for route in routes if route[1].rstrip("/").endswith(OF_SDKS)}
    served = {route for route in routes if await status(public, *route) != 404}
    missing = {route for route in routes if await status(managers, *route) == 404}

    assert len(routes) > 100
    assert served == for_sdks
    assert missing == {("get", "/api/shared_dashboards/token/")}  # there is no such link


@pytest.mark.parametrize(
    ("method", "path", "public", "managers"),
    [
        ("POST", "/capture/", 400, 404),
        ("POST", "/batch", 400, 404),
        ("POST", "/i/v1/analytics/events", 401, 404),
        ("POST", "/decide/", 400, 404),
        ("POST", "/flags", 400, 404),
        ("GET", "/flags/definitions", 401, 404),
        ("POST", "/ofrep/v1/evaluate/flags", 401, 404),
        ("GET", "/api/feature_flag/local_evaluation/", 401, 401),
        ("GET", "/_health", 200, 200),
        ("GET", "/_ready/", 200, 200),
        ("GET", "/metrics", 404, 200),
        ("GET", "/metrics/", 404, 200),
        ("GET", "/%6detrics", 404, 404),
        ("GET", "/%61pi/projects/", 404, 404),
        ("GET", "//api/projects/", 404, 404),
        ("GET", "/", 404, 200),
    ],
)
async def test_each_path_is_served_by_its_listener(
    tenant: Tenant, method: str, path: str, public: int, managers: int
) -> None:
    whole = tenant.server.application

    assert await status(for_public_listener(whole), method, path) == public
    assert await status(for_management_listener(whole), method, path) == managers
