"""Requests with a session whose headers are repeated or written oddly, over a socket.

Nothing that a proxy may read differently from the server makes a forged request look like ours.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fanion.server.server import HttpServer
from fanion.web.application import error_response
from tests.support.application import Tenant
from tests.support.http_probe import Answer, Probe
from tests.support.server import free_port

PATH = "/api/projects/@current/"
BODY = b'{"name":"Another"}'
OURS = "X-Fanion-Console: 1"
SAME = "Sec-Fetch-Site: same-origin"


@asynccontextmanager
async def listening(tenant: Tenant) -> AsyncIterator[int]:
    stop, port = asyncio.Event(), free_port()
    server = HttpServer(("127.0.0.1", port), stop, render_error=error_response)
    await server.answer_with(tenant.server.application)
    yield port
    stop.set()
    await server.wait_closed()


def patch(port: int, lines: list[str], body: bytes = BODY) -> Answer | None:
    head = "\r\n".join([f"PATCH {PATH} HTTP/1.1", *lines])
    with Probe(port) as probe:
        probe.send(head.encode("latin-1") + b"\r\n\r\n" + body)
        return probe.answer()


HOST, LENGTH = "Host: HERE", f"Content-Length: {len(BODY)}"
PLAIN = [HOST, LENGTH]
EVIL = "Sec-Fetch-Site: cross-site"
ODD: dict[str, tuple[list[str], int]] = {
    "ours": ([*PLAIN, "Cookie: GOOD", OURS, SAME], 200),
    "ours, by the origin": ([*PLAIN, "Cookie: GOOD", OURS, "Origin: http://HERE"], 200),
    "two sites": ([*PLAIN, "Cookie: GOOD", OURS, SAME, EVIL], 403),
    "two sites, ours last": ([*PLAIN, "Cookie: GOOD", OURS, EVIL, SAME], 403),
    "the same site twice": ([*PLAIN, "Cookie: GOOD", OURS, SAME, SAME], 403),
    "two origins": ([*PLAIN, "Cookie: GOOD", OURS, "Origin: http://HERE", "Origin: http://x"], 403),
    "our header twice": ([*PLAIN, "Cookie: GOOD", OURS, OURS, SAME], 403),
    "our header with an underscore": (
        [*PLAIN, "Cookie: GOOD", "X_Fanion_Console: 1", "Sec_Fetch_Site: same-origin"],
        403,
    ),
    "our header folded": ([*PLAIN, "Cookie: GOOD", "X-Fanion-Console:\r\n 1", SAME], 400),
    "a blank before the colon": ([*PLAIN, "Cookie: GOOD", "X-Fanion-Console : 1", SAME], 400),
    "a bare line feed": ([*PLAIN, "Cookie: GOOD\nX-Fanion-Console: 1", SAME], 400),
    "two cookies in two headers": ([*PLAIN, "Cookie: BAD", "Cookie: GOOD", OURS, SAME], 401),
    "two cookies in one": ([*PLAIN, "Cookie: BAD; GOOD", OURS, SAME], 401),
    "two cookies, ours first": ([*PLAIN, "Cookie: GOOD; BAD", OURS, SAME], 401),
    "the cookie twice": ([*PLAIN, "Cookie: GOOD; GOOD", OURS, SAME], 200),
    "two hosts": ([HOST, "Host: evil.example", LENGTH, "Cookie: GOOD", OURS, SAME], 400),
    "another host, its origin": (
        ["Host: evil.example", LENGTH, "Cookie: GOOD", "Origin: http://evil.example"],
        403,
    ),
    "two lengths": ([*PLAIN, "Content-Length: 0", "Cookie: GOOD", OURS, SAME], 400),
    "a length and chunks": (
        [*PLAIN, "Transfer-Encoding: chunked", "Cookie: GOOD", OURS, SAME],
        400,
    ),
}


@pytest.mark.parametrize("case", ODD)
async def test_a_header_that_stands_twice_is_never_taken_for_ours(
    tenant: Tenant, case: str
) -> None:
    browser = await tenant.server.browser(tenant.user_id)
    good = f"fanion={browser.cookies['fanion']}"
    lines, status = ODD[case]
    async with listening(tenant) as port:
        here = f"127.0.0.1:{port}"
        sent = [
            line.replace("HERE", here).replace("GOOD", good).replace("BAD", "fanion=" + "A" * 43)
            for line in lines
        ]
        answer = await asyncio.to_thread(patch, port, sent)
    async with tenant.server.client(tenant.key) as client:
        name = (await client.get(PATH)).json()["name"]

    assert answer is not None
    assert answer.status == status
    assert (name == "Another") == (status == 200)


async def test_a_body_that_looks_like_a_request_is_none(tenant: Tenant) -> None:
    """The body of a refused request is discarded, and not read as the next request."""
    browser = await tenant.server.browser(tenant.user_id)
    good = f"Cookie: fanion={browser.cookies['fanion']}"
    hidden = "\r\n".join([f"PATCH {PATH} HTTP/1.1", HOST, LENGTH, good, OURS, SAME, "", ""])
    body = hidden.encode() + BODY
    lines = [HOST, f"Content-Length: {len(body)}", good, EVIL]
    async with listening(tenant) as port:
        answer = await asyncio.to_thread(patch, port, lines, body)
    async with tenant.server.client(tenant.key) as client:
        name = (await client.get(PATH)).json()["name"]

    assert answer is not None
    assert answer.status == 400  # the body is read first: it might hold a key, and is not JSON
    assert name != "Another"
