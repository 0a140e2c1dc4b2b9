"""The documentation at /docs/: its files, their headers, and a server without them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from fanion.console.build import NOT_BUILT
from fanion.console.docs_endpoints import NOT_BUILT as NO_DOCS
from fanion.web.application import for_management_listener, for_public_listener
from tests.console.serving.builds import BUILD, client_of, packed
from tests.support import plain_http
from tests.support.application import BASE_URL, AppServer, Tenant, error
from tests.support.exchange import MemoryTransport

PAGE, SCRIPT = b"<!doctype html><script>1</script>" * 20, b"console.log('docs');" * 20
FILES = {
    "index.html": b"<!doctype html><h1>Fanion</h1>",
    "install/index.html": PAGE,
    "assets/javascripts/bundle.1.min.js": SCRIPT,
    "images/home.jpg": b"\xff\xd8\xff",
}
NOT_FOUND = error("invalid_request", "not_found", "Not found.")


def write_site(folder: Path) -> Path:
    """Write a small site as `make docs` does."""
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name in ("install/index.html", "assets/javascripts/bundle.1.min.js"):
        for ending, coding in {".br": "br", ".gz": "gzip"}.items():
            (folder / f"{name}{ending}").write_bytes(packed(FILES[name])[coding])
    codings = {name: ["br", "gzip"] if len(FILES[name]) > 100 else [] for name in FILES}
    described = {name: {"digest": f"of-{name}", "codings": codings[name]} for name in FILES}
    known = {"sources": "0", "scripts": ["sha256-one="], "files": described}
    (folder / "build.json").write_text(json.dumps(known))
    return folder


@pytest.fixture(scope="module")
async def site(
    app_server: AppServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app_server, BUILD, write_site(tmp_path_factory.mktemp("docs"))) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "name", "kind"),
    [
        ("/docs/", "index.html", "text/html; charset=utf-8"),
        ("/docs/install/", "install/index.html", "text/html; charset=utf-8"),
        ("/docs/install/index.html", "install/index.html", "text/html; charset=utf-8"),
        (
            "/docs/assets/javascripts/bundle.1.min.js",
            "assets/javascripts/bundle.1.min.js",
            "text/javascript; charset=utf-8",
        ),
        ("/docs/images/home.jpg", "images/home.jpg", "image/jpeg"),
    ],
)
@pytest.mark.parametrize("coding", ["br", "gzip", "identity"])
async def test_a_file_is_answered(
    site: httpx.AsyncClient, path: str, name: str, kind: str, coding: str
) -> None:
    answer = await site.get(path, headers={"accept-encoding": coding})

    assert (answer.status_code, answer.content) == (200, FILES[name])
    assert answer.headers["content-type"] == kind
    sent = coding if coding != "identity" and len(FILES[name]) > 100 else None
    assert answer.headers.get("content-encoding") == sent


@pytest.mark.parametrize(("path", "target"), [("/docs", "docs/"), ("/docs/install", "install/")])
async def test_a_page_is_found_without_its_last_slash(
    site: httpx.AsyncClient, path: str, target: str
) -> None:
    answer = await site.get(path)

    assert (answer.status_code, answer.headers["location"]) == (308, target)


async def test_a_page_that_is_known_is_not_sent_again(site: httpx.AsyncClient) -> None:
    first = await site.get("/docs/install/")
    etag = first.headers["etag"]

    again = await site.get("/docs/install/", headers={"if-none-match": etag})

    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)


async def test_pages_run_their_own_scripts_only(site: httpx.AsyncClient) -> None:
    answer = await site.get("/docs/install/")

    assert answer.headers["content-security-policy"].split("; ") == [
        "default-src 'none'",
        "script-src 'self' 'sha256-one='",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/docs/other/", "/docs/install/other", "/docs/build.json", "/docs/../build.py",
        "/docs/%2e%2e/build.py", "/docs/install/index.html.br", "/docs//", "/docs/images/",
    ],
)  # fmt: skip
async def test_nothing_else_is_answered(site: httpx.AsyncClient, path: str) -> None:
    answer = await site.get(path)

    assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


async def test_a_server_without_documentation_says_how_to_build_it(
    app_server: AppServer, tmp_path: Path
) -> None:
    async with client_of(app_server, BUILD, tmp_path / "missing") as client:
        answers = [await client.get(path) for path in ("/docs", "/docs/", "/docs/install/")]
        (tmp_path / "missing").mkdir()
        (tmp_path / "missing" / "build.json").write_text("{")
        answers.append(await client.get("/docs/"))

    for answer in answers:
        assert answer.status_code == 404
        assert answer.json() == error("invalid_request", "not_found", NO_DOCS)


async def test_a_build_is_served_without_a_restart(app_server: AppServer, tmp_path: Path) -> None:
    async with client_of(app_server, BUILD, tmp_path / "docs") as client:
        before = await client.get("/docs/")
        write_site(tmp_path / "docs")
        after = await client.get("/docs/")

    assert (before.status_code, after.status_code) == (404, 200)


@pytest.mark.parametrize("settings", [{"console": "off"}, {}])
async def test_documentation_does_not_need_the_console(
    app_server: AppServer, tmp_path: Path, settings: dict[str, str]
) -> None:
    async with client_of(app_server, NOT_BUILT, write_site(tmp_path), **settings) as client:
        answer = await client.get("/docs/")

    assert answer.status_code == 200


async def test_a_public_listener_has_no_documentation(tenant: Tenant) -> None:
    statuses = []
    for listener in (for_public_listener, for_management_listener):
        transport = MemoryTransport(listener(tenant.server.application))
        async with plain_http.AsyncClient(transport=transport, base_url=BASE_URL) as client:
            # Of the two only an address that exists knows its methods, with or without a build.
            statuses.append((await client.post("/docs/")).status_code)

    assert statuses == [404, 405]


@pytest.mark.parametrize("is_built", [True, False])
async def test_the_page_of_the_console_says_whether_there_is_documentation(
    app_server: AppServer, tmp_path: Path, is_built: bool
) -> None:
    folder = write_site(tmp_path) if is_built else tmp_path / "missing"
    async with client_of(app_server, BUILD, folder) as client:
        page = await client.get("/", headers={"accept": "text/html"})

    assert f'<meta name="fanion-docs" content="{"built" if is_built else ""}">' in page.text
