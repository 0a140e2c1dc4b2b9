"""Capture, flags and other requests that need no session never look at a cookie."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fanion.accounts.model import Device
from fanion.accounts.sessions.cookies import (
    PLAIN_NAME,
    SECURE_NAME,
    clear_cookie,
    cookie_name,
    read_cookie,
    set_cookie,
)
from fanion.server.head import HeaderFields, RequestHead
from tests.support.application import Tenant
from tests.support.exchange import MemoryRequest

HTTPS, HTTP = "https://fanion.example/below", "http://127.0.0.1:8000"


class WatchedHeaders(HeaderFields):
    """Headers that record which of them were looked at."""

    def __init__(self, **headers: str) -> None:
        super().__init__(headers)
        self.looked_at: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.looked_at.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        self.looked_at.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.looked_at.add(str(name))
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self.looked_at.update(super().keys())
        return super().__iter__()

    def keys(self) -> Any:
        self.looked_at.update(super().keys())
        return super().keys()

    def items(self) -> Any:
        self.looked_at.update(super().keys())
        return super().items()

    def values(self) -> Any:
        self.looked_at.update(super().keys())
        return super().values()


def public_paths(tenant: Tenant) -> list[str]:
    """Return the paths of public routes; parameters are the project's id or key."""
    visited: list[str] = []

    def note(path: str, _: object) -> bool:
        visited.append(path)
        return False

    tenant.server.application.routes.only(note)
    filled = {
        "/array/": [f"/array/{tenant.token}/config", f"/array/{tenant.token}/config.js"],
        "/api/projects/": [
            f"/api/projects/{tenant.project_id}/feature_flags/{end}"
            for end in ("local_evaluation", "stream", "key/remote_config")
        ],
        "/ofrep/v1/evaluate/flags/": ["/ofrep/v1/evaluate/flags/key"],
    }
    return sorted({public_path for path in visited for public_path in filled.get(path, [path])})


async def headers_read(tenant: Tenant, method: str, path: str, body: Any, cookie: str) -> set[str]:
    """Return the headers that the answer depends on, and the status as `:status`."""
    headers = WatchedHeaders(
        host="fanion.test",
        cookie=f"{PLAIN_NAME}={cookie}; {SECURE_NAME}={cookie}",
        origin="http://fanion.test",
    )
    headers.add("x-fanion-console", "1")
    headers.looked_at.clear()
    raw = json.dumps(body).encode()
    head = RequestHead(method, path, f"token={tenant.token}", "1.1", headers, True, False, len(raw))
    tenant.server.application.fast_path(head)
    request = MemoryRequest(method, path, head.query, headers, "192.0.2.1:1", raw)
    await tenant.server.application.answer(request)
    assert request.status < 500, (path, request.content)
    return {*headers.looked_at, f":{request.status}"}


async def test_public_routes_never_look_at_a_cookie(tenant: Tenant) -> None:
    cookie = await tenant.server.running.accounts.sign_in.sessions.start_session(
        tenant.user_id, "password", Device("", "")
    )
    paths = public_paths(tenant)
    bodies: list[Any] = [
        {"api_key": tenant.token, "event": "e", "distinct_id": "u", "batch": []},
        {"project_id": tenant.project_id, "event": "e", "distinct_id": "u"},  # no key at all
        {"context": {"targetingKey": "u"}},
    ]

    depending = {
        (method, path): seen
        for method in ("GET", "POST", "OPTIONS")
        for path in paths
        for body in bodies
        if "cookie" in (seen := await headers_read(tenant, method, path, body, cookie))
    }
    managed = await headers_read(tenant, "GET", "/api/users/@me/", {}, cookie)

    assert depending == {}
    assert len(paths) > 20
    assert {"cookie", ":200"} <= managed


async def test_a_session_is_no_key_of_a_public_route(tenant: Tenant) -> None:
    browser = await tenant.server.browser(tenant.user_id)
    flags = f"/api/projects/{tenant.project_id}/feature_flags"
    body = {"distinct_id": "u", "project_id": tenant.project_id}
    async with browser:
        answers = [
            await browser.post("/decide/?v=3", json=body),
            await browser.post("/flags/?v=2", json=body),
            await browser.post("/capture/", json={**body, "event": "e"}),
            await browser.get(f"{flags}/local_evaluation/"),
            await browser.get(f"{flags}/stream/"),
            await browser.get("/flags/definitions/", params={"token": tenant.token}),
            await browser.post("/ofrep/v1/evaluate/flags", json={"context": {}}),
        ]

    assert [answer.status_code for answer in answers] == [401] * 7


@pytest.mark.parametrize(
    ("header", "origin", "value"),
    [
        ("fanion=a", HTTP, "a"),
        ("other=x; fanion=a; fanion=b", HTTP, None),
        ("__Host-fanion=a; fanion=b", HTTPS, "a"),
        ("__Host-fanion=a; fanion=b", HTTP, "b"),
        ("fanion=b", HTTPS, None),
        ("xfanion=a; fanion", HTTP, None),
        ("fanion=", HTTP, None),
        ("", HTTP, None),
        (None, HTTP, None),
    ],
)
def test_the_cookie_of_the_scheme_counts(
    header: str | None, origin: str, value: str | None
) -> None:
    assert read_cookie(header, origin) == value


def test_over_https_the_cookie_is_secure_and_of_this_host() -> None:
    assert set_cookie("v", HTTPS) == (
        "__Host-fanion=v; Max-Age=7776000; Path=/; HttpOnly; SameSite=Lax; Secure"
    )
    assert clear_cookie(HTTP) == "fanion=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"
    assert (cookie_name(HTTPS), cookie_name(HTTP)) == (SECURE_NAME, PLAIN_NAME)
