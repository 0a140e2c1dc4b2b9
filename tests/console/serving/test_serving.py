"""The console's page and assets: who gets them, and with which headers."""

import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from fanion.console.build import NOT_BUILT, Build
from fanion.console.build_reader import FAILED, read_build
from fanion.console.endpoints import ConsoleEndpoints, SdkScripts, console_routes, sdk_routes
from fanion.server.forwarded import BaseUrl, TrustedProxies, read_networks
from fanion.server.head import HeaderFields
from fanion.server.request import Request
from fanion.server.response import Response
from fanion.web.application import for_management_listener, for_public_listener
from fanion.web.routes import AnsweredBy, worker_routes
from tests.console.serving.builds import BUILD, ICON, SCRIPT, client_of
from tests.support import plain_http
from tests.support.application import BASE_URL, Tenant, error
from tests.support.exchange import MemoryTransport

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
NOT_FOUND = error("invalid_request", "not_found", "Not found.")
SCREENS = [
    "/login", "/login/", "/login/second-factor", "/reset", "/project/1", "/project/1/flags/7",
    "/project/1/persons/a%2Fb", "/account", "/account/sessions", "/organization/members/",
]  # fmt: skip
PROXY = "10.1.2.3:4711"


async def unexpected(_: Request) -> Response:
    raise AssertionError("not asked for")


def page_for(headers: dict[str, str], base_url: BaseUrl) -> tuple[ConsoleEndpoints, Request]:
    fields = HeaderFields({"host": "fanion.test", **BROWSER, **headers})
    request = Request("GET", "/project/1", "", fields, PROXY)
    return ConsoleEndpoints(BUILD, base_url, unexpected, lambda: False), request


@pytest.mark.parametrize("path", ["/", *SCREENS])
async def test_every_screen_is_the_page(served: httpx.AsyncClient, path: str) -> None:
    answer = await served.get(path, headers=BROWSER)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert 'src="/console/assets/index-1.js"' in answer.text
    assert 'href="/console/assets/icon-1.svg"' in answer.text
    assert '<meta name="fanion-prefix" content="">' in answer.text
    assert not re.findall(r"__[A-Z]+__", answer.text)


async def test_the_policy_of_the_page_names_its_own_scripts_only(served: httpx.AsyncClient) -> None:
    answer = await served.get("/", headers=BROWSER)

    nonces = set(re.findall(r'nonce="([^"]+)"', answer.text))
    assert len(nonces) == 1
    nonce = nonces.pop()
    assert len(nonce) == 24
    assert answer.headers["content-security-policy"].split("; ") == [
        "default-src 'self'",
        f"script-src 'nonce-{nonce}' 'strict-dynamic'",
        f"style-src 'self' 'nonce-{nonce}'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


async def test_each_response_has_a_nonce_of_its_own(served: httpx.AsyncClient) -> None:
    pages = {(await served.get("/login")).text for _ in range(3)}

    assert len(pages) == 3


@pytest.mark.parametrize(
    ("path", "cookie", "is_framed"),
    [
        ("/", "fanion=x", True),
        ("/project/1", "a=b; fanion=x", True),
        ("/project/1", "a=b", False),
        ("/project/1", "", False),
        ("/login", "fanion=x", False),
        ("/reset", "fanion=x", False),
        ("/shared/abc", "fanion=x", False),
    ],
)
async def test_the_page_has_the_frame_of_the_screens_where_a_user_may_be_signed_in(
    served: httpx.AsyncClient, path: str, cookie: str, is_framed: bool
) -> None:
    answer = await served.get(path, headers={**BROWSER, "cookie": cookie})

    assert ("<p>Fanion</p>" in answer.text) is is_framed
    assert ("frame -->" in answer.text) is is_framed


async def test_other_clients_get_the_summary_at_the_root(served: httpx.AsyncClient) -> None:
    answer = await served.get("/")
    page = await served.get("/", headers=BROWSER)

    assert answer.json()["name"] == "Fanion"
    assert answer.headers["vary"] == page.headers["vary"] == "Accept"


@pytest.mark.parametrize("path", ["/", "/login", "/console/assets/index-1.js"])
async def test_head_is_answered_as_get(served: httpx.AsyncClient, path: str) -> None:
    head = await served.head(path, headers=BROWSER)
    got = await served.get(path, headers=BROWSER)

    assert head.status_code == 200
    assert head.headers["content-type"] == got.headers["content-type"]
    assert head.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize("path", ["/", "/login", "/project/1", "/console/assets/index-1.js"])
async def test_they_are_only_read(served: httpx.AsyncClient, path: str) -> None:
    answer = await served.post(path, json={})

    assert answer.status_code == 405
    assert answer.json() == error(
        "invalid_request", "method_not_allowed", 'Method "POST" not allowed.'
    )


@pytest.mark.parametrize(
    ("given", "prefix"),
    [
        ({}, ""),
        ({"x-forwarded-prefix": "/fanion"}, "/fanion"),
        ({"x-forwarded-prefix": "/a'b&c"}, "/a&#x27;b&amp;c"),
        ({"x-forwarded-prefix": '/"><script>'}, ""),
    ],
)
async def test_addresses_have_the_prefix_that_a_trusted_proxy_forwards(
    given: dict[str, str], prefix: str
) -> None:
    proxies = TrustedProxies(read_networks("10.0.0.0/8"))
    endpoints, request = page_for(given, BaseUrl(proxies))

    page = (await endpoints.page(request)).body.decode()

    assert f'content="{prefix}"' in page
    assert f'src="{prefix}/console/assets/index-1.js"' in page


async def test_addresses_have_the_path_of_the_public_url() -> None:
    endpoints, request = page_for({}, BaseUrl(TrustedProxies(), "https://example.com/fanion/"))

    page = (await endpoints.page(request)).body.decode()

    assert 'content="/fanion"' in page
    assert 'src="/fanion/console/assets/index-1.js"' in page


async def test_an_asset_is_kept_for_ever(served: httpx.AsyncClient) -> None:
    answer = await served.get("/console/assets/index-1.js", headers={"accept-encoding": "identity"})

    assert (answer.status_code, answer.content) == (200, SCRIPT)
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "Accept-Encoding" in answer.headers["vary"]
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0.5, gzip;q=0.8", "gzip"),
        ("br;q=0, *", "gzip"),
        ("", None),
        ("deflate", None),
    ],
)
async def test_an_asset_is_sent_compressed(
    served: httpx.AsyncClient, accept: str, coding: str | None
) -> None:
    answer = await served.get("/console/assets/index-1.js", headers={"accept-encoding": accept})

    assert answer.headers.get("content-encoding") == coding
    assert answer.content == SCRIPT  # decompressed by the client
    sent = BUILD.assets["index-1.js"].bodies[coding or "identity"]
    assert int(answer.headers["content-length"]) == len(sent)


async def test_an_asset_that_is_known_is_not_sent_again(served: httpx.AsyncClient) -> None:
    path, accept = "/console/assets/index-1.js", {"accept-encoding": "br"}
    etag = (await served.get(path, headers=accept)).headers["etag"]

    known = await served.get(path, headers={**accept, "if-none-match": etag})
    other = await served.get(path, headers={"accept-encoding": "gzip", "if-none-match": etag})

    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["etag"] == etag
    assert "content-encoding" not in known.headers
    assert other.status_code == 200
    assert other.headers["etag"] != etag


async def test_what_does_not_shrink_is_sent_as_it_is(served: httpx.AsyncClient) -> None:
    answer = await served.get("/console/assets/icon-1.svg")

    assert answer.content == ICON
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    "name",
    ["index-2.js", "", "../index.html", "..%2fbuild.json", "index-1.js.br", "index-1.js%00", "a/b"],
)
async def test_an_unknown_asset_is_404_and_not_kept(served: httpx.AsyncClient, name: str) -> None:
    answer = await served.get(f"/console/assets/{name}")

    assert (answer.status_code, answer.json()) == (404, NOT_FOUND)
    assert answer.headers.get("cache-control", "no-store") == "no-store"


async def test_only_the_listener_of_management_serves_it(tenant: Tenant) -> None:
    configuration = tenant.server.running.public.flags.endpoints.browser
    endpoints = ConsoleEndpoints(BUILD, BaseUrl(TrustedProxies()), unexpected, lambda: False)
    whole = tenant.server.application
    routes = whole.routes.merged_with(console_routes(endpoints)).merged_with(
        sdk_routes(SdkScripts(BUILD, configuration))
    )
    whole = replace(whole, routes=routes)
    statuses: dict[str, list[int]] = {}

    for listener in (for_public_listener(whole), for_management_listener(whole)):
        client = plain_http.AsyncClient(transport=MemoryTransport(listener), base_url=BASE_URL)
        async with client:
            for path in ("/", *SCREENS, "/console/assets/index-1.js", "/static/array.js"):
                answer = await client.get(path, headers=BROWSER)
                statuses.setdefault(path, []).append(answer.status_code)

    assert statuses.pop("/static/array.js") == [200, 404]
    assert set(map(tuple, statuses.values())) == {(404, 200)}


async def test_the_main_process_answers_it(tenant: Tenant) -> None:
    public = tenant.server.running.public
    workers = worker_routes(public.capture, public.flags.endpoints, AnsweredBy.HERE)

    for path in ("/", *SCREENS, "/console/assets/index-1.js", "/static/array.js"):
        assert workers.find(path) is None
    assert workers.find(f"/array/{tenant.token}/array.js") is None


@pytest.mark.parametrize(("build", "console"), [(NOT_BUILT, "on"), (BUILD, "off")])
async def test_without_a_console_the_root_is_the_landing_page(
    tenant: Tenant, build: Build, console: str
) -> None:
    async with client_of(tenant.server, build, console=console) as client:
        root = await client.get("/", headers=BROWSER)
        screens = {(await client.get(path)).status_code for path in SCREENS}
        asset = await client.get("/console/assets/index-1.js")

    assert "Ready." in root.text
    assert ("The web console is missing" in root.text) == (console == "on")
    assert screens == {404}
    assert asset.status_code == 404


def written(folder: Path) -> Path:
    """Write a build into a folder, as the build script leaves it."""
    static = folder / "static"
    for path, content in {
        "index.html": b"<!doctype html>",
        "build.json": b'{"sources": "0", "posthog_js": "1.2.3"}',
        "assets/index-1.js": SCRIPT,
        "assets/index-1.js.gz": b"gz",
        "assets/index-1.js.br": b"br",
        "sdk/array.js": b"array",
        "sdk/LICENSE": b"free",
    }.items():
        (static / path).parent.mkdir(parents=True, exist_ok=True)
        (static / path).write_bytes(content)
    return static


def test_a_build_is_read(tmp_path: Path) -> None:
    build = read_build(written(tmp_path))

    assert (build.index, build.sdk_version, build.missing) == ("<!doctype html>", "1.2.3", "")
    assert dict(build.assets["index-1.js"].bodies) == {
        "br": b"br", "gzip": b"gz", "identity": SCRIPT,
    }  # fmt: skip
    assert build.sdk["array.js"].bodies == {"identity": b"array"}


def test_a_build_that_failed_says_why_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "static.failed").write_text("npm ci failed (ENOTFOUND).\n\nhttps://secret\n")

    missing = read_build(tmp_path / "static").missing

    assert missing == FAILED.format("npm ci failed (ENOTFOUND).")


def test_the_former_build_is_served_while_the_next_one_fails(tmp_path: Path) -> None:
    static = written(tmp_path)
    (tmp_path / "static.failed").write_text("vite build failed.\n")

    assert read_build(static).missing == ""


@pytest.mark.parametrize("damaged", ["build.json", "index.html"])
def test_a_damaged_build_is_none(tmp_path: Path, damaged: str) -> None:
    static = written(tmp_path)
    (static / damaged).unlink()

    assert read_build(static) == NOT_BUILT
