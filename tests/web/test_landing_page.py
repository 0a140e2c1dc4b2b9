"""The landing page: HTML for browsers, JSON for programs, and no key."""

import asyncio
import re
import shlex
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape, unescape
from typing import Any

import pytest

from fanion import __version__
from fanion.app.application import landing_page
from fanion.config import read_settings
from fanion.observability.metrics import Metrics
from fanion.server.forwarded import BaseUrl, TrustedProxies, read_networks
from fanion.server.head import HeaderFields
from fanion.server.request import Request
from fanion.server.response import Response
from fanion.web.landing_page import LandingPage, prefers_html
from fanion.web.probes import OK, Check, CheckResult, Probes, State
from tests.support.application import BASE_URL, Tenant, error

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PROXY = "10.1.2.3:4711"


async def refresh() -> None:
    """Measure nothing."""


def probes(**states: State) -> Probes:
    def answers(state: State) -> Check:
        async def check() -> CheckResult:
            return CheckResult(state)

        return check

    checks = {name: answers(state) for name, state in states.items()}
    return Probes(checks, Metrics(), refresh)


def page_request(**headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("GET", "/", "", HeaderFields({"host": "fanion.test", **BROWSER, **named}), PROXY)


def text_without_tags(answer: Response) -> str:
    """Return the text without tags."""
    return unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", answer.body.decode(), flags=re.S))


async def test_a_browser_gets_a_page_with_the_address_that_it_used(tenant: Tenant) -> None:
    answer = await tenant.public.get("/", headers=BROWSER)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "Ready." in answer.text
    assert "records store works, event store works, accept log works" in answer.text
    for path in ("/api/docs/", "/api/schema/", "/_ready", "/_health"):
        assert f'href="{BASE_URL}{path}"' in answer.text
    page = unescape(answer.text)
    assert f'api_host: "{BASE_URL}"' in page
    assert f'host="{BASE_URL}"' in page
    assert f"{BASE_URL}/capture/" in page
    assert f"Fanion {__version__}" in page


async def test_every_link_of_the_page_works(tenant: Tenant) -> None:
    page = (await tenant.public.get("/", headers=BROWSER)).text
    links = re.findall(r'<a href="([^"]+)"', page)

    assert len(links) == 4
    for link in links:
        assert (await tenant.public.get(unescape(link))).status_code == 200


async def test_the_page_contains_no_key(tenant: Tenant) -> None:
    page = (await tenant.public.get("/", headers=BROWSER)).text
    json_text = (await tenant.public.get("/")).text

    assert re.findall(r"ph[cxs]_\w*", page) == ["phc_"] * page.count("phc_…")
    assert "phc_" not in json_text
    assert tenant.token not in page


async def test_the_page_has_a_policy_that_allows_its_style_only(tenant: Tenant) -> None:
    answer = await tenant.public.get("/", headers=BROWSER)

    [style] = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    assert answer.headers["content-security-policy"].split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{allowed}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    assert answer.headers["cache-control"] == "no-store"
    assert re.findall(r"<script|<img|@import|url\(|\sstyle=|\son[a-z]+=", answer.text) == []
    assert set(re.findall(r'(?:src|href)="([^/"]*)', answer.text)) == {"data:,", "http:"}


async def test_a_program_gets_the_same_as_json(tenant: Tenant) -> None:
    answer = await tenant.public.get("/")

    assert (answer.status_code, answer.json()) == (
        200,
        {
            "name": "Fanion",
            "version": __version__,
            "status": "ready",
            "checks": {"records": "ok", "events": "ok", "accept_log": "ok"},
            "documentation": f"{BASE_URL}/api/docs/",
            "schema": f"{BASE_URL}/api/schema/",
        },
    )
    assert answer.headers["vary"] == "Accept"


async def test_the_page_rejects_post(tenant: Tenant) -> None:
    answer = await tenant.public.post("/", json={})

    assert answer.status_code == 405
    detail = 'Method "POST" not allowed.'
    assert answer.json() == error("invalid_request", "method_not_allowed", detail)


ACCEPTED: Mapping[str, bool] = {
    "": False,
    "*/*": False,
    "application/json": False,
    "text/*": False,
    "text/html": True,
    "TEXT/HTML; charset=utf-8": True,
    BROWSER["accept"]: True,
    "application/xhtml+xml": True,
    "application/json, text/html;q=0.9": False,
    "application/json;q=0.5, text/html;q=0.9": True,
    "text/html;q=0": False,
    "text/html;q=nan": True,  # an unreadable quality is ignored
    ",,;;,text/html": True,
    "x," * 40 + "text/html": False,
    ";" * 60_000 + "text/html": False,
}


@pytest.mark.parametrize("accept", ACCEPTED, ids=lambda accept: accept[:40])
def test_html_is_only_sent_to_clients_that_prefer_it(accept: str) -> None:
    assert prefers_html(accept) == ACCEPTED[accept]


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (State.OPENING, "Not ready: records store works, event store is being opened."),
        (State.UNREACHABLE, "Not ready: records store works, event store cannot be reached."),
        (State.FULL, "Not ready: records store works, event store is full."),
    ],
)
async def test_the_page_names_a_store_that_is_not_ready(state: State, found: str) -> None:
    page = LandingPage(probes(records=State.OK, events=state), BaseUrl(TrustedProxies()))

    answer = await page.get(page_request())

    assert answer.status == 200
    assert found in text_without_tags(answer)
    assert "healthy" not in text_without_tags(answer)


async def test_the_page_is_as_ready_as_the_probe_without_the_event_store() -> None:
    async def away() -> CheckResult:
        return CheckResult(State.UNREACHABLE, is_needed=False)

    page = LandingPage(Probes({"events": away}, Metrics(), refresh), BaseUrl(TrustedProxies()))

    answer = await page.get(page_request())
    json_answer = await page.get(page_request(accept="application/json"))

    assert "Ready for captures and flags: event store cannot be reached." in text_without_tags(
        answer
    )
    assert b'"status":"ready","checks":{"events":"unreachable"}' in json_answer.body


async def test_a_store_that_hangs_does_not_delay_the_page() -> None:
    hanging = asyncio.Event()

    async def hang() -> CheckResult:
        await hanging.wait()
        return OK

    stuck = Probes({"records": hang}, Metrics(), refresh)
    page = LandingPage(stuck, BaseUrl(TrustedProxies()), wait_s=0.01)

    answer = await page.get(page_request())
    json_answer = await page.get(page_request(accept="application/json"))
    hanging.set()
    after = await stuck.check()

    assert "Not ready. Its stores do not answer in time." in text_without_tags(answer)
    assert b'"status":"not ready","checks":null' in json_answer.body
    assert after == {"records": OK}  # the timeout has not cancelled the shared check


ODD = "/a&b'c;d$(e)"


async def test_an_address_is_written_as_text_and_quoted_in_each_language() -> None:
    base_url = BaseUrl(TrustedProxies(), f"https://example.com{ODD}")

    page = (await LandingPage(probes(), base_url).get(page_request())).body.decode()

    assert f'href="{escape(f"https://example.com{ODD}")}/api/docs/"' in page
    assert ODD not in page
    codes = [unescape(code) for code in re.findall(r"<pre><code>(.*?)</code>", page, re.DOTALL)]
    assert f'host="https://example.com{ODD}"' in codes[1]
    assert shlex.split(codes[2])[-1] == f"https://example.com{ODD}/flags/?v=2"


async def test_a_host_is_never_markup() -> None:
    page = LandingPage(probes(), BaseUrl(TrustedProxies()))

    answer = await page.get(page_request(host='"><script>alert(1)</script>'))

    assert b"<script" not in answer.body
    assert b"&lt;script&gt;" in answer.body


@pytest.mark.parametrize(
    ("trusted", "base"), [("10.0.0.0/8", "https://example.com/fanion"), ("", "http://fanion.test")]
)
async def test_the_address_is_the_one_that_a_trusted_proxy_forwards(
    trusted: str, base: str
) -> None:
    proxies = TrustedProxies(read_networks(trusted))
    page = LandingPage(probes(), BaseUrl(proxies))

    answer = await page.get(
        page_request(
            x_forwarded_host="example.com",
            x_forwarded_proto="https",
            x_forwarded_prefix="/fanion",
        )
    )

    assert f'href="{base}/api/docs/"' in answer.body.decode()
    assert f"{base}/capture/" in text_without_tags(answer)


SETTINGS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "http://fanion.test", "http://fanion.test"),
    ({"public_url": "https://a.example/"}, "https://a.example", "https://a.example"),
    ({"management_listen": "127.0.0.1:8001"}, "http://fanion.test", "http://127.0.0.1:8000"),
    (
        {"management_listen": "127.0.0.1:8001", "public_url": "https://a.example"},
        "http://fanion.test",
        "https://a.example",
    ),
    (
        {
            "management_listen": "127.0.0.1:8001",
            "management_url": "https://m.example",
            "public_url": "https://a.example",
        },
        "https://m.example",
        "https://a.example",
    ),
    (
        {"management_url": "https://m.example", "public_url": "https://a.example"},
        "https://m.example",
        "https://a.example",
    ),
]


@pytest.mark.parametrize(("given", "links", "capture"), SETTINGS)
async def test_with_an_address_of_its_own_management_names_the_public_one_in_snippets(
    given: dict[str, Any], links: str, capture: str
) -> None:
    page = landing_page(read_settings({}, given), probes(), TrustedProxies())

    answer = await page.get(page_request())

    assert f'href="{links}/api/docs/"' in answer.body.decode()
    assert f'host="{capture}"' in text_without_tags(answer)


async def test_a_request_without_a_host_gets_the_address_of_the_listener() -> None:
    page = landing_page(read_settings({}), probes(), TrustedProxies())

    answer = await page.get(Request("GET", "/", "", HeaderFields(BROWSER), PROXY))

    assert 'href="http://127.0.0.1:8000/api/docs/"' in answer.body.decode()
