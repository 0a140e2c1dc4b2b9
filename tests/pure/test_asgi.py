"""The management application behind the server: what it is told, and what the client gets."""

from typing import Any, cast

import httpx

from fanion.server.asgi import answer
from tests.exchange import Proto, Scope


async def test_the_application_and_the_client_learn_the_same_request_id() -> None:
    seen: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope)
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b"made"})

    scope = Scope("POST", "/api/x%20y/", "a=1", httpx.Headers({"accept": "*/*"}), "example")
    exchange = Proto(b"")

    state = {"request_id": "abc-1"}

    status = await answer(app, cast(Any, scope), cast(Any, exchange), b"", state)

    assert (status, exchange.status, exchange.content) == (201, 201, b"made")
    assert seen["state"] is state
    assert (seen["path"], seen["query_string"]) == ("/api/x y/", b"a=1")
    assert exchange.headers == [("x-request-id", "abc-1")]
