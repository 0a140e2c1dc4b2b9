"""One delivery attempt to a real receiver: what is sent, and where nothing is ever sent."""

import asyncio
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fanion import __version__
from fanion.webhooks.client import LOOKUPS_MAX, Resolve, Resolver, Sender
from fanion.webhooks.model import DeliveryOutcome
from tests.support.receiver import Receiver, open_receiver

BODY = b'{"type":"feature_flag.updated"}'
LOOPBACK = DeliveryOutcome(error="Not sent: the host has a loopback address.", is_final=True)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


def names(**known: Sequence[str]) -> Resolve:
    """Return a resolver that knows only these hosts; `_` in a name stands for a dot."""
    addresses = {name.replace("_", "."): host_addresses for name, host_addresses in known.items()}

    async def resolve(host: str, _: int) -> Sequence[str]:
        if host not in addresses:
            raise socket.gaierror(-2, "Name or service not known")
        return addresses[host]

    return resolve


async def send(url: str, resolve: Resolve | None = None, **options: Any) -> DeliveryOutcome:
    sender = Sender(resolve or Resolver(), **options)
    try:
        return await sender.send(url, {"webhook-id": "5"}, BODY)
    finally:
        await sender.close()


async def test_a_request_says_who_sends_it_to_whom(receiver: Receiver) -> None:
    outcome = await send(receiver.url("/in/here?x=%20y"), allow_private=True)

    [request] = receiver.requests
    assert outcome == DeliveryOutcome(200)
    assert (request.path, request.body) == ("/in/here?x=%20y", BODY)
    assert request.headers == {
        "host": f"localhost:{receiver.port}",
        "user-agent": f"Fanion/{__version__}",
        "content-type": "application/json",
        "content-length": str(len(BODY)),
        "connection": "close",
        "webhook-id": "5",
    }


# Every way to write an address of this machine or its network.
FORBIDDEN_URLS = [
    "http://127.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://0.0.0.0:{port}/",
    "http://0:{port}/",
    "http://[::]:{port}/",
]


@pytest.mark.parametrize("url", FORBIDDEN_URLS)
async def test_this_machine_is_never_reached(receiver: Receiver, url: str) -> None:
    outcome = await send(url.format(port=receiver.port))

    assert outcome.error is not None
    # Where the system does not accept such a form as an address, it fails to resolve as a name.
    assert outcome.is_final or "gaierror" in outcome.error
    assert receiver.requests == []


FORBIDDEN_ADDRESSES = {
    "127.0.0.1": "a loopback",
    "::1": "a loopback",
    "169.254.169.254": "a link-local",
    "fe80::1%lo": "a link-local",
    "10.0.0.1": "a private or reserved",
    "172.16.0.1": "a private or reserved",
    "192.168.0.1": "a private or reserved",
    "100.64.0.1": "a private or reserved",
    "fd00::1": "a private or reserved",
    "224.0.0.1": "a multicast",
    "ff02::1": "a multicast",
    "0.0.0.0": "an unspecified",
    "::": "an unspecified",
    "::ffff:127.0.0.1": "a loopback",
    "::ffff:10.0.0.1": "a private or reserved",
    "64:ff9b::7f00:1": "a loopback",
}


@pytest.mark.parametrize("address", FORBIDDEN_ADDRESSES)
async def test_a_name_does_not_lead_to_what_is_forbidden(receiver: Receiver, address: str) -> None:
    resolve = names(hooks_example=[address])

    outcome = await send(f"http://hooks.example:{receiver.port}/", resolve)

    kind = FORBIDDEN_ADDRESSES[address]
    assert outcome == DeliveryOutcome(
        error=f"Not sent: the host has {kind} address.", is_final=True
    )
    assert receiver.requests == []


async def test_one_forbidden_address_of_several_is_enough(receiver: Receiver) -> None:
    resolve = names(hooks_example=["8.8.8.8", "127.0.0.1"])

    assert await send(f"http://hooks.example:{receiver.port}/", resolve) == LOOPBACK


async def test_a_name_is_asked_once_and_what_it_was_is_connected_to(receiver: Receiver) -> None:
    answers = [["127.0.0.1"], ["203.0.113.1"]]
    lookups = []

    async def changing(host: str, _: int) -> Sequence[str]:
        lookups.append(host)
        return answers.pop(0)

    url = f"http://hooks.example:{receiver.port}/"
    outcome = await send(url, changing, allow_private=True)

    [request] = receiver.requests
    assert (outcome, lookups) == (DeliveryOutcome(200), ["hooks.example"])
    assert request.headers["host"] == f"hooks.example:{receiver.port}"


async def test_an_address_that_refuses_makes_room_for_the_next(receiver: Receiver) -> None:
    resolve = names(hooks_example=["127.0.0.2", "127.0.0.1"])

    url = f"http://hooks.example:{receiver.port}/"
    assert await send(url, resolve, allow_private=True) == DeliveryOutcome(200)


async def test_a_redirect_is_a_failure_and_is_not_followed(receiver: Receiver) -> None:
    receiver.statuses = [302]
    receiver.extra = f"Location: {receiver.url('/elsewhere')}\r\n"

    outcome = await send(receiver.url(), allow_private=True)

    assert outcome == DeliveryOutcome(302, "The answer was 302, not 200 to 299.")
    assert [request.path for request in receiver.requests] == ["/"]


async def test_cookies_are_not_stored(receiver: Receiver) -> None:
    receiver.extra = "Set-Cookie: a=b\r\n"
    sender = Sender(Resolver(), allow_private=True)

    for _ in range(2):
        await sender.send(receiver.url(), {}, BODY)
    await sender.close()

    assert ["cookie" in request.headers for request in receiver.requests] == [False, False]


async def test_a_proxy_of_the_environment_is_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    assert await send(receiver.url(), allow_private=True) == DeliveryOutcome(200)


@pytest.mark.parametrize("status", [199, 300, 404, 410, 500, 503])
async def test_other_answers_are_failures(receiver: Receiver, status: int) -> None:
    receiver.statuses = [status]

    outcome = await send(receiver.url(), allow_private=True)

    assert outcome.error is not None and not outcome.is_final


async def test_a_receiver_that_is_silent_is_given_up(receiver: Receiver) -> None:
    outcome = await send(receiver.url("/slow"), allow_private=True, timeout_s=0.2)

    assert outcome == DeliveryOutcome(error="No answer within 0.2 s.")


async def test_a_receiver_that_is_not_there_is_a_failure() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

    outcome = await send(f"http://127.0.0.1:{port}/", allow_private=True)

    assert outcome.error is not None and outcome.error.startswith("ConnectError")
    assert (outcome.response_code, outcome.is_final) == (None, False)


async def test_an_address_with_a_zone_is_a_failure_of_its_own() -> None:
    outcome = await send("http://a/", names(a=["fe80::1%lo"]), allow_private=True)

    assert outcome.error is not None and outcome.error.startswith(("InvalidURL", "ConnectError"))


async def test_an_unknown_name_is_a_failure_that_may_pass() -> None:
    outcome = await send("http://hooks.example/", names())

    assert outcome == DeliveryOutcome(error="gaierror: [Errno -2] Name or service not known")


async def test_what_is_no_http_is_a_failure() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(BODY)
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    outcome = await send(f"http://127.0.0.1:{port}/", allow_private=True)

    server.close()
    await server.wait_closed()
    assert outcome.error is not None and outcome.error.startswith("RemoteProtocolError")


# ── TLS ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of hooks.example, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    path: Path = tmp_path_factory.mktemp("tls") / "hooks.pem"
    name = ("-subj", "/CN=hooks.example", "-addext", "subjectAltName=DNS:hooks.example")
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *name)
    files = ("-keyout", str(path), "-out", str(path.with_suffix(".crt")))
    subprocess.run([openssl, *made, *files], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_a_certificate_is_checked_for_the_name_and_not_for_the_address(
    certificate: Path,
) -> None:
    trusted = ssl.create_default_context(cafile=str(certificate.with_suffix(".crt")))
    resolve = names(hooks_example=["127.0.0.1"], other_example=["127.0.0.1"])
    async with open_receiver(serving(certificate)) as receiver:
        right = receiver.url(host="hooks.example")
        wrong = receiver.url(host="other.example")

        sent = await send(right, resolve, allow_private=True, trusted=trusted)
        other = await send(wrong, resolve, allow_private=True, trusted=trusted)
        unknown = await send(right, resolve, allow_private=True)

    assert sent == DeliveryOutcome(200)
    assert other.error is not None and "CERTIFICATE_VERIFY_FAILED" in other.error
    assert unknown.error is not None and "CERTIFICATE_VERIFY_FAILED" in unknown.error
    assert [request.path for request in receiver.requests] == ["/"]


# ── Looking names up ─────────────────────────────────────────────────────────────────────


async def test_addresses_are_returned_each_once() -> None:
    addresses = await Resolver()("127.0.0.1", 80)

    assert addresses == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64 + ".example", "\udcff"])
async def test_a_name_without_an_address_is_an_error(host: str) -> None:
    with pytest.raises(OSError):
        await Resolver()(host, 80)


async def test_only_so_many_names_are_looked_up_at_once() -> None:
    resolver = Resolver()
    waiting = [asyncio.create_task(resolver("127.0.0.1", 80)) for _ in range(LOOKUPS_MAX)]
    await asyncio.sleep(0)

    with pytest.raises(OSError, match="too many"):
        await resolver("127.0.0.1", 80)

    await asyncio.gather(*waiting)
    assert await resolver("127.0.0.1", 80) == ["127.0.0.1"]
