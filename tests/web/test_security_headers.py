"""The headers that tell browsers what pages and management answers allow; SDK answers have none."""

from collections.abc import Mapping

import httpx
import pytest

from tests.support.application import Tenant

BROWSER = {"accept": "text/html"}
OF_ALL = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
OF_MANAGEMENT = {**OF_ALL, "content-security-policy": NOTHING, "cache-control": "no-store"}
NEVER = ("access-control-allow-origin", "access-control-allow-credentials")


def headers_of(answer: httpx.Response, names: Mapping[str, str]) -> dict[str, str]:
    """Return each header once: browsers join those that are sent twice."""
    return {name: ", ".join(answer.headers.get_list(name)) for name in names}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/projects/", 200),
        ("HEAD", "/api/projects/", 200),
        ("GET", "/api/projects/@current/feature_flags/", 200),
        ("GET", "/api/feature_flag/", 200),
        ("GET", "/api/projects/?limit=x", 200),
        ("POST", "/api/projects/@current/feature_flags/", 400),
        ("DELETE", "/api/projects/@current/feature_flags/", 405),
        ("GET", "/api/projects/0/", 404),
        ("GET", "/api/nothing/", 404),
        ("GET", "/nothing", 404),
        ("TRACE", "/api/projects/", 405),
    ],
)
async def test_every_answer_of_management_has_them(
    tenant: Tenant, method: str, path: str, status: int
) -> None:
    for origin in ({}, {"origin": "https://evil.example"}, {"origin": "null"}):
        answer = await tenant.api.request(method, f"http://fanion.test{path}", headers=origin)

        assert answer.status_code == status
        assert headers_of(answer, OF_MANAGEMENT) == OF_MANAGEMENT
        assert not set(NEVER) & set(answer.headers)


async def test_an_answer_without_a_key_has_them_too(tenant: Tenant) -> None:
    answer = await tenant.public.get("/api/projects/")

    assert answer.status_code == 401
    assert headers_of(answer, OF_MANAGEMENT) == OF_MANAGEMENT


async def test_a_preflight_of_management_allows_nothing(tenant: Tenant) -> None:
    answer = await tenant.public.options(
        "/api/projects/",
        headers={
            "origin": "https://evil.example",
            "access-control-request-method": "PATCH",
            "access-control-request-headers": "authorization,x-fanion-console",
        },
    )

    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert headers_of(answer, OF_MANAGEMENT) == OF_MANAGEMENT


async def test_a_table_has_them_and_is_stored_nowhere(tenant: Tenant) -> None:
    static = {"name": "Static", "is_static": True, "groups": []}
    cohort = (await tenant.api.post("/cohorts/", json=static)).json()

    answer = await tenant.api.get(f"/cohorts/{cohort['id']}/persons/?format=csv")

    assert answer.headers["content-type"].startswith("text/csv")
    assert headers_of(answer, OF_MANAGEMENT) == OF_MANAGEMENT


@pytest.mark.parametrize("path", ["/", "/api/docs/"])
async def test_a_page_has_a_policy_of_its_own(tenant: Tenant, path: str) -> None:
    answer = await tenant.public.get(path, headers=BROWSER)

    policy = answer.headers["content-security-policy"].split("; ")
    assert answer.headers["content-type"].startswith("text/html")
    assert headers_of(answer, OF_ALL) == OF_ALL
    assert len(answer.headers.get_list("content-security-policy")) == 1
    assert {"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} < set(policy)
    assert "unsafe" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/api/docs/", "/api/schema/"])
async def test_what_depends_on_no_session_may_be_kept_by_a_browser(
    tenant: Tenant, path: str
) -> None:
    answer = await tenant.public.get(path)
    again = await tenant.public.get(path, headers={"if-none-match": answer.headers["etag"]})

    assert (answer.status_code, again.status_code) == (200, 304)
    for response in (answer, again):
        assert response.headers.get_list("cache-control") == ["no-cache"]
        assert headers_of(response, OF_ALL) == OF_ALL


@pytest.mark.parametrize("path", ["/capture/", "/decide/", "/flags/", "/ofrep/v1/evaluate/flags"])
async def test_answers_to_sdks_have_none_of_them(tenant: Tenant, path: str) -> None:
    """Pages of other origins must read these answers, and each event would pay for the headers."""
    answer = await tenant.public.post(path, json={"api_key": tenant.token, "distinct_id": "u"})

    assert not set(OF_MANAGEMENT) & set(answer.headers)
