"""HTTP/1.1 on a real socket: unusual requests, framing, limits and timeouts."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from fanion.server.connection import HEAD_S_MAX, IDLE_S_MAX, Connection, PassOn
from fanion.server.errors import (
    ClientDisconnected,
    HeadTooLarge,
    HttpError,
    Overloaded,
    RequestTimeout,
    TargetTooLong,
)
from fanion.server.flow_control import STALLED_S_MAX, SharedBudget
from fanion.server.forwarded import TrustedProxies
from fanion.server.head import HEAD_BYTES_MAX
from fanion.server.parser import HeadCache
from fanion.server.request import Request
from fanion.server.server import Answer, RenderError
from fanion.web.application import error_response

JSON = ("content-type", "application/json")
WAIT_S = 60
BODY_MAX = 100_000_000


async def echo(request: Request) -> None:
    """Answer with the request."""
    body = (await request.read(BODY_MAX)).decode("latin-1")
    shown = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": dict(request.headers.items()),
        "body": body,
    }
    request.response_bytes(200, [JSON], json.dumps(shown).encode())


@dataclass
class StubServer:
    """A `ConnectionServer` with a clock that the test sets."""

    answer: Answer
    connections_max: int = 100
    is_ending: bool = False
    pass_on: PassOn | None = None
    head_cache: HeadCache = field(default_factory=HeadCache)
    buffers: SharedBudget = field(default_factory=SharedBudget)
    files: SharedBudget = field(default_factory=SharedBudget)
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    time: float = 0.0
    open: list[Connection] = field(default_factory=list)
    port: int = 0
    render_error: RenderError = error_response
    clients: list["Client"] = field(default_factory=list)

    async def client(self) -> "Client":
        self.clients.append(Client(*await asyncio.open_connection("127.0.0.1", self.port)))
        return self.clients[-1]

    async def close(self) -> None:
        for connection in list(self.open):
            connection.abort()
        await until(lambda: not self.open)
        for client in self.clients:
            client.writer.close()
            with suppress(ConnectionError):
                await client.writer.wait_closed()

    def now(self) -> float:
        return self.time

    def date(self) -> str:
        return "date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"

    def opened(self, connection: Connection) -> HttpError | None:
        self.open.append(connection)
        if len(self.open) <= self.connections_max:
            return None
        return Overloaded("Too many connections are open. Please retry.")

    def closed(self, connection: Connection) -> None:
        self.open.remove(connection)

    def check_timeouts(self, later_s: float) -> None:
        for connection in list(self.open):
            connection.check_timeouts(self.time + later_s)


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(WAIT_S):
            status, headers = await self.head()
            if headers.get("transfer-encoding") == "chunked":
                return status, headers, await self._chunks()
            length = headers.get("content-length")
            if length is None:
                return status, headers, b""
            return status, headers, await self.reader.readexactly(int(length))

    async def head(self) -> tuple[int, dict[str, str]]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        headers = dict(line.split(": ", 1) for line in lines[1:])
        assert len(headers) == len(lines) - 1, lines
        return int(lines[0].split()[1]), headers

    async def fetch_echo(self, sent: bytes) -> Any:
        """Return the request as the application saw it."""
        self.writer.write(sent)
        status, _, body = await self.answer()
        assert status == 200, body
        return json.loads(body)

    async def is_closed(self) -> bool:
        async with asyncio.timeout(WAIT_S):
            return await self.reader.read() == b""

    async def _chunks(self) -> bytes:
        data = b""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            data += await self.reader.readexactly(size)
            assert await self.reader.readexactly(2) == b"\r\n"
        assert await self.reader.readexactly(2) == b"\r\n"
        return data


@asynccontextmanager
async def serving(
    answer: Answer = echo, **changes: Any
) -> AsyncIterator[tuple[StubServer, Client]]:
    stub = StubServer(answer, **changes)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(stub), "127.0.0.1", 0)
    stub.port = server.sockets[0].getsockname()[1]
    try:
        yield stub, await stub.client()
    finally:
        server.close()
        await server.wait_closed()
        await stub.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110  the condition has no event to wait for
            await asyncio.sleep(0)


def shape(error: HttpError) -> bytes:
    return error_response(error).body


async def test_a_request_in_single_bytes_is_one_request() -> None:
    request = b"POST /a%20b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"

    async with serving() as (_, client):
        for byte in request:
            client.writer.write(bytes([byte]))
            await client.writer.drain()
        status, headers, body = await client.answer()

    shown = json.loads(body)
    assert (status, headers["content-type"], shown["body"]) == (200, "application/json", "body")
    assert (shown["method"], shown["path"], shown["query"]) == ("POST", "/a%20b", "c=d")


async def test_requests_sent_at_once_are_answered_in_their_order() -> None:
    requests = b"".join(
        f"POST /{n} HTTP/1.1\r\nHost: x\r\nContent-Length: {n}\r\n\r\n".encode() + b"x" * n
        for n in range(50)
    )

    async with serving() as (_, client):
        client.writer.write(requests)
        answers = [json.loads((await client.answer())[2]) for _ in range(50)]

    assert [(each["path"], len(each["body"])) for each in answers] == [
        (f"/{n}", n) for n in range(50)
    ]


async def test_a_chunked_body_is_joined_and_its_trailers_are_not_headers() -> None:
    request = (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-A: head\r\n\r\n"
        b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-A: trailer\r\n\r\n"
    )

    async with serving() as (_, client):
        shown = await client.fetch_echo(request)
        again = await client.fetch_echo(b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")

    assert (shown["body"], shown["headers"]["x-a"]) == ("abcde", "head")
    assert again["path"] == "/next"


async def test_a_header_that_is_sent_twice_is_a_list() -> None:
    async with serving() as (_, client):
        shown = await client.fetch_echo(
            b"GET / HTTP/1.1\r\nHost: x\r\n"
            b"X-Forwarded-For: 1.2.3.4\r\nx-forwarded-for: 5.6.7.8\r\n\r\n"
        )

    assert shown["headers"]["x-forwarded-for"] == "1.2.3.4, 5.6.7.8"


async def test_an_absolute_target_is_read_as_its_path() -> None:
    async with serving() as (_, client):
        shown = await client.fetch_echo(b"GET http://home/a/?b=c HTTP/1.1\r\nHost: x\r\n\r\n")
        bare = await client.fetch_echo(b"GET http://home HTTP/1.1\r\nHost: x\r\n\r\n")

    assert (shown["path"], shown["query"], bare["path"]) == ("/a/", "b=c", "/")


MALFORMED = {
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "an older protocol": b"GET /\r\n\r\n",
    "HTTP/2 without an agreement": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
    ),
    "a length and chunks": (
        b"POST / HTTP/1.1\r\nHost: x\r\n"
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "a negative length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "a length beyond all numbers": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: "
    + b"9" * 30
    + b"\r\n\r\n",
    "a name with a blank": b"GET / HTTP/1.1\r\nX A: b\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n",
    "a NUL in a header": b"GET / HTTP/1.1\r\nHost: x\r\nX-A: b\0c\r\n\r\n",
    "a chunk without a size": (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_malformed_request_is_refused_in_the_error_shape(name: str) -> None:
    async with serving() as (_, client):
        client.writer.write(b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n")
        good = json.loads((await client.answer())[2])
        client.writer.write(MALFORMED[name])
        status, headers, body = await client.answer()
        closed = await client.is_closed()

    assert good["path"] == "/good"
    assert (status, json.loads(body)["code"], closed) == (400, "malformed_request", True)
    assert (headers["content-type"], headers["connection"]) == ("application/json", "close")


async def test_a_request_before_a_malformed_one_is_answered() -> None:
    async with serving() as (_, client):
        client.writer.write(b"GET /good HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n")
        good, bad = await client.answer(), await client.answer()

    assert (good[0], json.loads(good[2])["path"], bad[0]) == (200, "/good", 400)


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * HEAD_BYTES_MAX + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * HEAD_BYTES_MAX + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Never-Ending: " + b"a" * HEAD_BYTES_MAX * 8,
    ],
    ids=["header", "many headers", "unended header"],
)
async def test_a_head_over_the_limit_is_refused(head: bytes) -> None:
    async with serving() as (_, client):
        client.writer.write(head)
        status, _, body = await client.answer()

    assert (status, body) == (431, shape(HeadTooLarge(HEAD_BYTES_MAX)))


@pytest.mark.parametrize("end", [b" HTTP/1.1\r\nHost: x\r\n\r\n", b""], ids=["whole", "unended"])
async def test_a_target_over_the_limit_is_refused(end: bytes) -> None:
    async with serving() as (_, client):
        client.writer.write(b"GET /" + b"a" * HEAD_BYTES_MAX + end)
        status, _, body = await client.answer()

    assert (status, body) == (414, shape(TargetTooLong(HEAD_BYTES_MAX)))


async def test_a_head_is_not_charged_for_the_body_before_it() -> None:
    body = b"x" * HEAD_BYTES_MAX * 3
    request = b"POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)

    async with serving() as (_, client):
        client.writer.write(request + body + b"GET /second HTTP/1.1\r\nHost: x\r\nX-A: ")
        first = await client.answer()
        client.writer.write(b"b\r\n\r\n")
        second = await client.answer()

    assert (first[0], second[0]) == (200, 200)
    assert json.loads(second[2])["headers"]["x-a"] == "b"


async def test_a_client_that_expects_100_continue_gets_it_before_it_sends_its_body() -> None:
    async with serving() as (_, client):
        client.writer.write(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
        )
        interim = await client.head()
        shown = await client.fetch_echo(b"body")

    assert interim == (100, {})
    assert shown["body"] == "body"


async def test_a_client_that_disconnects_after_an_early_response_leaves_nothing_open() -> None:
    async def refuse(request: Request) -> None:
        request.response_bytes(413, [JSON], b"{}")

    async with serving(refuse) as (stub, client):
        client.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nsome")
        refused = await client.answer()
        client.writer.write_eof()

        await until(lambda: not stub.open)

    assert refused[0] == 413


async def test_responses_to_head_and_with_204_have_no_body() -> None:
    async def answer(request: Request) -> None:
        request.response_bytes(204 if request.path == "/none" else 200, [JSON], b"12345")

    async with serving(answer) as (_, client):
        client.writer.write(
            b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET /none HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        head, none = await client.head(), await client.head()
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        whole = await client.answer()

    assert (head[0], head[1]["content-length"]) == (200, "5")
    assert none[0] == 204 and "content-length" not in none[1]
    assert whole[2] == b"12345"


@pytest.mark.parametrize(
    "request_head",
    [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
)
async def test_the_connection_is_closed_when_the_client_asks_for_it(request_head: bytes) -> None:
    async with serving() as (_, client):
        client.writer.write(request_head)
        status, headers, _ = await client.answer()

        assert (status, headers["connection"]) == (200, "close")
        assert await client.is_closed()


async def test_an_upgrade_is_ignored_and_the_connection_stays_open() -> None:
    upgrade = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

    async with serving() as (_, client):
        shown = [await client.fetch_echo(upgrade) for _ in range(2)]
        client.writer.write(b"\x81\x05hello")
        refused = await client.answer()

    assert ([each["path"] for each in shown], refused[0]) == (["/a", "/a"], 400)


async def test_an_unread_body_is_discarded_and_the_connection_stays_open() -> None:
    async def answer(request: Request) -> None:
        request.response_bytes(413, [JSON], request.path.encode())

    async with serving(answer) as (_, client):
        client.writer.write(b"POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n")
        refused = await client.answer()
        client.writer.write(b"x" * 5_000_000 + b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
        following = await client.answer()

    assert (refused[2], following[2]) == (b"/large", b"/next")


async def test_a_large_body_is_read_in_pieces() -> None:
    sizes: list[int] = []

    async def answer(request: Request) -> None:
        async for piece in request.pieces():
            sizes.append(len(piece))
        request.response_bytes(200, [JSON], b"%d" % sum(sizes))

    async with serving(answer) as (_, client):
        client.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n")
        client.writer.write(b"x" * 20_000_000)
        status, _, body = await client.answer()

    assert (status, body) == (200, b"20000000")
    assert len(sizes) > 20


async def test_a_client_that_disconnects_in_the_middle_of_its_body_is_lost() -> None:
    errors: list[type[Exception]] = []

    async def answer(request: Request) -> None:
        try:
            await request.read(BODY_MAX)
        except ClientDisconnected as error:
            errors.append(type(error))
            raise

    async with serving(answer) as (stub, client):
        client.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        await client.writer.drain()
        client.writer.close()
        await until(lambda: bool(errors) and not stub.open)

    assert errors == [ClientDisconnected]


async def test_a_streamed_response_is_chunked_and_ends() -> None:
    async def answer(request: Request) -> None:
        request.response_stream(200, [("content-type", "text/event-stream")])
        for part in (b"a", b"", b"bc"):
            await request.send_bytes(part)

    async with serving(answer) as (_, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
        first, second = await client.answer(), await client.answer()

    assert (first[2], second[2]) == (b"abc", b"abc")


async def test_a_stream_learns_that_its_client_has_ended_its_side() -> None:
    ended = 0

    async def answer(request: Request) -> None:
        nonlocal ended
        request.response_stream(200, [JSON])
        await request.send_bytes(b"a")
        await request.client_disconnect()
        ended += 1
        await request.send_bytes(b"b")

    async with serving(answer) as (_, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.head()
        await client.reader.readexactly(len(b"1\r\na\r\n"))
        assert ended == 0
        client.writer.write_eof()

        assert await client.reader.read() == b"1\r\nb\r\n0\r\n\r\n"
    assert ended == 1


async def test_a_request_that_comes_with_the_end_of_the_client_s_side_knows_it() -> None:
    async def answer(request: Request) -> None:
        await request.client_disconnect()
        request.response_bytes(200, [JSON], b"whole")

    async with serving(answer) as (_, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        client.writer.write_eof()
        _, _, body = await client.answer()

    assert body == b"whole"


async def test_an_http_1_0_client_reads_a_stream_until_the_connection_ends() -> None:
    async def answer(request: Request) -> None:
        request.response_stream(200, [JSON])
        await request.send_bytes(b"abc")

    async with serving(answer) as (_, client):
        client.writer.write(b"GET / HTTP/1.0\r\n\r\n")
        _, headers = await client.head()

        assert "transfer-encoding" not in headers
        assert await client.reader.read() == b"abc"


async def test_a_stream_waits_for_its_client_and_ends_with_it() -> None:
    sent = 0
    gone = asyncio.Event()

    async def answer(request: Request) -> None:
        nonlocal sent
        request.response_stream(200, [JSON])
        try:
            while True:
                await request.send_bytes(b"x" * 100_000)
                sent += 1
        except ClientDisconnected:
            gone.set()

    async with serving(answer) as (stub, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: sent > 0)
        await _until_still(lambda: sent)
        before = sent
        await client.reader.readexactly(50_000 * before)
        await until(lambda: sent > before)
        client.writer.transport.abort()
        async with asyncio.timeout(WAIT_S):
            await gone.wait()

    assert before < 200  # 20 MB, which is what the sockets hold
    assert stub.open == []


async def _until_still(count: Callable[[], int]) -> None:
    """Wait until the number has not changed for a hundred turns of the loop."""
    known, turns = count(), 0
    async with asyncio.timeout(WAIT_S):
        while turns < 100:
            await asyncio.sleep(0.001)
            turns = turns + 1 if count() == known else 0
            known = count()


async def test_a_response_that_fails_midway_closes_the_connection() -> None:
    async def answer(request: Request) -> None:
        request.response_stream(200, [JSON])
        await request.send_bytes(b"abc")
        raise ClientDisconnected

    async with serving(answer) as (_, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.answer()


async def test_idle_clients_are_disconnected() -> None:
    async with serving() as (stub, client):
        stub.check_timeouts(IDLE_S_MAX - 1)
        shown = await client.fetch_echo(b"GET /in-time HTTP/1.1\r\nHost: x\r\n\r\n")
        stub.check_timeouts(IDLE_S_MAX + 1)

        assert shown["path"] == "/in-time"
        assert await client.is_closed()


async def test_a_head_that_is_sent_too_slowly_is_refused() -> None:
    async with serving() as (stub, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        await until(lambda: stub.open[0].parser.is_in_message)
        stub.time += HEAD_S_MAX - 1
        client.writer.write(b"X-A: b\r\n")
        await client.writer.drain()
        await _turns()
        stub.check_timeouts(2)

        assert (await client.answer())[2] == shape(RequestTimeout())
        assert await client.is_closed()


async def test_a_stalled_body_is_refused() -> None:
    async with serving() as (stub, client):
        client.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        await until(lambda: stub.open[0].parser.is_in_message)
        await _turns()
        stub.check_timeouts(STALLED_S_MAX - 1)
        still_open = len(stub.open)
        stub.check_timeouts(STALLED_S_MAX + 1)
        await until(lambda: not stub.open)

    assert still_open == 1


@pytest.mark.parametrize("fields", [b"", b"Connection: close\r\n"])
async def test_a_client_that_does_not_read_its_response_is_disconnected(fields: bytes) -> None:
    async def answer(request: Request) -> None:
        request.response_bytes(200, [JSON], b"x" * 50_000_000)

    async with serving(answer) as (stub, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n")
        await client.head()
        await until(lambda: stub.open[0].answering is None)
        stub.check_timeouts(STALLED_S_MAX - 1)
        still_open = len(stub.open)
        stub.check_timeouts(STALLED_S_MAX + 1)
        await until(lambda: not stub.open)

    assert still_open == 1


async def test_a_slow_endpoint_does_not_time_out() -> None:
    may_answer = asyncio.Event()

    async def answer(request: Request) -> None:
        await may_answer.wait()
        request.response_bytes(200, [JSON], b"late")

    async with serving(answer) as (stub, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: stub.open[0].answering is not None)
        stub.check_timeouts(STALLED_S_MAX * 10)
        may_answer.set()

        assert (await client.answer())[2] == b"late"


async def test_a_connection_over_the_limit_is_refused() -> None:
    async with serving(connections_max=1) as (stub, first):
        await first.fetch_echo(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        second = await stub.client()
        status, headers, body = await second.answer()
        again = await first.fetch_echo(b"GET /still HTTP/1.1\r\nHost: x\r\n\r\n")

    error = Overloaded("Too many connections are open. Please retry.")
    assert (status, body) == (503, shape(error))
    assert headers["retry-after"] == dict(error_response(error).headers)["retry-after"]
    assert again["path"] == "/still"


async def test_the_end_waits_only_for_requests_under_way() -> None:
    may_answer = asyncio.Event()

    async def answer(request: Request) -> None:
        await request.read(BODY_MAX)
        await may_answer.wait()
        request.response_bytes(200, [JSON], b"done")

    async with serving(answer) as (stub, busy):
        idle = await stub.client()
        busy.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbo")
        await until(lambda: any(each.answering is not None for each in stub.open))
        await until(lambda: len(stub.open) == 2)
        stub.is_ending = True
        for connection in list(stub.open):
            connection.end()
        idle_closed = await idle.is_closed()
        busy.writer.write(b"dy")
        may_answer.set()
        status, headers, body = await busy.answer()

        assert idle_closed
        assert (status, headers["connection"], body) == (200, "close", b"done")
        assert await busy.is_closed()


async def _turns(number: int = 20) -> None:
    for _ in range(number):
        await asyncio.sleep(0.001)
