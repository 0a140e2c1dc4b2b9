"""The limits of a process on clients: buffers, minimum rates and connections."""

import asyncio
import json
from functools import partial

import pytest

from fanion.server.errors import ContentTooLarge, Overloaded, RequestTimeout
from fanion.server.flow_control import (
    BYTES_PER_S_MIN,
    STALLED_S_MAX,
    Pace,
    SharedBudget,
    least_rate,
)
from fanion.server.forwarded import TrustedProxies, read_networks
from fanion.server.request import UNCOUNTED_BYTES_MAX, Request
from fanion.server.server import CONNECTIONS_PER_ADDRESS_MAX, ConnectionCount
from tests.server.test_connection import JSON, Client, StubServer, serving, shape, until

POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_an_aborted_body_is_released() -> None:
    async with serving() as (stub, client):
        client.writer.write(POST % 2_000_000 + b"x" * 1_000_000)
        await until(partial(_holds, stub, 1_000_000))
        client.writer.transport.abort()
        await until(lambda: not stub.open)

    assert stub.buffers.held == 0


@pytest.mark.parametrize("way", ["whole", "in pieces", "refused", "too large"])
async def test_a_body_is_released_with_its_answer(way: str) -> None:
    async def answer(request: Request) -> None:
        size = 0
        try:
            if way == "whole":
                size = len(await request.read(10_000_000))
            elif way == "in pieces":
                async for piece in request.pieces():
                    size += len(piece)
            elif way == "too large":
                await request.read(10_000)
        except ContentTooLarge:
            size = -1
        request.response_bytes(200, [JSON], b"%d" % size)

    async with serving(answer) as (stub, client):
        for framed in (POST % 500_000 + b"x" * 500_000, CHUNKED + _chunks(b"x" * 500_000)):
            client.writer.write(framed)
            received = await client.answer()
            await until(lambda: not stub.open[0].parser.is_in_message)

            expected = {"refused": b"0", "too large": b"-1"}.get(way, b"500000")
            assert (received[2], stub.buffers.held) == (expected, 0)


async def test_over_the_budget_large_requests_are_refused_and_others_are_not() -> None:
    share = 900_000 - UNCOUNTED_BYTES_MAX
    async with serving(buffers=SharedBudget(2 * share)) as (stub, slow):
        slow.writer.write(POST % 900_000 + b"x" * 899_999)
        await until(partial(_holds, stub, 899_999))
        other = await stub.client()
        other.writer.write(POST % 200_000 + b"x" * 200_000)
        refused = await other.answer()
        small = await (await stub.client()).fetch_echo(POST % 5 + b"small")
        slow.writer.write(b"x")
        whole = await slow.answer()
        again = await (await stub.client()).fetch_echo(POST % 200_000 + b"x" * 200_000)

    assert (refused[0], json.loads(refused[2])["code"]) == (503, "buffers_full")
    assert (refused[1]["connection"], "retry-after" in refused[1]) == ("close", True)
    assert (small["body"], whole[0], len(again["body"])) == ("small", 200, 200_000)
    assert stub.buffers.held == 0


async def test_unsent_responses_count_too() -> None:
    async def answer(request: Request) -> None:
        request.response_bytes(200, [JSON], b"x" * 20_000_000)

    async with serving(answer, buffers=SharedBudget(2 * 25_000_000)) as (stub, first):
        first.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: stub.buffers.held > 10_000_000)
        second = await stub.client()
        second.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await second.answer()
        whole = await first.answer()
        await until(lambda: stub.buffers.held == 0)

    assert len(whole[2]) == 20_000_000


def _holds(stub: StubServer, size: int) -> bool:
    """Return whether this much of one body is counted."""
    return stub.buffers.held == max(0, size - UNCOUNTED_BYTES_MAX)


def _holds_or_none(stub: StubServer, size: int) -> bool:
    return _holds(stub, size) or not stub.buffers.held


async def _turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def _drip(stub: StubServer, client: Client, data: bytes, every_s: float) -> None:
    """Send a byte at a time until the server closes."""
    for byte in data:
        client.writer.write(bytes([byte]))
        await client.writer.drain()
        for _ in range(5):
            await asyncio.sleep(0.001)
        stub.time += every_s
        stub.check_timeouts(0)
        if not stub.open:
            return


@pytest.mark.parametrize(
    "begin",
    [
        (POST % 1_000, b"x" * 20),
        (CHUNKED, b"5;a=bbbbbbbbbbbbbbbbbbbbbb"),
        (CHUNKED + b"0\r\n", b"X-A: bbbbbbbbbbbbbbbbbbbbb"),
    ],
    ids=["body", "extension", "trailer"],
)
async def test_a_request_below_the_minimum_rate_is_refused(begin: tuple[bytes, bytes]) -> None:
    head, rest = begin
    async with serving() as (stub, client):
        client.writer.write(head)
        await until(lambda: stub.open[0].parser.is_in_message)
        await _drip(stub, client, rest, every_s=20)
        status, headers, body = await client.answer()

    assert (status, headers["connection"], body) == (408, "close", shape(RequestTimeout()))
    assert stub.time <= STALLED_S_MAX + 2 * 20


async def test_a_body_at_the_minimum_rate_is_accepted() -> None:
    size = BYTES_PER_S_MIN * 200
    async with serving() as (stub, client):
        client.writer.write(POST % size)
        await until(lambda: stub.open[0].parser.is_in_message)
        for second in range(1, 200):
            client.writer.write(b"x" * BYTES_PER_S_MIN)
            await until(partial(_holds, stub, BYTES_PER_S_MIN * second))
            await _turns()
            stub.time += 1
            stub.check_timeouts(0)
        client.writer.write(b"x" * BYTES_PER_S_MIN)
        status, _, _ = await client.answer()

    assert status == 200


async def test_time_in_which_reading_is_paused_does_not_count() -> None:
    may_read = asyncio.Event()

    async def answer(request: Request) -> None:
        await may_read.wait()
        size = 0
        async for piece in request.pieces():
            size += len(piece)
        request.response_bytes(200, [JSON], b"%d" % size)

    async with serving(answer) as (stub, client):
        client.writer.write(POST % 3_000_000 + b"x" * 2_999_999)
        await until(lambda: stub.buffers.held > 256 * 1024)
        stub.time += STALLED_S_MAX * 10
        stub.check_timeouts(0)
        may_read.set()
        await until(lambda: stub.buffers.held == 0)
        stub.check_timeouts(0)
        client.writer.write(b"x")
        status, _, body = await client.answer()

    assert (status, body) == (200, b"3000000")


async def test_a_client_that_reads_in_bursts_above_the_minimum_rate_gets_its_response() -> None:
    async def answer(request: Request) -> None:
        request.response_bytes(200, [JSON], b"x" * 20_000_000)

    async with serving(answer) as (stub, client):
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        _, headers = await client.head()
        left = int(headers["content-length"])
        while left:
            left -= len(await client.reader.readexactly(min(left, 2_000_000)))
            await asyncio.sleep(0.01)
            stub.time += STALLED_S_MAX / 2
            stub.check_timeouts(0)

    assert left == 0


def test_each_byte_postpones_the_deadline() -> None:
    pace = Pace(now=100.0)
    for second in range(100, 400):
        pace.moved(BYTES_PER_S_MIN, 0, second)
    assert not pace.is_late(400.0 + STALLED_S_MAX - 2)
    assert pace.is_late(400.0 + STALLED_S_MAX)

    pace.moved(10**9, 0, 500.0)  # no credit is saved up
    assert pace.is_late(500.0 + STALLED_S_MAX + 1)


@pytest.mark.parametrize(
    ("held", "bytes_per_s"),
    [(0, 500), (100_000, 500), (3_000_000, 10_000), (20 * 2**20, 2**16), (10**9, 2**16)],
)
def test_the_least_rate_rises_with_what_is_held(held: int, bytes_per_s: int) -> None:
    assert least_rate(held) == bytes_per_s


@pytest.mark.parametrize(("bytes_per_s", "is_accepted"), [(500, False), (70_000, True)])
async def test_what_has_come_at_once_is_not_held_by_trickling(
    bytes_per_s: int, is_accepted: bool
) -> None:
    burst, seconds = 20_000_000, int(2 * STALLED_S_MAX)
    async with serving() as (stub, client):
        client.writer.write(POST % (burst + seconds * bytes_per_s) + b"x" * burst)
        await until(partial(_holds, stub, burst))
        for second in range(1, seconds + 1):
            if not stub.buffers.held:
                break
            client.writer.write(b"x" * bytes_per_s)
            await until(partial(_holds_or_none, stub, burst + second * bytes_per_s))
            stub.time += 1
            stub.check_timeouts(0)
        status, _, _ = await client.answer()

    assert status == (200 if is_accepted else 408)
    assert is_accepted or stub.time <= STALLED_S_MAX + 5


def test_no_address_takes_the_room_of_the_next() -> None:
    budget = SharedBudget(1_000)

    reserved = {}
    for holder in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
        while budget.reserve(10, holder):
            pass
        reserved[holder] = budget.held_by(holder)
    budget.release(500, "192.0.2.1")

    assert reserved == {"192.0.2.1": 500, "192.0.2.2": 250, "192.0.2.3": 120}
    assert (budget.held_by("192.0.2.1"), budget.held) == (0, 370)
    assert budget.reserve(180, "192.0.2.3")
    assert not budget.reserve(1_000_000, "192.0.2.4")


async def test_clients_behind_a_proxy_have_a_share_each() -> None:
    proxies = TrustedProxies(read_networks("127.0.0.1"))
    head = b"POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %b\r\nContent-Length: %d\r\n\r\n"
    async with serving(buffers=SharedBudget(4_000_000), proxies=proxies) as (stub, slow):
        slow.writer.write(head % (b"203.0.113.7", 1_900_001) + b"x" * 1_900_000)
        await until(partial(_holds, stub, 1_900_000))
        again, other = await stub.client(), await stub.client()
        again.writer.write(head % (b"203.0.113.7", 500_000) + b"x" * 500_000)
        other.writer.write(head % (b"203.0.113.8", 500_000) + b"x" * 500_000)
        refused, answered = await again.answer(), await other.answer()

    assert (refused[0], json.loads(refused[2])["code"]) == (503, "buffers_full")
    assert answered[0] == 200


async def test_a_small_body_is_read_and_a_larger_one_left() -> None:
    async def answer(request: Request) -> None:
        small = await request.read_small(100_000)
        whole = await request.read(10_000_000)
        request.response_bytes(200, [JSON], json.dumps([small is not None, len(whole)]).encode())

    async with serving(answer) as (stub, client):
        for framed, size in (
            (POST % 100_000 + b"x" * 100_000, 100_000),
            (POST % 100_001 + b"x" * 100_001, 100_001),
            (CHUNKED + _chunks(b"x" * 100_000), 100_000),
            (CHUNKED + _chunks(b"x" * 900_000), 900_000),
        ):
            client.writer.write(framed)
            assert json.loads((await client.answer())[2]) == [size <= 100_000, size]
    assert stub.buffers.held == 0


@pytest.mark.parametrize("end", ["answered", "lost"])
async def test_what_an_endpoint_holds_counts_until_it_has_ended(end: str) -> None:
    may_end, counted = asyncio.Event(), list[tuple[int, int]]()
    requests: list[Request] = []

    async def answer(request: Request) -> None:
        requests.append(request)
        await request.read(1_000_000)
        request.keep(300_000, 700_000)
        await may_end.wait()
        counted.append((stub.buffers.held, stub.files.held))
        request.response_bytes(200, [JSON], b"{}")

    async with serving(answer) as (stub, client):
        client.writer.write(POST % 200_000 + b"x" * 200_000)
        await until(lambda: stub.files.held > 0)
        if end == "lost":
            client.writer.transport.abort()
            await until(lambda: requests[0].is_input_over)
        may_end.set()
        await until(lambda: stub.buffers.held == 0)

    assert counted == [(500_000 - UNCOUNTED_BYTES_MAX, 700_000)]
    assert stub.files.held == 0


async def test_an_endpoint_may_not_hold_more_than_a_share() -> None:
    async def answer(request: Request) -> None:
        for memory, disk in ((1_000, 600), (600_000, 0)):
            with pytest.raises(Overloaded):
                request.keep(memory, disk)
        request.response_bytes(200, [JSON], b"{}")

    budgets = {"buffers": SharedBudget(1_000_000), "files": SharedBudget(1_000)}
    async with serving(answer, **budgets) as (stub, client):
        client.writer.write(POST % 5 + b"small")
        assert (await client.answer())[0] == 200
    assert (stub.buffers.held, stub.files.held) == (0, 0)


def test_connections_of_one_client_are_limited_and_those_of_a_proxy_are_not() -> None:
    count = ConnectionCount(10 * CONNECTIONS_PER_ADDRESS_MAX, lambda address: address == "10.0.0.1")

    for address, refusals in (("192.0.2.1", 5), ("2001:db8::1", 5), ("10.0.0.1", 0)):
        errors = [count.opened(address) for _ in range(CONNECTIONS_PER_ADDRESS_MAX + 5)]
        assert len([error for error in errors if error is not None]) == refusals
    assert count.opened("192.0.2.2") is None
    assert count.opened("2001:db8::2") is not None  # of the same network
    for _ in range(6):
        count.closed("192.0.2.1")
    assert count.opened("192.0.2.1") is None


async def test_a_body_in_many_small_segments_is_joined() -> None:
    async with serving() as (stub, client):
        client.writer.write(POST % 30_000)
        await until(lambda: stub.open[0].parser.is_in_message)
        for number in range(3_000):
            client.writer.write(b"%010d" % number)
            await asyncio.sleep(0)
        shown = json.loads((await client.answer())[2])

    assert shown["body"] == "".join(f"{number:010d}" for number in range(3_000))


async def test_tiny_chunks_are_decoded_with_pauses() -> None:
    body = b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n"

    async with serving() as (stub, client):
        other = await stub.client()
        client.writer.write(CHUNKED + body)
        await until(lambda: stub.buffers.held > 0)
        shown = await other.fetch_echo(b"GET /between HTTP/1.1\r\nHost: x\r\n\r\n")
        was_reading = stub.open[0].parser.is_in_message
        whole = await client.answer()

    assert shown["path"] == "/between"
    assert was_reading
    assert json.loads(whole[2])["body"] == "x" * 100_000


def _chunks(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)
