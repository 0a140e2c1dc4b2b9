"""Requests with a session's cookie, by what they tell about the page that made them."""

from pathlib import Path

import httpx
import pytest

from fanion.events.storage.store import EventStore
from tests.support.application import BASE_URL, Tenant, error, open_app_server, open_tenant
from tests.support.exchange import MemoryTransport

ME, PROJECT = "/api/users/@me/", "/api/projects/@current/"
FORGED = error(
    "authentication_error",
    "forged_request",
    "Requests with a session must come from the server's own pages, with the header "
    "X-Fanion-Console: 1.",
)
OURS = {"x-fanion-console": "1"}
EVIL = "https://evil.example"
PROXY, STRANGER = "10.1.1.1:50000", "203.0.113.9:50000"

# What shows the site of the page that asks: its site or, in older browsers, its origin.
SITES = [
    ({"sec-fetch-site": "same-origin"}, True),
    ({"sec-fetch-site": "same-origin", "origin": BASE_URL}, True),
    ({"sec-fetch-site": "same-site"}, False),
    ({"sec-fetch-site": "cross-site"}, False),
    ({"sec-fetch-site": "same-site", "origin": BASE_URL}, False),
    ({"sec-fetch-site": ""}, False),
    ({"sec-fetch-site": "SAME-ORIGIN"}, False),
    ({"sec-fetch-site": "same-origin, cross-site"}, False),  # two headers, joined
    ({"origin": BASE_URL}, True),
    ({"origin": BASE_URL.upper()}, True),
    ({"origin": "null"}, False),
    ({"origin": ""}, False),
    ({"origin": EVIL}, False),
    ({"origin": f"{BASE_URL}, {EVIL}"}, False),
    ({"origin": f"{BASE_URL}.evil.example"}, False),
    ({"origin": f"{BASE_URL}@evil.example"}, False),
    ({"origin": "http://evil.example#fanion.test"}, False),
    ({"origin": "https://fanion.test"}, False),
    ({"origin": "http://fanion.test:8080"}, False),
    ({"origin": "http://sub.fanion.test"}, False),
    ({"origin": "http://fanion.test."}, False),
    ({"origin": EVIL, "referer": f"{BASE_URL}/"}, False),
    ({"origin": EVIL, "x-forwarded-host": "evil.example", "x-forwarded-proto": "https"}, False),
    ({"origin": EVIL, "x-original-host": "evil.example", "forwarded": "host=evil.example"}, False),
]
READS_ALONE = [({"sec-fetch-site": "none"}, True), ({}, True), ({"referer": EVIL}, True)]
CHANGES_ALONE = [({"sec-fetch-site": "none"}, False), ({}, False), ({"referer": BASE_URL}, False)]


async def page(tenant: Tenant, peer: str = STRANGER) -> httpx.AsyncClient:
    """Return a signed-in browser that sends nothing but the cookie by itself."""
    browser = await tenant.server.browser(tenant.user_id)
    transport = MemoryTransport(tenant.server.application, peer)
    return httpx.AsyncClient(transport=transport, base_url=BASE_URL, cookies=browser.cookies)


async def change(client: httpx.AsyncClient, headers: dict[str, str]) -> httpx.Response:
    return await client.patch(PROJECT, json={"name": "Another"}, headers=headers)


@pytest.mark.parametrize(("headers", "is_own"), SITES + CHANGES_ALONE)
async def test_a_change_needs_a_page_of_ours(
    tenant: Tenant, headers: dict[str, str], is_own: bool
) -> None:
    async with await page(tenant) as client:
        answer = await change(client, OURS | headers)
        without = await change(client, headers)

    assert answer.status_code == (200 if is_own else 403)
    if not is_own:
        assert answer.json() == FORGED
    assert (without.status_code, without.json()) == (403, FORGED)


@pytest.mark.parametrize(("headers", "is_own"), SITES + READS_ALONE)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_pages_of_other_origins_read_nothing_with_a_session(
    tenant: Tenant, method: str, headers: dict[str, str], is_own: bool
) -> None:
    async with await page(tenant) as client:
        answer = await client.request(method, ME, headers=headers)

    assert answer.status_code == (200 if is_own else 403)
    assert "access-control-allow-origin" not in answer.headers
    if not is_own and method == "GET":
        assert answer.json() == FORGED


@pytest.mark.parametrize("sent", ["0", "true", "", "1, 1", " 1x", "01"])
async def test_our_header_has_one_value(tenant: Tenant, sent: str) -> None:
    async with await page(tenant) as client:
        answer = await change(client, {"sec-fetch-site": "same-origin", "x-fanion-console": sent})

    assert (answer.status_code, answer.json()) == (403, FORGED)


async def test_a_key_needs_none_of_this(tenant: Tenant) -> None:
    """No browser sends a key by itself."""
    headers = {"sec-fetch-site": "cross-site", "origin": EVIL}
    async with await page(tenant) as client:
        with_both = await change(client, headers | {"authorization": f"Bearer {tenant.key}"})
        in_body = await client.patch(
            PROJECT, json={"name": "A", "personal_api_key": tenant.key}, headers=headers
        )

    assert (with_both.status_code, in_body.status_code) == (200, 200)


OVERRIDES = ("x-http-method-override", "x-http-method", "x-method-override")


@pytest.mark.parametrize("name", OVERRIDES)
@pytest.mark.parametrize("sent", ["GET", "DELETE"])
async def test_the_method_of_a_request_is_the_one_that_it_has(
    tenant: Tenant, name: str, sent: str
) -> None:
    flag = await tenant.create_flag(key="kept")
    path = f"/api/projects/@current/feature_flags/{flag['id']}/"
    async with await page(tenant) as client:
        read = await client.get(f"{path}?_method={sent}", headers={name: sent})
        plain = await client.get(path, headers={name: sent})
        posted = await client.post(
            path, headers={name: sent, "sec-fetch-site": "same-origin"} | OURS
        )
        forged = await client.post(path, headers={name: sent})

    assert read.status_code == 400  # the name in the query is unknown
    assert (plain.status_code, plain.json()["key"]) == (200, "kept")
    assert posted.status_code == 405
    assert forged.status_code in (403, 405)


@pytest.mark.parametrize(
    ("peer", "headers", "status"),
    [
        (PROXY, {"origin": "https://shown.example"}, 200),
        (PROXY, {"origin": "https://shown.example", "x-forwarded-prefix": "/fanion"}, 200),
        (PROXY, {"origin": "https://shown.example:443"}, 403),
        (PROXY, {"origin": "http://shown.example"}, 403),
        (PROXY, {"origin": EVIL}, 403),
        # Only the last value of a header is the proxy's.
        (PROXY, {"origin": EVIL, "x-forwarded-host": "evil.example, shown.example"}, 403),
        (STRANGER, {"origin": "https://shown.example"}, 401),
        (STRANGER, {"origin": EVIL, "x-forwarded-host": "evil.example"}, 401),
    ],
)
async def test_only_a_trusted_proxy_says_where_the_server_is(
    sqlite_url: str,
    events: EventStore,
    project_id: int,
    tmp_path: Path,
    peer: str,
    headers: dict[str, str],
    status: int,
) -> None:
    """Over https the cookie has another name, but a stranger's headers make no request https."""
    forwarded = {"x-forwarded-host": "shown.example", "x-forwarded-proto": "https"}
    async with (
        open_app_server(sqlite_url, events, tmp_path, trusted_proxies="10.0.0.0/8") as app_server,
        open_tenant(app_server, project_id) as tenant,
        await page(tenant, peer) as client,
    ):
        value = client.cookies["fanion"]
        client.cookies.clear()
        sent = {"cookie": f"__Host-fanion={value}", **OURS, **forwarded, **headers}
        answer = await change(client, sent)

    assert answer.status_code == status


async def test_an_address_of_the_operator_goes_before_all_headers(
    sqlite_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    public_url = "https://shown.example/fanion"
    async with (
        open_app_server(sqlite_url, events, tmp_path, public_url=public_url) as app_server,
        open_tenant(app_server, project_id) as tenant,
        await page(tenant) as client,
    ):
        value = client.cookies["fanion"]
        client.cookies.clear()
        cookie = {"cookie": f"__Host-fanion={value}", **OURS}
        own = await change(client, cookie | {"origin": "https://shown.example"})
        other = await change(client, cookie | {"origin": EVIL, "x-forwarded-host": "evil.example"})

    assert (own.status_code, other.status_code) == (200, 403)
