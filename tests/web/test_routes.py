"""The routes of browsers and mobile clients, and cross-origin headers."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from fanion.web.routes import CAPTURE_PATHS, DISCARDED_PATHS, AnsweredBy, worker_routes
from tests.support.application import Tenant

ORIGIN = "https://shop.example"
POSTED = (
    *CAPTURE_PATHS, *DISCARDED_PATHS, "/engage", "/i/v1/analytics/events", "/decide", "/flags",
    "/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/key",
)  # fmt: skip
READ_WITH_SECRETS = (
    "/flags/definitions", "/api/feature_flag/local_evaluation/",
    "/api/projects/{}/feature_flags/local_evaluation/",
    "/api/projects/{}/feature_flags/key/remote_config/",
)  # fmt: skip
LISTS: dict[str, dict[str, list[Any]]] = {
    "/api/surveys": {"surveys": []},
    "/api/early_access_features": {"earlyAccessFeatures": []},
    "/api/web_experiments": {"experiments": []},
    "/api/product_tours": {"product_tours": []},
}


@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_browser_reads_its_configuration(tenant: Tenant, slash: str) -> None:
    answer = await tenant.public.get(
        f"/array/{tenant.token}/config{slash}", headers={"origin": ORIGIN}
    )

    config = answer.json()
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert config["token"] == tenant.token
    assert config["hasFeatureFlags"] is True
    assert config["supportedCompression"] == ["gzip", "gzip-js", "lz64"]
    assert config["analytics"] == {"endpoint": "/i/v0/e/"}
    for product in ("surveys", "productTours", "sessionRecording", "heatmaps", "conversations"):
        assert config[product] is False


async def test_the_script_sets_the_same_configuration(tenant: Tenant) -> None:
    config = (await tenant.public.get(f"/array/{tenant.token}/config")).json()
    answer = await tenant.public.get(f"/array/{tenant.token}/config.js", headers={"origin": ORIGIN})

    assert answer.headers["content-type"].startswith("application/javascript")
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    line = next(
        candidate for candidate in answer.text.splitlines() if f'"{tenant.token}"] = ' in candidate
    )
    assert json.loads(line.partition(" = ")[2].rstrip(";")) == {"config": config, "siteApps": []}


@pytest.mark.parametrize("path", ["/array/phc_none/config", "/array/phc_none/config.js"])
async def test_an_unknown_token_has_no_configuration(tenant: Tenant, path: str) -> None:
    answer = await tenant.public.get(path, headers={"origin": ORIGIN})

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.headers["access-control-allow-origin"] == ORIGIN


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize(("path", "body"), LISTS.items())
async def test_endpoints_of_other_products_return_empty_lists(
    tenant: Tenant, path: str, body: Any, slash: str
) -> None:
    answer = await tenant.public.get(
        path + slash, params={"token": tenant.token}, headers={"origin": ORIGIN}
    )
    missing = await tenant.public.get(path + slash)
    unknown = await tenant.public.get(path + slash, params={"token": "phc_none"})

    assert (answer.status_code, answer.json()) == (200, body)
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert (missing.status_code, missing.json()["code"]) == (401, "invalid_api_key")
    assert (unknown.status_code, unknown.json()["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("path", [*POSTED, *LISTS, "/array/phc_x/config", "/array/phc_x/config.js"])
async def test_every_public_path_answers_a_preflight(tenant: Tenant, path: str, slash: str) -> None:
    answer = await tenant.public.options(
        path + slash,
        headers={
            "origin": ORIGIN,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type,traceparent",
        },
    )

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["access-control-allow-credentials"] == "true"
    methods = "POST, OPTIONS" if path in POSTED else "GET, OPTIONS, HEAD"
    assert answer.headers["access-control-allow-methods"] == answer.headers["allow"] == methods
    assert answer.headers["access-control-allow-headers"] == "content-type,traceparent"
    assert answer.headers["access-control-max-age"] == "86400"
    assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize("path", POSTED)
async def test_errors_have_cross_origin_headers_too(tenant: Tenant, path: str) -> None:
    answer = await tenant.public.post(path, content=b"", headers={"origin": ORIGIN})

    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
@pytest.mark.parametrize("bearer", [True, False])
@pytest.mark.parametrize("path", READ_WITH_SECRETS)
async def test_paths_of_personal_and_secret_keys_allow_no_cookies_of_other_origins(
    tenant: Tenant, path: str, bearer: bool, method: str
) -> None:
    key = {"authorization": f"Bearer {tenant.key}"} if bearer else {}

    answer = await tenant.public.request(
        method, path.format(tenant.project_id), headers={"origin": ORIGIN, **key}
    )

    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "access-control-allow-credentials" not in answer.headers
    assert "Origin" in answer.headers["vary"]


async def test_a_request_without_origin_gets_no_cross_origin_headers(tenant: Tenant) -> None:
    answer = await tenant.public.post("/decide", content=b"{}")

    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_management_paths_of_public_routes_are_in_the_document(tenant: Tenant) -> None:
    schema = (await tenant.public.get("/api/schema/")).json()

    base = "/api/projects/{project_id}/feature_flags"
    for path in (f"{base}/local_evaluation/", f"{base}/stream/", f"{base}/{{key}}/remote_config/"):
        responses = schema["paths"][path]["get"]["responses"]
        assert responses.keys() == {"200", "default"}


@pytest.mark.parametrize("evaluation", [AnsweredBy.HERE, AnsweredBy.SERVER])
def test_web_workers_answer_captures_and_flags_that_no_limit_leaves_to_the_server(
    evaluation: AnsweredBy,
) -> None:
    capture: Any = SimpleNamespace(post=0, find_fast_endpoint=0, discard=0, engage=0, v1=0)
    flags: Any = SimpleNamespace(
        decide=SimpleNamespace(decide=0, flags=0, find_fast_decide=0, find_fast_flags=0),
        ofrep=SimpleNamespace(bulk=0, single=0, find_fast_bulk=0, find_fast_single=0),
    )

    routes = worker_routes(capture, flags, evaluation)

    evaluating = {"/decide", "/flags", "/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/key"}
    answered_by = {path: route.answered_by for path in POSTED if (route := routes.find(path))}
    expected = {path: AnsweredBy.WORKER for path in POSTED if path not in evaluating}
    if evaluation is AnsweredBy.HERE:
        expected |= dict.fromkeys(evaluating, evaluation)
    assert answered_by == expected
    assert routes.find("/api/projects/") is None
